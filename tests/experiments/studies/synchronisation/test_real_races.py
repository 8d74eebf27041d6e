"""Real races beside their simulations: what is compared, and what is said of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sparsync.experiments.racing.contest import QUADRATIC
from sparsync.experiments.racing.entries import make_policy
from sparsync.experiments.studies.synchronisation import real_races
from sparsync.experiments.studies.synchronisation.real_races import (
    KILLED,
    POLICIES,
    SIZES,
    Case,
    cases_of,
    run_case,
    simulate,
    step_errors,
    summary,
)
from sparsync.verify.monitors.trace import Departed, Stepped

RACE = replace(SIZES["smoke"].race, data=QUADRATIC, seconds=3.0)


def case(policy: str, condition: real_races.Condition = "one_slow", **options: Any) -> Case:
    return Case(replace(RACE, **options), (policy, {}), condition, 0.05)


def test_every_policy_is_there_dense_and_sparse_under_every_condition() -> None:
    sizes = SIZES["record"]
    cases = cases_of(sizes)
    assert len(cases) == len(POLICIES) * 2 * 3
    assert len({(c.contestant[0], c.race.density, c.condition) for c in cases}) == len(cases)
    assert {c.race.selector for c in cases if c.race.density == 1} == {"none"}
    assert {c.race.cluster for c in cases if c.condition == "pareto"} == {"pareto"}
    for name, parameters in {c.contestant[0]: c.contestant[1] for c in cases}.items():
        make_policy(name, parameters)


def test_a_simulation_counts_real_seconds_and_kills_half_way() -> None:
    """One of four workers is three times slower there: a barrier lasts 0.15 s."""
    outcome = simulate(case("bsp"))
    assert outcome.points[-1].seconds == 3.0
    assert outcome.worker_steps == [20] * 4
    killed = simulate(case("asp", "one_killed"))
    (gone,) = [event for event in killed.trace if isinstance(event, Departed)]
    assert (gone.worker, gone.time) == (KILLED, 1.5)
    assert not any(isinstance(e, Stepped) and e.worker == KILLED and e.time > 1.5 for e in killed.trace)


def test_a_run_that_goes_on_and_one_that_ends_stand_beside_their_simulations() -> None:
    short = {"seconds": 2.0}
    going, ended = run_case(case("asp", "one_killed", **short)), run_case(case("bsp", "one_killed", **short))
    assert going["real"]["worker_steps"][KILLED] < going["real"]["worker_steps"][0]
    assert going["real"]["points"][-1]["seconds"] == going["simulated"]["points"][-1]["seconds"] == 2.0
    assert "worker 1 was lost" in ended["real"]["reason"]
    assert ended["real"]["ended_after"] >= 1.0
    study = {"runs": [going, ended]}
    (error,) = step_errors(study)
    assert error == going["simulated"]["step_count"] / going["real"]["step_count"] - 1
    assert "1 more ended since a worker was lost" in summary(study)


def test_a_summary_of_runs_that_all_ended_has_no_median() -> None:
    assert "all of which ended" in summary({"runs": [{"real": {"reason": "lost"}, "simulated": {}}]})


def test_the_line_counts_runs_within_a_tenth() -> None:
    runs = [{"real": {"step_count": 100}, "simulated": {"step_count": count}} for count in (100, 109, 130)]
    assert summary({"runs": runs}).startswith("3 real runs: simulated steps are off by 9.0% in the median and 30.0% at")
    assert "2 of them by no more than 10 %" in summary({"runs": runs})
