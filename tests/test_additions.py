"""What one addition costs: those that `paper/docs/contributing.md` prints are made in a copy, counted and used."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.paths import ROOT
from tests.support.slow_cases import slow_except
from tests.support.stand_ins.forked import run_forked

PAGE = (ROOT / "paper" / "docs" / "contributing.md").read_text(encoding="utf-8")
PACKAGES = ("theory", "verify", "kernels", "experiments")
COPIED = (*PACKAGES, "paper")
LAYERS = "contraction/ties_and_layers.py"
LAYER_SYMBOLS = "from sparsync.theory.language.symbols import "


@dataclass(frozen=True)
class Edit:
    """A text that is written into a file.

    Args:
        file: from the root; made if it is not there.
        text: what is written.
        before: the text, found once in the file, that it is written before; empty: to the end.
    """

    file: str
    text: str
    before: str = ""


@dataclass(frozen=True)
class Addition:
    """What is written, and what then has to run.

    Args:
        edits: in order.
        program: Python that uses what was added, with the copy as working directory.
    """

    edits: tuple[Edit, ...]
    program: str


def block(mark: str) -> str:
    """The one Python block of the page that holds a text."""
    blocks: list[str] = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    (found,) = [text for text in blocks if mark in text]
    return found


AT_HOME = """
import sparsync.kernels, sparsync.theory
from pathlib import Path
assert all(Path(package.__file__).is_relative_to(Path.cwd()) for package in (sparsync.kernels, sparsync.theory))
"""
SELECTOR = """
import json, sys
from sparsync.experiments import simulate
from sparsync.kernels.selection import SELECTORS
assert "first_k" in SELECTORS, "no first_k"
sys.argv[1:] = "--run fnn3_top_k --selector first_k --steps 3 --workers 2 --output run.json".split()
simulate.main()
found = json.load(open("run.json"))
assert found["run"]["selector"] == "first_k", found["run"]
assert len(found["loss"]) == 3 and found["selected_count"] == found["target_count"], found
"""
FEEDBACK = """
import json, sys
from sparsync.experiments import simulate
def trained(*options):
    sys.argv[1:] = ["--run", "fnn3_top_k", *"--steps 3 --workers 2 --output run.json".split(), *options]
    simulate.main()
    return json.load(open("run.json"))
found, plain = trained("--feedback", "forgetful"), trained()
assert found["run"]["feedback"] == "forgetful" and found["loss"][0] == plain["loss"][0], found["run"]
assert found["parameters_sha256"] != plain["parameters_sha256"]
"""
STATEMENT = """
from paper.statements.proofs import checks_file, proof_file
from sparsync.theory.statements import FAMILIES, STATEMENTS
from sparsync.verify.ledger.checks import CHECKS
from sparsync.verify.ledger.evidence import collect
from sparsync.verify.ledger.hypothesis_mutants import MUTANTS as HYPOTHESES
from sparsync.verify.ledger.mutants import MUTANTS
from sparsync.verify.ledger.mutation import killing_grades
from sparsync.verify.tools.outcome import Profile
label = "sampled_layers"
assert label in STATEMENTS and label in FAMILIES["Contraction"] and set(CHECKS[label]) == {"rational"}
row = collect(label, Profile(dimensions=(2, 3), examples_count=10))
assert (row.earned, row.lost) == (("symbolic", "rational"), ()), row
assert [killing_grades(MUTANTS[f"{label}_times_{factor}"]) for factor in ("63_64", "65_64")] == [("rational",)] * 2
beyond = [killing_grades(mutant) for name, mutant in HYPOTHESES.items() if name.startswith(label)]
assert len(beyond) == 2 and all(beyond), beyond
files = "theory/contraction/ties_and_layers.py", "verify/contraction/ties_and_layers.py"
assert (proof_file(label), checks_file(label)) == files
"""
POLICY = """
import json, sys
from sparsync.experiments import race
conditions = "--data quadratic --cluster exponential --workers 8 --seconds 60 --output race.json"
sys.argv[1:] = ["--policy", "bsp", "half_synchronous", "asp", *conditions.split()]
race.main()
found = [sum(outcome["worker_steps"]) for outcome in json.load(open("race.json"))["outcomes"]]
assert found[0] < found[1] < found[2], found
"""

STUDY = """
import json
from pathlib import Path
from paper.figures import write_figure
from paper.numbers import MACROS
from sparsync.experiments.reproduce import ReproduceCommand, reproduce
data = Path("found")
assert reproduce(ReproduceCommand(data_folder=data, profile="smoke", jobs=1, only=("halves",))) == {}
shares = json.loads((data / "halves.json").read_text())["share"]
write_figure("halves", data, data)
assert (data / "halves.png").stat().st_size > 1000
assert f"{max(shares):.2f}" in MACROS["HalvesLargestShare"](data), shares
"""

ADDITIONS = {
    "selector": Addition(
        edits=(
            Edit("kernels/reference.py", "\n\n" + block("def first_k")),
            Edit("kernels/selection.py", block('"first_k": '), before="}\n\n\ndef target_count"),
        ),
        program=SELECTOR,
    ),
    "feedback": Addition(
        edits=(
            Edit("experiments/feedbacks/forgetful.py", block("class Forgetful")),
            Edit(
                "experiments/feedbacks/registry.py",
                "from sparsync.experiments.feedbacks.forgetful import Forgetful\n",
                before="\nFEEDBACKS: dict[",
            ),
            Edit("experiments/feedbacks/registry.py", block('"forgetful": '), before='}\n"""By name'),
        ),
        program=FEEDBACK,
    ),
    "statement": Addition(
        edits=(
            Edit(f"theory/{LAYERS}", block("def sampled_layers()") + "\n\n", before="STATEMENTS = by_label("),
            Edit(f"theory/{LAYERS}", ", sampled_layers", before=')\n"""The statements of this file."""'),
            Edit(f"theory/{LAYERS}", LAYER_SYMBOLS + "expected_ratio\n", before=LAYER_SYMBOLS),
            Edit(f"verify/{LAYERS}", block("def sampled_layers_mean") + "\n\n", before="CHECKS: dict["),
            Edit(
                f"verify/{LAYERS}",
                '    "sampled_layers": {"rational": sampled_layers_mean},\n',
                before='}\n"""The checks of this file',
            ),
            Edit(f"verify/{LAYERS}", block('"sampled_layers": (Edge('), before='}\n"""What is said of the conditions'),
        ),
        program=STATEMENT,
    ),
    "policy": Addition(
        edits=(
            Edit("experiments/policies/half_synchronous.py", block("class HalfSynchronous")),
            Edit(
                "experiments/policies/registry.py",
                "from sparsync.experiments.policies.half_synchronous import HalfSynchronous\n",
                before="from sparsync.experiments.policies.lb_bsp",
            ),
            Edit("experiments/policies/registry.py", block('"half_synchronous": '), before="}\n"),
        ),
        program=POLICY,
    ),
    "study with figure and macro": Addition(
        edits=(
            Edit("experiments/studies/selection/halves.py", block("def run_halves")),
            Edit(
                "experiments/studies/registry.py",
                "from sparsync.experiments.studies.selection.halves import run_halves\n",
                before="from sparsync.experiments.studies.selection.phases",
            ),
            Edit("experiments/studies/registry.py", block('"halves": run_halves'), before='    "phases": run_phases,'),
            Edit("paper/studies/halves.py", block("def halves(")),
            Edit("paper/studies/registry.py", "    halves,\n", before="    hook_cost,\n"),
            Edit("paper/studies/registry.py", block('"halves": halves.STUDY'), before='    "phases": phases.STUDY,'),
        ),
        program=STUDY,
    ),
}
"""By the first column of the page's table."""


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The sources and what is compiled of them, with links that make them importable as in the checkout."""
    skipped = shutil.ignore_patterns("data", "generated", "*.so")
    for folder in COPIED:
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=skipped)
    links = tmp_path / "build" / "typing" / "sparsync"
    links.mkdir(parents=True)
    for folder in PACKAGES:
        (links / folder).symlink_to(tmp_path / folder)
    return tmp_path


def written(folder: Path) -> dict[str, bytes]:
    """Every source by its name."""
    paths = (path for top in COPIED for path in (folder / top).rglob("*") if path.suffix in (".py", ".tex"))
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def apply(folder: Path, edit: Edit) -> None:
    path = folder / edit.file
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    assert not edit.before or text.count(edit.before) == 1, edit
    place = text.index(edit.before) if edit.before else len(text)
    path.write_text(text[:place] + edit.text + text[place:], encoding="utf-8")


def run(folder: Path, *command: str) -> None:
    """As a user of the copy, who has no compiler."""
    finished = run_forked(
        *command, environment={"SPARSYNC_BACKEND": "reference"}, folder=folder, path=[folder / "build" / "typing"]
    )
    assert finished.returncode == 0, finished.stdout + finished.stderr


def claimed_count(name: str) -> int:
    """The number of files in the second column of the page's table."""
    (row,) = re.findall(rf"^\| {name} \| (\d+): ", PAGE, flags=re.MULTILINE)
    return int(row)


@pytest.mark.parametrize("name", slow_except({"selector", "policy"}, ADDITIONS))
def test_an_addition_costs_the_files_that_the_page_says_and_runs(name: str, copy: Path) -> None:
    before, addition = written(copy), ADDITIONS[name]
    for edit in addition.edits:
        apply(copy, edit)
    after = written(copy)
    changed = sorted(file for file in before | after if before.get(file) != after.get(file))
    assert changed == sorted({edit.file for edit in addition.edits})
    assert len(changed) == claimed_count(name)
    run(copy, "-c", AT_HOME + addition.program)
    assert sorted(set(written(copy)) - set(after)) == []
    shutil.copy(ROOT / "pyproject.toml", copy)
    # The order of imports is what `ruff check --fix` mends.
    run(copy, "-m", "ruff", "check", "--quiet", "--no-cache", "--ignore", "I001", *changed)


def test_a_program_that_uses_what_was_not_added_fails(copy: Path) -> None:
    with pytest.raises(AssertionError, match="no first_k"):
        run(copy, "-c", ADDITIONS["selector"].program)


def test_an_addition_without_its_line_in_the_registry_is_noticed(copy: Path) -> None:
    apply(copy, ADDITIONS["policy"].edits[0])
    with pytest.raises(AssertionError, match="unknown policy 'half_synchronous'"):
        run(copy, "-c", ADDITIONS["policy"].program)
