"""Every study of the paper is listed once, nothing that one exports hides another's, and every result is read."""

from __future__ import annotations

from collections import Counter
from fnmatch import fnmatch
from importlib import import_module

import pytest

from paper.figures import FIGURES
from paper.numbers import FILES, MACROS
from paper.origins import ORIGINS
from paper.results import COLLECTIONS, LEFT_OUT, command, results
from paper.studies.registry import STUDIES
from paper.studies.study import Study
from sparsync.experiments.studies.profiles import PROFILES, ProfileName
from sparsync.experiments.studies.registry import CASE_STUDIES, SINGLE_STUDIES
from tests.support.paths import ROOT

FOLDER = ROOT / "paper" / "studies"
APART = {"torchrun"}
"""Results that no study of the paper reads."""


def test_every_file_that_exports_a_study_has_a_line_of_its_name() -> None:
    """Or a folder of its name, whose `study.py` exports it; learning systems share a folder, and so do plans."""
    modules = {path.stem: path.stem for path in FOLDER.glob("*.py")}
    modules |= {path.parent.name: f"{path.parent.name}.study" for path in FOLDER.glob("*/study.py")}
    for room in ("learning", "planning"):
        modules |= {path.stem: f"{room}.{path.stem}" for path in FOLDER.glob(f"{room}/*.py")}
    found = {name: import_module(f"paper.studies.{module}") for name, module in modules.items()}
    studies = {name: module.STUDY for name, module in found.items() if hasattr(module, "STUDY")}
    assert studies == STUDIES


@pytest.mark.parametrize("part", ["macros", "figures", "tables"])
def test_no_two_studies_export_the_same_name(part: str) -> None:
    names = Counter(name for study in STUDIES.values() for name in getattr(study, part))
    assert names.most_common(1)[0][1] == 1
    assert set(names) <= {"macros": set(MACROS), "figures": set(FIGURES), "tables": set(FILES)}[part]


def test_where_numbers_come_from_is_no_study_s_to_say() -> None:
    assert not set(ORIGINS) & {name for study in STUDIES.values() for name in study.macros}
    assert "numbers.tex" not in {name for study in STUDIES.values() for name in study.tables}


def test_every_study_that_is_run_is_read() -> None:
    read = {name for study in STUDIES.values() for name in study.results}
    assert {_collected(name) for name in (*SINGLE_STUDIES, *CASE_STUDIES)} <= read
    tracked = {_collected(path.stem) for path in (ROOT / "paper" / "data").glob("*.json")}
    tracked = {name for name in tracked if not name.startswith("durations-")}
    assert tracked == read | APART
    assert set(COLLECTIONS) <= read


def _collected(name: str) -> str:
    """The collection that a file belongs to, or its own name."""
    found = [each for each, pattern in COLLECTIONS.items() if fnmatch(f"{name}.json", pattern)]
    return found[0] if found else name


@pytest.mark.parametrize("profile", PROFILES)
def test_what_a_profile_leaves_out_is_known_to_be(profile: ProfileName) -> None:
    left_out = {name for name, study in CASE_STUDIES.items() if not study.case_count(profile)}
    assert left_out == set(LEFT_OUT.get(profile, ()))


@pytest.mark.parametrize("name", STUDIES)
def test_a_study_names_results_that_there_are(name: str) -> None:
    assert STUDIES[name].results
    assert all(results(ROOT / "paper" / "data", read) for read in STUDIES[name].results)


@pytest.mark.parametrize(
    ("name", "wanted"),
    [("races", "reproduce"), ("verify", "reproduce"), ("formal", "formal"), ("kernels", "bench")],
)
def test_a_result_is_known_by_the_command_that_writes_it(name: str, wanted: str) -> None:
    assert command(name) == f"make {wanted}"


def test_a_study_may_be_empty() -> None:
    assert Study() == Study(macros={}, figures={}, tables={}, results=())
