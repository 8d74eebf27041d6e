"""The study trains what it says, seed by seed, and its independent samples follow the theorem."""

from __future__ import annotations

import json
from statistics import fmean, stdev

import pytest

from sparsync.experiments.learning.split import SplitSettings
from sparsync.experiments.studies.learning import split
from sparsync.experiments.studies.learning.split import (
    NONE,
    OPTIONS,
    SIZES,
    Case,
    Pairing,
    case_count,
    run_case,
    run_pairing,
    run_split,
)
from sparsync.verify.tools.pool import Pool


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[Case]:
    """The runs that are asked for; each finds a number of its own."""
    cases: list[Case] = []

    def found(case: Case) -> dict[str, float]:
        cases.append(case)
        return {"accuracy": float(len(cases)), "explained_share": 0.5}

    monkeypatch.setattr(split, "run_case", found)
    return cases


@pytest.mark.parametrize("profile", SIZES)
def test_runs_differ_in_their_protection_alone_and_are_paired_by_seed(
    profile: str, ran: list[Case], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(split, "run_pairing", lambda _pairing: {"corrected": [0.0]})
    advanced: list[None] = []
    study = run_split(profile, Pool(advance=lambda: advanced.append(None)))  # type: ignore[arg-type]  # keys are literals
    assert json.loads(json.dumps(study)) == study
    assert len(advanced) == case_count(profile) > len(ran)  # type: ignore[arg-type]
    assert study["runs"][0]["method"] == NONE
    plain = SplitSettings(**study["settings"])
    numbers = iter(range(1, len(ran) + 1))
    for run in study["runs"]:
        assert run["accuracy"] == [next(numbers) for _ in study["seeds"]]
    for case, seed in zip(ran, study["seeds"] * len(study["runs"]), strict=True):
        changed = {
            name: value
            for name, value in vars(case.settings).items()
            if value != getattr(plain, name) and name != "seed"
        }
        name, others = OPTIONS.get(case.method, ("", {}))
        wanted = {} if case.strength is None else {name: case.strength, **others}
        assert changed == {key: value for key, value in wanted.items() if value != getattr(plain, key)}
        assert case.settings.seed == seed


def test_the_record_has_enough_seeds_for_an_interval() -> None:
    assert SIZES["record"].seed_count >= 5
    assert set(SIZES["record"].strengths) == set(OPTIONS)


def test_a_run_that_diverges_has_no_numbers() -> None:
    settings = SplitSettings(step_size=1e30, steps=4, attack_steps=0)
    assert set(run_case(Case("noise", 1.0, settings)).values()) == {None}


def test_independent_samples_have_the_correlation_of_all_their_pairings() -> None:
    """Both means are over the same draws; their difference has the error of the draws' pairings."""
    facts = run_pairing(Pairing(16, (8, 4), 40))
    differences = [one - other for one, other in zip(facts["biased_square"], facts["paired_square"], strict=True)]
    # Five standard errors: independent draws, whose pairing is one of all alike.
    assert abs(fmean(differences)) < 5 * stdev(differences) / 40**0.5
    assert abs(fmean(facts["corrected"])) < 5 * (2 / (16 * 13)) ** 0.5 / 40**0.5
    assert fmean(facts["biased_square"]) > 0.3
