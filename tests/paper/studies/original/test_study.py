"""Every figure and table of the original study has its row, whatever has been run, and prints no number of theirs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from paper.figures import FIGURES
from paper.numbers import FILES
from paper.studies.headlines.headline import NOT_REPRODUCED, REPRODUCED
from paper.studies.original.findings import Finding
from paper.studies.original.study import NOT_RUN, ROWS, STUDY, Row, original_markdown, original_table
from tests.support.drawing import plain

ROW = ROWS[0]


def test_the_eight_that_the_released_scripts_draw_are_there() -> None:
    assert len({row.theirs for row in ROWS}) == 8


@pytest.mark.parametrize(
    ("found", "verdict"),
    [
        (Finding(True, "all"), (REPRODUCED, "all")),
        (Finding(False, "none"), (NOT_REPRODUCED, "none")),
        (Finding(None, "some"), ("inconclusive", "some")),
        (None, (NOT_RUN, "")),
    ],
)
def test_a_verdict_follows_from_what_was_found(found: Finding | None, verdict: tuple[str, str], tmp_path: Path) -> None:
    assert replace(ROW, find=lambda _folder: found).verdict(tmp_path) == verdict


def test_without_any_results_every_row_says_so(tmp_path: Path) -> None:
    assert [row.verdict(tmp_path) for row in ROWS] == [(NOT_RUN, "")] * len(ROWS)
    assert original_table(tmp_path).count(r"\emph{not run}") == len(ROWS)
    assert original_markdown(tmp_path).count("**not run**") == len(ROWS)
    assert plain(STUDY.macros["OriginalVerdicts"](tmp_path)) == f"{len(ROWS)} not run"


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.theirs)
def test_a_row_names_figures_and_tables_that_there_are(row: Row) -> None:
    named = [part.partition("(")[2].rstrip(")") for part in row.ours.split(", ")]
    made = {*FIGURES, *(name.removesuffix(".tex") for name in FILES)}
    assert named
    assert set(named) <= made


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.theirs)
def test_a_setting_says_first_whether_it_is_the_same(row: Row) -> None:
    assert row.setting.split(":")[0] in ("yes", "partly", "no")
