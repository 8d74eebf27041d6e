"""Every claim can be decided on the record, and each falls where the results say otherwise."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from paper.claims import CLAIMS
from paper.results import result
from paper.studies.overview import CLUSTER, SELECTOR, WAITED
from paper.studies.races.times import waiting_shares
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


Change = Callable[[dict[str, Any]], object]


def _parted(rule: str, first: str, second: str, *, points: float) -> tuple[tuple[str, Change], ...]:
    """The first method's accuracies on FNN-3 lie so many points above the second's."""

    def part(study: dict[str, Any]) -> None:
        for found in study["contestants"]:
            if found["optimiser"] == rule and found["method"] in (first, second):
                base = 0.7 + points / 100 * (found["method"] == first)
                found["test_accuracy"] = [base + 0.001 * (seed % 3) for seed in study["seeds"]]

    return (("convergence_fnn3.json", part),)


def _change_counts(method: str, **counts: float) -> Change:
    def change(study: dict[str, Any]) -> None:
        for found in study["contestants"]:
            if found["method"] == method:
                found.update({name: [value] * len(study["seeds"]) for name, value in counts.items()})

    return change


def _one_approximate_is_far_better(study: dict[str, Any]) -> None:
    for found in study["contestants"]:
        if found["method"] == "gaussian_k":
            found["test_accuracy"] = [0.95 + 0.001 * (seed % 3) for seed in study["seeds"]]


def _other_gains(study: dict[str, Any]) -> None:
    for run in study["runs"]:
        run["gain"] = [9.0] * len(run["gain"])


def _bsp_never_waits(study: dict[str, Any]) -> None:
    for row in study["races"]:
        if row["policy"] == "bsp":
            row["waiting_share"] = 0.0


def _backup_is_bsp(study: dict[str, Any]) -> None:
    """Race by race, it has the accuracies of BSP."""
    fields = ("cluster", "selector", "seed")
    bsp = {tuple(row[field] for field in fields): row for row in study["races"] if row["policy"] == "bsp"}
    for row in study["races"]:
        if row["policy"] == "backup":
            row["accuracy"] = bsp[tuple(row[field] for field in fields)]["accuracy"]


def _foretold_badly(study: dict[str, Any]) -> None:
    for run in study["runs"]:
        if run["from_base_trace"] is not None:
            run["from_base_trace"] *= 2


def _advice_is_slow(study: dict[str, Any]) -> None:
    for setting in study["settings"].values():
        setting["candidates"][0]["real_mean_seconds"] = 2 * float(setting["fastest_seconds"])


def _two_passes(study: dict[str, Any]) -> None:
    for row in study["rows"]:
        row["streaming_passes"] = {"2": 5}


def _exact_takes_twice_as_long(study: dict[str, Any]) -> None:
    for row in study["rows"]:
        if row["contender"].startswith("top_k"):
            row["best_seconds"] *= 2


def _larger_lead(lead: int) -> Change:
    return lambda study: [run.update(largest_lead=[lead]) for run in study["runs"]]


def _all_alike(study: dict[str, Any]) -> None:
    """Every run's gradients end with one deviation, with feedback as without."""
    for run in (*study["runs"], *study["repeats"]):
        run["late_deviation"] = 1.0


def _one_is_normal(study: dict[str, Any]) -> None:
    study["repeats"][-1]["observations"][-1]["best_law"] = "norm"


def _one_has_another_shape(study: dict[str, Any]) -> None:
    study["repeats"][-1]["hypotheses"]["square_convex"]["share"] = 0.98


FAULTS: dict[str, tuple[tuple[str, Change], ...]] = {
    "grades": (("verify.json", lambda data: data["statements"][3].update(lost_grades=["smt"])),),
    "two_kinds": (("verify.json", lambda data: data["statements"][0].update(grades=["symbolic"])),),
    "mutants": (("verify.json", lambda data: data["mutants"]["mutants"][-1].update(killed_by=[])),),
    "counterexamples": (("verify.json", lambda data: data["counterexamples"][0].update(refutes=False)),),
    "formal": (("formal.json", lambda data: data["theorems"][0].update(axioms=["classic"])),),
    "count_band": (("convergence_fnn3.json", _change_counts("gaussian_k", in_range_share=0.999)),),
    "released_count": (("convergence_fnn3.json", _change_counts("gaussian_k_released", in_range_share=1.0)),),
    "close_momentum": _parted("momentum", "gaussian_k", "top_k", points=5),
    "released_accuracy": _parted("momentum", "gaussian_k_released", "top_k", points=5),
    "no_better": (("convergence_fnn3.json", _one_approximate_is_far_better),),
    "momentum": _parted("momentum", "top_k", "dense", points=5),
    "repaired": _parted("momentum", "top_k", "dgc", points=5),
    "exact_free": (("kernels-*.json", _exact_takes_twice_as_long),),
    "one_pass": (("kernels-*.json", _two_passes),),
    "torchrun": (("torchrun.json", lambda data: data.update(simulated_parameters_sha256="0" * 64)),),
    "flattened": (("gradient_laws.json", _all_alike),),
    "never_normal": (("gradient_laws.json", _one_is_normal),),
    "shape_met": (("gradient_laws.json", _one_has_another_shape),),
    "tight_rate": (("quadratics.json", lambda data: data["cases"][0].update(largest_factor=1.0)),),
    "late_rate": (("staleness.json", lambda data: data["rates"][0].update(left=1e9)),),
    "dssp_capped": (("dssp_leads.json", _larger_lead(99)),),
    "dssp_printed": (("dssp_leads.json", _larger_lead(1)),),
    "zipline": (("planned_barriers.json", lambda data: data["small"][0]["equal"].update(spread=0)),),
    "waited_less": (("races.json", _bsp_never_waits),),
    "races": (("races.json", lambda data: data["races"][0].update(broken_bound="it did")),),
    "slow_worker": (("races.json", _backup_is_bsp),),
    "passes": (("sampled_lags.json", lambda data: data["runs"][0]["passing"].update(impossible=1)),),
    "foretold": (("real_races.json", _foretold_badly),),
    "advised": (("advice.json", _advice_is_slow),),
    "steady_drift": (("steady_state.json", _other_gains),),
    "steady_noise": (("steady_state.json", _other_gains),),
}
"""By claim: files of the record, and how each is changed."""


def test_a_fault_is_planted_for_every_claim() -> None:
    assert FAULTS.keys() == BY_NAME.keys()


@pytest.mark.parametrize("name", FAULTS)
def test_a_claim_falls_where_the_results_say_otherwise(name: str, tmp_path: Path) -> None:
    for pattern, change in FAULTS[name]:
        changed(tmp_path, pattern, change)
    judgement = judged(BY_NAME[name], record_folder=RECORD, data_folder=tmp_path)
    assert judgement.verdict is Verdict.NOT_REPRODUCED
    assert judgement.recorded != judgement.found


@pytest.mark.parametrize(("name", "pattern"), [("steady_drift", "steady_state.json"), ("exact_free", "kernels-*.json")])
def test_a_run_of_profile_smoke_is_too_small_for_a_claim(name: str, pattern: str, tmp_path: Path) -> None:
    """Too few updates to settle; vectors so short that a call costs the same at any length."""
    changed(tmp_path, pattern, lambda data: data.update(profile="smoke"))
    judgement = judged(BY_NAME[name], record_folder=RECORD, data_folder=tmp_path)
    assert judgement.verdict is Verdict.NOT_RUN


def test_a_time_is_judged_on_long_vectors_though_short_ones_lie_beside_it(tmp_path: Path) -> None:
    changed(tmp_path, "kernels-nvidia-h200.json", lambda _: None)
    changed(tmp_path, "kernels-amd-*.json", _short_and_slow)
    assert judged(BY_NAME["exact_free"], record_folder=RECORD, data_folder=tmp_path).verdict is Verdict.REPRODUCED


def _short_and_slow(study: dict[str, Any]) -> None:
    study["profile"] = "smoke"
    _exact_takes_twice_as_long(study)


@pytest.mark.parametrize(
    "change",
    [
        lambda study: study.update(tuning_seeds=[]),
        lambda study: study.update(seeds=study["seeds"][:4]),
        lambda study: study.update(contestants=[]),
    ],
    ids=["untuned", "few seeds", "not run"],
)
@pytest.mark.parametrize("name", ["close_momentum", "released_count", "no_better", "repaired"])
def test_no_claim_rests_on_an_untuned_method_or_on_few_seeds(name: str, change: Change, tmp_path: Path) -> None:
    changed(tmp_path, "convergence_fnn3.json", change)
    assert judged(BY_NAME[name], record_folder=RECORD, data_folder=tmp_path).verdict is Verdict.NOT_RUN


@pytest.mark.parametrize(
    "change",
    [
        lambda study: study.update(repeats=[run for run in study["repeats"] if run["seed"] < 4]),
        lambda study: study.update(runs=[], repeats=[]),
    ],
    ids=["few seeds", "not run"],
)
@pytest.mark.parametrize("name", ["flattened", "never_normal", "shape_met"])
def test_no_claim_on_gradients_rests_on_few_seeds(name: str, change: Change, tmp_path: Path) -> None:
    changed(tmp_path, "gradient_laws.json", change)
    assert judged(BY_NAME[name], record_folder=RECORD, data_folder=tmp_path).verdict is Verdict.NOT_RUN


@pytest.mark.parametrize(("method", "verdict"), [("gaussian_k", Verdict.NOT_REPRODUCED), ("", Verdict.NOT_RUN)])
def test_a_divergence_is_infinitely_less(method: str, verdict: Verdict, tmp_path: Path) -> None:
    """Where both diverged nothing is known."""

    def lose(study: dict[str, Any]) -> None:
        for found in study["contestants"]:
            for name in ("test_accuracy", "test_loss"):
                found[name] = [0.8] * len(study["seeds"])
                if method in ("", found["method"]):
                    found[name][0] = None

    changed(tmp_path, "convergence_fnn3.json", lose)
    assert judged(BY_NAME["close_momentum"], record_folder=RECORD, data_folder=tmp_path).verdict is verdict


def test_bsp_is_compared_with_who_waits_most_of_the_others_seed_by_seed() -> None:
    study = result(RECORD, "races")
    bsp, *others = (waiting_shares(study, policy, CLUSTER, SELECTOR) for policy in WAITED)
    found = BY_NAME["waited_less"].estimate(RECORD)
    assert found.count == len(bsp)
    assert found.value == pytest.approx(fmean(bsp) - max(map(fmean, others)))
