"""Real races beside their simulations: what is compared, and what is said of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sparsync.experiments.engine.clusters import Change, Cluster
from sparsync.experiments.racing.contest import QUADRATIC
from sparsync.experiments.racing.entries import make_policy
from sparsync.experiments.studies.synchronisation import real_races
from sparsync.experiments.studies.synchronisation.real_races import (
    BASE,
    KILLED,
    POLICIES,
    SIZES,
    Beside,
    Case,
    Run,
    cases_of,
    compare,
    makespan_errors,
    run_case,
    simulate,
    step_errors,
    summary,
)
from sparsync.verify.monitors.trace import Departed, Stepped

RACE = replace(SIZES["smoke"].race, data=QUADRATIC, cluster="quarter_speed", seconds=3.0)


def case(policy: str, condition: real_races.Condition = "one_slow", **options: Any) -> Case:
    return Case(replace(RACE, **options), (policy, {}), condition, 0.05)


def test_every_policy_is_there_dense_and_sparse_under_every_condition() -> None:
    sizes = SIZES["record"]
    cases = cases_of(sizes)
    assert len(cases) == len(POLICIES) * 2 * 3 * 5
    assert len({(c.contestant[0], c.race.density, c.condition, c.race.seed) for c in cases}) == len(cases)
    assert {c.race.selector for c in cases if c.race.density == 1} == {"none"}
    assert {c.race.cluster for c in cases if c.condition == "pareto"} == {"pareto"}
    assert {c.race.cluster for c in cases if c.condition != "pareto"} == {"quarter_speed"}
    for name, parameters in {c.contestant[0]: c.contestant[1] for c in cases}.items():
        make_policy(name, parameters)


def test_a_simulation_counts_real_seconds_and_kills_half_way() -> None:
    """One of four workers is four times slower there: a barrier lasts 0.2 s."""
    outcome = simulate(case("bsp"))
    assert outcome.points[-1].seconds == 3.0
    assert outcome.worker_steps == [15] * 4
    killed = simulate(case("asp", "one_killed"))
    (gone,) = [event for event in killed.trace if isinstance(event, Departed)]
    assert (gone.worker, gone.time) == (KILLED, 1.5)
    assert not any(isinstance(e, Stepped) and e.worker == KILLED and e.time > 1.5 for e in killed.trace)


def test_a_run_that_goes_on_and_one_that_ends_stand_beside_their_simulations() -> None:
    cases = [case("asp", "one_killed", seconds=2.0), case("bsp", "one_killed", seconds=2.0)]
    runs = [run_case(one) for one in cases]
    going, ended = (compare(Beside(one, run, runs[0].cluster)) for one, run in zip(cases, runs, strict=True))
    assert runs[0].cluster is not None
    assert [(change.worker, change.kind) for change in runs[0].cluster.changes] == [(KILLED, "crash")]
    assert going["real"]["curve_seconds"][-1] == 2.0
    assert going["real"]["curve_bytes"][-1] == going["real"]["sent_bytes"] + going["real"]["pulled_bytes"]
    assert going["from_own_trace"] == going["from_base_trace"] > 0
    assert "worker 1 was lost" in ended["real"]["reason"]
    assert ended["real"]["ended_after"] >= 1.0
    assert ended["makespan_seconds"] is ended["from_own_trace"] is ended["from_base_trace"] is None
    study = {"runs": [going, ended], "base": BASE}
    (error,) = step_errors(study)
    assert error == going["simulated"]["step_count"] / going["real"]["step_count"] - 1
    assert makespan_errors(study, "from_own_trace") == [going["from_own_trace"] / going["makespan_seconds"] - 1]
    assert "1 real runs went to their end, 1 ended since a worker was lost" in summary(study)[0]


def whole_run(step_count: int) -> Run:
    """One that has ended, on four workers of a second a step."""
    return Run(real={}, cluster=Cluster(4), step_count=step_count, seconds=step_count / 4)


def test_a_makespan_is_predicted_on_the_cluster_that_it_is_asked_for() -> None:
    """Four workers of a second a step do n steps in ⌈n/4⌉ seconds."""
    row = compare(Beside(case("asp", seconds=2.0), whole_run(42), Cluster(4)))
    assert row["from_base_trace"] == 11.0
    assert makespan_errors({"runs": [row]}, "from_base_trace") == [11.0 / row["makespan_seconds"] - 1]


def test_where_the_steps_would_never_be_done_it_is_said_why() -> None:
    run = whole_run(42)
    all_gone = Cluster(4, changes=tuple(Change(0.5, worker, "crash") for worker in range(4)))
    row = compare(Beside(case("asp", seconds=2.0), run, all_gone))
    assert f" of {run.step_count} steps " in row["from_base_trace"]
    assert makespan_errors({"runs": [row]}, "from_base_trace") == []


def test_a_summary_of_runs_that_all_ended_has_no_errors() -> None:
    run = {"real": {"reason": "lost"}, "simulated": {}, "from_own_trace": None, "from_base_trace": None}
    assert summary({"runs": [run], "base": BASE}) == ["0 real runs went to their end, 1 ended since a worker was lost"]


def test_the_lines_count_runs_within_a_tenth() -> None:
    runs = [
        {
            "real": {"step_count": 100},
            "simulated": {"step_count": count},
            "makespan_seconds": 100.0,
            "from_own_trace": 98.0,
            "from_base_trace": "it waits",
        }
        for count in (100, 109, 130)
    ]
    lines = summary({"runs": runs, "base": BASE})
    assert len(lines) == 3
    assert lines[1].endswith("off by 9.0% in the median and 30.0% at most, no more than 10% in 2 of 3")
    assert lines[2].endswith("off by 2.0% in the median and 2.0% at most, no more than 10% in 3 of 3")
