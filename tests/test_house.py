"""The house is in order: who imports whom, how large a file and a folder may be, and that every room has its twins.

Each rule is a function from texts or names to what breaks it, and is tried on a fault before the repository is judged.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from importlib import import_module
from pathlib import Path, PurePosixPath

import pytest

from sparsync.theory.statements import MODULES, STATEMENTS
from sparsync.verify.ledger.checks import CHECKS, checking_module
from tests.support.paths import ROOT, tracked_files

MOST_FILES, MOST_LINES, MOST_FUNCTION_LINES = 25, 400, 50
SOURCES = (".py", ".v", ".h", ".cpp", ".cu", ".cuh", ".tex")
# Folder → the prefixes of ours that it may import, besides itself. Only tests import experiments or paper.
ALLOWED = {
    "theory": (),
    "kernels": (),
    "verify": ("sparsync.theory", "sparsync.kernels"),
    "experiments": (
        "sparsync.theory",
        "sparsync.kernels",
        "sparsync.verify.monitors",
        *(
            f"sparsync.verify.tools.{name}"
            for name in ("arithmetic", "durations", "interrupts", "intervals", "locks", "pool", "provenance", "store")
        ),
    ),
    "paper": ("sparsync.theory", "sparsync.verify"),
}
OURS = ("sparsync", *ALLOWED, "tests")

LONG_FILES = {
    "theory/language/symbols.py": "one symbol after the other, to be looked up",
    "verify/formal/theorems.py": "one theorem after the other, to be looked up",
}
"""Files that may be longer, with the reason."""
LONG_FUNCTIONS = {
    "tests/experiments/policies/test_policies.py:machine_of": "a class of one method an event, for every policy",
    "tests/support/every_case.py:all_cases": "one case after the other, from the same vectors",
    "theory/contraction/sample_moments.py:gaussian_sample_ratio": "a proof is read in one piece",
    "theory/contraction/sample_moments.py:moment_sample_ratio": "a proof is read in one piece",
    "theory/contraction/samples.py:law_distance": "a proof is read in one piece",
    "theory/delay/turn_stability.py:reports_in_turn_limit": "a proof is read in one piece",
    "theory/feedback/averaged_rates.py:ef21_momentum_rate": "a proof is read in one piece",
    "theory/selectors/released_rotation.py:released_worst_passes": "a proof is read in one piece",
    "theory/synchronisation/look_ahead.py:zipline_waiting": "a proof is read in one piece",
    "theory/synchronisation/mixing_epochs.py:epoch_disagreement": "a proof is read in one piece",
}
"""Functions that may be longer, with the reason."""
WITHOUT_SOURCE = {
    "tests/theory/test_extreme_numbers.py": "every statement at the edges of numbers; with test_statements.py too long",
    "tests/verify/ledger/test_ledger_arguments.py": "what the ledger's command refuses; with test_command.py too long",
}
"""Files of tests whose stem is no file of theory or verify, with the reason."""


FILES = tracked_files("--cached", "--others", "--exclude-standard")
"""What is tracked, or new and not ignored."""
TEXTS = {name: (ROOT / name).read_text(encoding="utf-8") for name in FILES if name.endswith(".py")}


def within(name: str, prefixes: Iterable[str]) -> bool:
    return any(name == prefix or name.startswith(f"{prefix}.") for prefix in prefixes)


def module_name(file: str) -> str:
    """The import name: `theory/laws/__init__.py` is `sparsync.theory.laws`, `paper/style.py` is `paper.style`."""
    name = file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    return name if name.split(".")[0] in ("paper", "tests") else f"sparsync.{name}"


@cache
def imported(file: str, text: str) -> frozenset[str]:
    """Ours that a file imports, at its head, in its functions or for type checkers only."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: import through sparsync., not relatively"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return frozenset(name for name in names if name.split(".")[0] in OURS)


def forbidden_imports(file: str, text: str) -> set[str]:
    folder = file.split("/")[0]
    own = "paper" if folder == "paper" else f"sparsync.{folder}"
    return {name for name in imported(file, text) if not within(name, (own, *ALLOWED[folder]))}


def circle(texts: Mapping[str, str], also: Mapping[str, Iterable[str]] | None = None) -> list[str]:
    """Some modules each of which imports the one before, the first the last; empty if there are none.

    Args:
        texts: by file.
        also: modules that a module imports by a name that it makes.
    """
    modules = {module_name(file) for file in texts}
    graph: dict[str, set[str]] = {}
    for file, text in texts.items():
        names = imported(file, text)
        found = {name if name in modules else name.rpartition(".")[0] for name in names} & modules
        graph[module_name(file)] = found.union((also or {}).get(module_name(file), ()))
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def crowded(files: Iterable[str]) -> dict[str, int]:
    counts = Counter(str(PurePosixPath(file).parent) for file in files if file.endswith(SOURCES))
    return {folder: count for folder, count in counts.items() if count > MOST_FILES}


def long_files(texts: Mapping[str, str]) -> set[str]:
    return {file for file, text in texts.items() if len(text.splitlines()) > MOST_LINES}


def long_functions(texts: Mapping[str, str]) -> set[str]:
    return {
        f"{file}:{node.name}"
        for file, text in texts.items()
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or 0) - node.lineno + 1 > MOST_FUNCTION_LINES
    }


def states(text: str) -> bool:
    """True iff a module defines `STATEMENTS`."""
    body = ast.parse(text).body
    targets = [target for node in body if isinstance(node, ast.Assign) for target in node.targets]
    targets += [node.target for node in body if isinstance(node, ast.AnnAssign)]
    return any(isinstance(target, ast.Name) and target.id == "STATEMENTS" for target in targets)


def without_twin(texts: Mapping[str, str]) -> set[str]:
    """Files in the rooms of theory that state something, and have no file of the same path in verify."""
    rooms = {file for file in texts if re.fullmatch(r"theory/\w+/\w+\.py", file)}
    return {file for file in rooms if states(texts[file]) and file.replace("theory", "verify", 1) not in texts}


def strangers(labels_by_family: Mapping[str, Iterable[str]], family_of: Mapping[str, str]) -> set[tuple[str, str]]:
    """Families with the labels that are stated elsewhere or nowhere."""
    return {
        (family, label)
        for family, labels in labels_by_family.items()
        for label in labels
        if family_of.get(label) != family
    }


def without_source(files: Iterable[str]) -> set[str]:
    """Tests of theory and verify that bear the name of no file there."""
    known = set(files)
    tests = {file for file in known if re.fullmatch(r"tests/(theory|verify)/(\w+/)?test_\w+\.py", file)}
    return {file for file in tests if file.removeprefix("tests/").replace("test_", "", 1) not in known}


def lost_references(texts: Mapping[str, str], files: Iterable[str]) -> set[tuple[str, str]]:
    """Files that are named between backticks and do not exist, beside the file that names them or in a folder above."""
    known = set(files)
    found = {
        (file, name)
        for file, text in texts.items()
        for name in re.findall(r"`((?:[a-z_]+/)*[a-z_]+\.(?:py|v|h|cpp|cu|cuh))`", text)
    }
    return {
        (file, name)
        for file, name in found
        if not {str(folder / name) for folder in PurePosixPath(file).parents} & known
    }


RUNNING = {file: text for file, text in TEXTS.items() if file.split("/")[0] in ALLOWED}


def test_a_folder_imports_only_what_lies_below_it() -> None:
    found = {file: forbidden_imports(file, text) for file, text in RUNNING.items()}
    assert {file: names for file, names in found.items() if names} == {}


def test_no_module_leads_back_to_itself() -> None:
    """The ledger asks the twin of each statement's module for its checks, by name."""
    texts = RUNNING | {file: text for file, text in TEXTS.items() if file.startswith("tests/support/")}
    twins = {checking_module(statement) for statement in STATEMENTS.values()}
    assert circle(texts, {"sparsync.verify.ledger.checks": twins}) == []


def test_no_folder_is_crowded() -> None:
    assert crowded(FILES) == {}


def test_files_and_functions_are_short_but_for_those_with_a_reason() -> None:
    assert long_files(TEXTS) == set(LONG_FILES)
    assert long_functions(TEXTS) == set(LONG_FUNCTIONS)


def test_every_file_that_states_something_is_in_the_list_of_modules() -> None:
    stating = {module_name(file) for file in TEXTS if re.match(r"theory/\w+/", file) and states(TEXTS[file])}
    assert {module.__name__ for modules in MODULES.values() for module in modules} == stating


def test_every_file_that_states_something_has_a_twin_with_checks_of_its_labels_and_no_others() -> None:
    assert without_twin(TEXTS) == set()
    for module in (module for modules in MODULES.values() for module in modules):
        twin = import_module(module.__name__.replace("theory", "verify", 1))
        assert set(twin.CHECKS) == set(module.STATEMENTS), module.__name__
    assert list(CHECKS) == list(STATEMENTS)


def test_mutants_lie_in_the_room_of_their_statement() -> None:
    family_of = {label: statement.module.split(".")[2] for label, statement in STATEMENTS.items()}
    files = [f"verify/{family}/mutants.py" for family in sorted(set(family_of.values()))]
    assert set(files) == {file for file in FILES if file.endswith("/mutants.py")} - {"verify/ledger/mutants.py"}
    mutants = {file.split("/")[1]: import_module(module_name(file)).MUTANTS.values() for file in files}
    labels = {family: {mutant.label for mutant in made} for family, made in mutants.items()}
    assert strangers(labels, family_of) == set()


def test_every_file_of_tests_bears_the_name_of_what_it_tests() -> None:
    assert without_source(FILES) == set(WITHOUT_SOURCE)


def test_every_file_that_a_docstring_names_exists() -> None:
    assert lost_references(RUNNING, FILES) == set()


def test_the_rule_for_imports_sees_bare_upward_and_hidden_ones(tmp_path: Path) -> None:
    bare = "import kernels.payload\nimport torch\n"
    assert forbidden_imports("kernels/bad.py", bare) == {"kernels.payload"}
    hidden = "def f():\n    from sparsync.experiments.training.runs import RUNS\n"
    assert forbidden_imports("verify/bad.py", hidden) == {"sparsync.experiments.training.runs.RUNS"}
    solver = "from sparsync.verify.tools import smt\nfrom sparsync.verify.tools import store\n"
    assert forbidden_imports("experiments/bad.py", solver) == {"sparsync.verify.tools.smt"}
    with pytest.raises(AssertionError, match="not relatively"):
        imported("kernels/bad.py", "from . import payload\n")


@pytest.mark.parametrize(
    "back",
    [
        "from sparsync.verify.tools import first\n",
        "def late():\n    import sparsync.verify.tools.first\n",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from sparsync.verify.tools.first import Record\n",
    ],
    ids=["at the head", "in a function", "for type checkers"],
)
def test_the_rule_for_circles_sees_one_however_it_is_closed(back: str) -> None:
    first = {"verify/tools/first.py": "from sparsync.verify.tools.second import name\n"}
    assert circle(first | {"verify/tools/second.py": ""}) == []
    names = {"sparsync.verify.tools.first", "sparsync.verify.tools.second"}
    assert set(circle(first | {"verify/tools/second.py": back})) == names
    by_name = {"sparsync.verify.tools.second": ["sparsync.verify.tools.first"]}
    assert set(circle(first | {"verify/tools/second.py": ""}, by_name)) == names


def test_the_rules_for_sizes_see_one_file_or_line_too_many() -> None:
    names = [f"theory/room/{place}.py" for place in range(MOST_FILES)]
    assert crowded([*names, "theory/room/data.json", "theory/other/one.py"]) == {}
    assert crowded([*names, "theory/room/proof.v"]) == {"theory/room": MOST_FILES + 1}
    function = "def f():\n" + "    pass\n" * (MOST_FUNCTION_LINES - 1)
    method = "class C:\n    async def g(self):\n" + "        pass\n" * MOST_FUNCTION_LINES
    assert long_functions({"a.py": function, "b.py": method}) == {"b.py:g"}
    assert long_files({"a.py": "\n" * MOST_LINES, "b.py": "\n" * (MOST_LINES + 1)}) == {"b.py"}


def test_the_rules_for_twins_see_a_file_a_label_and_a_test_that_stand_alone() -> None:
    stating = "STATEMENTS = by_label(__name__)\n"
    texts = {
        "theory/laws/one.py": stating,
        "theory/laws/two.py": "STATEMENTS: dict[str, int] = {}\n",
        "theory/laws/three.py": "x = 1\n",
    }
    assert without_twin(texts | {"verify/laws/one.py": ""}) == {"theory/laws/two.py"}
    family_of = {"top_k": "contraction", "delay": "delay"}
    assert strangers({"contraction": ["top_k"], "delay": ["delay"]}, family_of) == set()
    assert strangers({"delay": ["top_k", "none"]}, family_of) == {("delay", "top_k"), ("delay", "none")}
    files = ["verify/laws/one.py", "tests/verify/laws/test_one.py", "tests/verify/laws/test_all.py"]
    assert without_source(files) == {"tests/verify/laws/test_all.py"}
    text = "See `one.py`, `verify/laws/one.py`, `laws/one.py`, `theory/laws/one.py` and `two.py`."
    lost = lost_references({"verify/laws/three.py": text}, files)
    assert lost == {("verify/laws/three.py", "theory/laws/one.py"), ("verify/laws/three.py", "two.py")}
