"""The study of leads counts them as monitors do, and finds those that are known in closed form."""

from __future__ import annotations

import math

import pytest

from sparsync.experiments.engine.clusters import Cluster, Drawn, exponential
from sparsync.experiments.engine.horizon import Horizon
from sparsync.experiments.engine.simulation import Simulation
from sparsync.experiments.policies.asp import Asp
from sparsync.experiments.policies.dssp import Dssp
from sparsync.experiments.studies.synchronisation.dssp_leads import (
    LOWER,
    PAIR,
    RULES,
    SIZES,
    UPPER,
    LeadCase,
    Sizes,
    case_count,
    cases,
    largest_leads,
    run_case,
    run_dssp_leads,
)
from sparsync.verify.monitors.judge import Violation
from sparsync.verify.monitors.trace import Departed, Event, Joined, Stepped
from sparsync.verify.tools.pool import Pool
from tests.support.policy_runs import largest_lead

TINY = Sizes((1.0, math.sqrt(2)), (20, 40), ("exponential",), (3,), 2)


def leads(rule: str, ratio: float, *horizons: int) -> list[int]:
    found = run_case(LeadCase(rule, PAIR, 2, ratio, 0, horizons))["largest_lead"]
    assert isinstance(found, list)
    return found


def test_leads_are_counted_up_to_each_horizon() -> None:
    trace: list[Event] = [
        *(Joined(0.0, worker, 0) for worker in range(2)),
        *(Stepped(float(clock), 0, clock) for clock in range(1, 6)),
        *(Stepped(6.0 + clock, 1, clock) for clock in range(1, 5)),
        Departed(11.0, 0, "left"),
        *(Stepped(12.0 + clock, 1, clock) for clock in range(5, 8)),
    ]
    assert largest_leads(trace, (1, 3, 5, 7)) == [1, 3, 5, 5]


@pytest.mark.parametrize("policy", [Asp(), Dssp(2, 5)])
def test_leads_are_those_of_the_monitors(policy: Asp) -> None:
    run = Simulation(policy, Cluster(4, Drawn(exponential())), Horizon(steps=60))
    run.run()
    assert largest_leads(run.trace, (60,)) == [run.report().largest_gap] == [largest_lead(run.trace)]


@pytest.mark.parametrize("ratio", [1.0, math.sqrt(2), math.e, 20.3])
def test_without_a_rule_the_lead_is_what_the_speeds_make_it(ratio: float) -> None:
    # The fast worker's step number h ends at h, after ⌊h/ratio⌋ of the other; at equal speeds the first of two leads.
    expected = [horizon - math.floor(horizon / ratio) for horizon in (50, 200)]
    assert leads("asynchronous", ratio, 50, 200) == [max(1, lead) for lead in expected]


def test_the_printed_algorithm_drifts_as_the_statement_computes() -> None:
    """`dssp_lead`: durations 2 and 3, s = 3, r = 12: a lead of 134 after 400 iterations, of 267 after 800."""
    assert (LOWER, UPPER - LOWER) == (3, 12)
    assert leads("printed", 1.5, 400, 800) == [134, 267]


@pytest.mark.parametrize("ratio", [1.25, math.pi, 64.0])
def test_the_capped_form_reaches_its_bound_and_the_printed_one_passes_any(ratio: float) -> None:
    assert leads("capped", ratio, 300) == [UPPER]
    first, last = leads("printed", ratio, 100, 300)
    assert last >= 2.9 * first > 2.9 * UPPER


def test_a_capped_rule_is_held_to_its_promise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(RULES, "capped", RULES["printed"])
    with pytest.raises(Violation, match="promised are 16"):
        leads("capped", 1.5, 400)


def test_the_study_runs_every_rule_on_every_pair_and_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SIZES, "smoke", TINY)
    advanced: list[None] = []
    study = run_dssp_leads("smoke", Pool(advance=lambda: advanced.append(None)), seed=4)
    assert len(advanced) == case_count("smoke") == len(study["runs"]) == 3 * (2 + 2)
    assert [(run["rule"], run["cluster"], run["seed"]) for run in study["runs"][-3:]] == [
        (rule, "exponential", 5) for rule in RULES
    ]
    assert (study["guarantee"], study["stated"], study["stated_for_grants"]) == ({"printed": 16, "capped": 15}, 16, 15)
    assert study["runs"] == run_dssp_leads("smoke", seed=4)["runs"] != run_dssp_leads("smoke", seed=6)["runs"]


def test_quick_pairs_span_the_ratios_from_one_to_sixty_four() -> None:
    ratios = SIZES["quick"].ratios
    assert (ratios[0], ratios[-1]) == (1, 64)
    assert list(ratios) == sorted(set(ratios))
    assert len({case.ratio for case in cases(SIZES["quick"], 0) if case.cluster == PAIR}) == len(ratios) >= 12
