"""Every claim can be decided on the record, and each falls where the results say otherwise."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from paper.claims import CLAIMS
from paper.verdicts import Claim, Verdict, judged
from tests.support.paths import ROOT

RECORD = ROOT / "paper" / "data"
BY_NAME = {claim.name: claim for claim in CLAIMS}


def test_names_are_unique() -> None:
    assert len(BY_NAME) == len(CLAIMS)


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.name)
def test_every_claim_can_be_decided_on_the_record_and_none_is_refuted_there(claim: Claim) -> None:
    assert judged(claim, record_folder=RECORD, data_folder=RECORD).verdict in (Verdict.REPRODUCED, Verdict.INCONCLUSIVE)


def changed(folder: Path, pattern: str, change: Callable[[dict[str, Any]], object]) -> None:
    """Copy the record's files of a pattern, each with a change."""
    paths = sorted(RECORD.glob(pattern))
    assert paths
    for path in paths:
        content = json.loads(path.read_text(encoding="utf-8"))
        change(content)
        target = folder / path.relative_to(RECORD)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(json.dumps(content), encoding="utf-8")


def _accuracy_by_seed(base: float) -> Callable[[dict[str, Any]], object]:
    return lambda run: run.update(test_accuracy=base + 0.001 * (run["seed"] % 3))


FAULTS: dict[str, tuple[tuple[str, Callable[[dict[str, Any]], object]], ...]] = {
    "grades": (("verify.json", lambda data: data["statements"][3].update(lost_grades=["smt"])),),
    "two_kinds": (("verify.json", lambda data: data["statements"][0].update(grades=["symbolic"])),),
    "mutants": (("verify.json", lambda data: data["mutants"]["mutants"][-1].update(killed_by=[])),),
    "counterexamples": (("verify.json", lambda data: data["counterexamples"][0].update(refutes=False)),),
    "formal": (("formal.json", lambda data: data["theorems"][0].update(axioms=["classic"])),),
    "count_band": (
        ("convergence/*gaussian_k*.json", lambda run: run["largest_selected_count"].__setitem__(-1, 10**6)),
    ),
    "released_count": (("convergence/plain-fnn3_gaussian_k_released-0.001-*.json", lambda run: _in_range(run)),),
    "close_thousandth": (
        ("convergence/plain-fnn3_top_k-0.001-*.json", _accuracy_by_seed(0.8)),
        ("convergence/plain-fnn3_gaussian_k-0.001-*.json", _accuracy_by_seed(0.75)),
    ),
    "released_accuracy": (
        ("convergence/plain-fnn3_top_k-0.001-*.json", _accuracy_by_seed(0.8)),
        ("convergence/plain-fnn3_gaussian_k_released-0.001-*.json", _accuracy_by_seed(0.85)),
    ),
    "little_lost": (
        ("convergence/plain-fnn3_top_k-0.001-*.json", _accuracy_by_seed(0.7)),
        ("convergence/plain-fnn3_dense-0.001-*.json", _accuracy_by_seed(0.8)),
    ),
    "torchrun": (("torchrun.json", lambda data: data.update(simulated_parameters_sha256="0" * 64)),),
    "tight_rate": (("quadratics.json", lambda data: data["cases"][0].update(largest_factor=1.0)),),
    "late_rate": (("staleness.json", lambda data: data["rates"][0].update(left=1e9)),),
    "dssp_capped": (("dssp_leads.json", lambda data: [run.update(largest_lead=[99]) for run in data["runs"]]),),
    "dssp_printed": (("dssp_leads.json", lambda data: [run.update(largest_lead=[1]) for run in data["runs"]]),),
    "zipline": (("planned_barriers.json", lambda data: data["small"][0]["equal"].update(spread=0)),),
    "races": (("races.json", lambda data: data["races"][0].update(broken_bound="it did")),),
    "steady_drift": (
        ("steady_state.json", lambda data: [run.update(gain=[9.0] * len(run["gain"])) for run in data["runs"]]),
    ),
    "steady_noise": (
        ("steady_state.json", lambda data: [run.update(gain=[9.0] * len(run["gain"])) for run in data["runs"]]),
    ),
}
"""By claim: files of the record, and how each is changed."""


def _other_gains(study: dict[str, Any]) -> None:
    for run in study["runs"]:
        run["gain"] = [9.0] * len(run["gain"])


def _in_range(run: dict[str, Any]) -> None:
    for name in ("smallest_selected_count", "largest_selected_count"):
        run[name] = run["target_count"]


@pytest.mark.parametrize("name", FAULTS)
def test_a_claim_falls_where_the_results_say_otherwise(name: str, tmp_path: Path) -> None:
    shutil.copytree(RECORD / "convergence", tmp_path / "convergence")
    for pattern, change in FAULTS[name]:
        changed(tmp_path, pattern, change)
    judgement = judged(BY_NAME[name], record_folder=RECORD, data_folder=tmp_path)
    assert judgement.verdict is Verdict.NOT_REPRODUCED
    assert judgement.recorded != judgement.found


def test_a_run_too_small_to_settle_says_nothing(tmp_path: Path) -> None:
    changed(tmp_path, "steady_state.json", lambda data: data.update(profile="smoke"))
    judgement = judged(BY_NAME["steady_drift"], record_folder=RECORD, data_folder=tmp_path)
    assert judgement.verdict is Verdict.NOT_RUN
