"""A kept result is found under the digest of all that it depends on, and under no other."""

from __future__ import annotations

import ast
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from functools import partial
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import pytest

from sparsync.verify.contraction.margins import exact_bound
from sparsync.verify.tools import store
from sparsync.verify.tools.store import LIBRARIES, Store, described, sources_digest, sources_in_use
from tests.support.paths import ROOT
from tests.support.stand_ins.forked import run_forked


class Colour(Enum):
    RED = 1
    BLUE = 2


@dataclass(frozen=True)
class Point:
    x: float
    make: Callable[..., Any] = math.sqrt


VALUES: list[object] = [
    None,
    True,
    1,
    1.0,
    0.1,
    math.nextafter(0.1, 1),
    -0.0,
    0.0,
    "1",
    [1],
    (1,),
    frozenset([1]),
    range(1),
    Fraction(1, 3),
    Path("1/3"),
    {"a": 1, "b": 2},
    {"b": 2, "a": 1},
    Colour.RED,
    Colour.BLUE,
    Point(1.0),
    Point(2.0),
    Point(1.0, math.exp),
    partial(pow, 2),
    partial(pow, exp=2),
    math.exp,
    (1, [2.0, {"c": None}]),
]


def test_different_values_are_described_differently() -> None:
    found = [repr(described(value)) for value in VALUES]
    assert len(set(found)) == len(VALUES)


def test_a_set_is_described_alike_in_whatever_order_it_was_made() -> None:
    """Small integers whose hashes collide come out of a set in the order in which they went in."""
    assert list({8, 0}) != list({0, 8})
    assert described(frozenset([8, 0])) == described(frozenset([0, 8]))
    assert described(frozenset([8, 0])) != described((0, 8))


def test_what_has_no_fixed_description_is_refused() -> None:
    for value in (object(), lambda: 0, {1, 2}):
        with pytest.raises(TypeError, match="a case cannot be described"):
            described(value)


def test_a_result_is_found_under_its_key_alone(tmp_path: Path) -> None:
    kept = Store(tmp_path)
    first, second = kept.key(math.sqrt, 2), kept.key(math.sqrt, 3)
    kept[first] = {"root": 2**0.5}
    assert kept[first] == {"root": 2**0.5}
    assert (first in kept, second in kept) == (True, False)
    with pytest.raises(KeyError):
        kept[second]


def test_the_key_is_the_same_in_another_process(tmp_path: Path) -> None:
    program = (
        "import math; from pathlib import Path; from sparsync.verify.tools.store import Store; "
        "from sparsync.verify.contraction.margins import exact_bound; "
        "print(Store(Path('.')).key(exact_bound, ('top_k', 0.1)))"
    )
    done = run_forked("-c", program, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{Store(tmp_path).key(exact_bound, ('top_k', 0.1))}\n"


@pytest.mark.parametrize("changed", ["function", "case", "sources", "arithmetic"])
def test_the_key_changes_with(changed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = Store(tmp_path)
    function, case = math.sqrt, 2
    before = kept.key(function, case)
    if changed == "function":
        function = math.exp
    elif changed == "case":
        case = 3
    elif changed == "sources":
        monkeypatch.setattr(store, "sources_digest", lambda _module, _packages: "0" * 64)
    else:
        monkeypatch.setattr(store, "environment", dict)
    assert kept.key(function, case) != before


def test_the_sources_in_use_are_what_a_module_imports_however_far() -> None:
    used = sources_in_use("sparsync.experiments.training.worker")
    assert {"sparsync.experiments.feedbacks.ef14", "sparsync.kernels.payload", "sparsync.kernels.magnitude"} <= used
    assert not any(name.startswith(("sparsync.theory", "sparsync.experiments.engine")) for name in used)


def test_a_change_in_a_source_in_use_changes_the_digest_and_one_elsewhere_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = "sparsync.theory.feedback.residual"
    before = sources_digest(module)
    texts = {
        name: (ROOT / "theory" / f"{name}.py").read_text(encoding="utf-8") + "# changed\n"
        for name in ("language/digits", "laws/formulas")
    }
    for name, text in texts.items():
        copy = tmp_path / f"{Path(name).name}.py"
        copy.write_text(text, encoding="utf-8")
        right = store._source
        dotted = f"sparsync.theory.{name.replace('/', '.')}"
        monkeypatch.setattr(
            store,
            "_source",
            lambda asked, copy=copy, right=right, dotted=dotted: copy if asked == dotted else right(asked),
        )
        sources_digest.cache_clear()
        is_used = dotted in sources_in_use(module)
        assert (sources_digest(module) != before) == is_used
        monkeypatch.setattr(store, "_source", right)
    sources_digest.cache_clear()


DISPLAY_ONLY = {"matplotlib", "pooch", "psutil", "rich", "tyro"}
"""Libraries that fetch, show or watch, and change no result."""


def test_every_library_that_a_result_may_rest_on_is_in_the_key() -> None:
    distributions = packages_distributions()
    imported: set[str] = set()
    for folder in ("theory", "verify", "kernels", "experiments"):
        for path in (ROOT / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Import):
                    imported |= {alias.name.partition(".")[0] for alias in node.names}
                elif isinstance(node, ast.ImportFrom) and node.module:
                    imported.add(node.module.partition(".")[0])
    foreign = imported - set(sys.stdlib_module_names) - {"sparsync"} - DISPLAY_ONLY
    assert {"sympy", "torch", "z3"} <= foreign
    assert {name for name in foreign if not set(distributions.get(name, [])) & set(LIBRARIES)} == set()
