"""The arrows between the folders, read from the syntax trees: who may import whom."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.support.paths import ROOT

# Folder → the prefixes of ours that it may import, besides itself.
ALLOWED = {
    "theory": (),
    "kernels": (),
    "verify": ("sparsync.theory", "sparsync.kernels"),
    "experiments": (
        "sparsync.theory",
        "sparsync.kernels",
        "sparsync.verify.monitors",
        *(f"sparsync.verify.tools.{name}" for name in ("arithmetic", "interrupts", "pool", "provenance", "store")),
    ),
    "paper": ("sparsync.theory", "sparsync.verify"),
}
FILES = [path for folder in ALLOWED for path in sorted((ROOT / folder).rglob("*.py"))]
OURS = ("sparsync", *ALLOWED, "tests")


def imported(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: import through sparsync., not relatively"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name for name in names if name.split(".")[0] in OURS}


def within(name: str, prefixes: tuple[str, ...]) -> bool:
    return any(name == prefix or name.startswith(f"{prefix}.") for prefix in prefixes)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_folder_imports_only_what_lies_below_it(path: Path) -> None:
    folder = path.relative_to(ROOT).parts[0]
    own = "paper" if folder == "paper" else f"sparsync.{folder}"
    assert {name for name in imported(path) if not within(name, (own, *ALLOWED[folder]))} == set()


def test_the_rule_sees_bare_and_upward_imports(tmp_path: Path) -> None:
    bad = tmp_path / "bad.py"
    bad.write_text("import kernels.payload\nfrom sparsync.experiments.training.runs import RUNS\nimport torch\n")
    assert imported(bad) == {"kernels.payload", "sparsync.experiments.training.runs.RUNS"}
