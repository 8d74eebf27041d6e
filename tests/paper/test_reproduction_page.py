"""Every claim has a row, a command that finds the results that it is estimated from, and minutes if any are known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from paper.claims import CLAIMS
from paper.commands import remaking
from paper.reproduction_page import NOT_TIMED, claims_markdown, full_markdown, judged_and_read, minutes, smallest
from paper.verdicts import Claim
from sparsync.verify.tools.durations import note_duration
from tests.support.paper_data import write
from tests.support.paths import ROOT

RECORD = ROOT / "paper" / "data"


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.name)
def test_the_record_measures_every_claim_from_results_that_a_command_makes(claim: Claim) -> None:
    recorded, reads = judged_and_read(claim, RECORD)
    assert recorded is not None
    assert reads
    assert remaking(reads).startswith("make ")


def test_every_claim_has_a_row() -> None:
    page = claims_markdown(RECORD)
    for claim in CLAIMS:
        assert page.count(f"| {claim.text.replace('|', chr(92) + '|')} | {claim.said_in} |") == 1
    assert "| `make bench show` |" in page
    assert "| `make reproduce ONLY=convergence_fnn3` |" in page


def test_what_only_gpus_can_show_is_not_measured_until_some_did(tmp_path: Path) -> None:
    assert full_markdown(tmp_path).startswith("Not measured: no GPU node")
    row = {"run_name": "fnn3_top_k", "density": 0.001, "seed": 0, "test_accuracy": 0.75}
    row |= {"process_count": 8, "backend": "gloo", "hardware": "some"}
    write(tmp_path / "distributed.json", {"rows": [row]})
    assert full_markdown(tmp_path).startswith("Not measured: the runs of the record talked by gloo")
    write(tmp_path / "distributed.json", {"rows": [row | {"backend": "nccl"}]})
    assert "| fnn3_top_k | 0.001 | 0 | 8 × some | 75.0 |" in full_markdown(tmp_path)


def test_a_claim_about_all_arenas_is_reproduced_by_those_of_quick() -> None:
    assert smallest(("convergence_fnn3", "convergence_lenet5")) == ("convergence_fnn3",)
    assert smallest(("gradient_laws",)) == ("gradient_laws",)


def took(seconds: float, *beside: str) -> dict[str, Any]:
    return {"duration_seconds": seconds, "beside": list(beside)}


@pytest.mark.parametrize(
    ("durations", "words"),
    [
        ({"races": took(90.0), "phases": took(60.0)}, "2.5"),
        ({"races": took(90.0), "phases": took(60.0, "steady_state")}, "at most 2.5"),
        ({"races": took(90.0)}, NOT_TIMED),
        ({"races": took(0.5), "phases": took(0.5)}, "0.1"),
    ],
)
def test_minutes_are_those_of_all_results_together(durations: dict[str, Any], words: str) -> None:
    assert minutes(durations, ("races", "phases")) == words


def test_the_machine_of_the_minutes_is_named(tmp_path: Path) -> None:
    for path in RECORD.iterdir():
        (tmp_path / path.name).symlink_to(path)
    (tmp_path / "durations-quick.json").unlink(missing_ok=True)
    assert "Minutes of profile" not in claims_markdown(tmp_path)
    note_duration(tmp_path / "durations-quick.json", "races", 150.0, job_count=3)
    page = claims_markdown(tmp_path)
    assert "with 3 at a time." in page
    assert "`make reproduce ONLY=races` | 2.5 |" in page


@pytest.mark.parametrize(
    ("bounds", "words"),
    [
        ({"most": 0}, "at most 0"),
        ({"least": 0.5}, "at least 0.5"),
        ({"least": -1, "most": 1}, "at least −1, at most 1"),
        ({"least": 5e-324}, "above 0"),
    ],
)
def test_a_tolerance_is_the_bounds_of_the_claim(bounds: dict[str, Any], words: str) -> None:
    claim = Claim("name", "text", "README", lambda _folder: pytest.fail("not asked"), **bounds)
    assert claim.tolerance == words
