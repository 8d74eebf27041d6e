"""Both orders get the share of synchronous time that they are meant to have, and the study holds what it promises."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from statistics import fmean
from typing import Any

import pytest

from sparsync.experiments.engine.horizon import Horizon
from sparsync.experiments.engine.presets import CLUSTERS
from sparsync.experiments.engine.simulation import Simulation
from sparsync.experiments.policies.asp import Asp
from sparsync.experiments.policies.bsp import Bsp
from sparsync.experiments.policies.smooth_switch import SmoothSwitch
from sparsync.experiments.policies.sync_switch import SyncSwitch
from sparsync.experiments.studies.synchronisation import switching
from sparsync.experiments.studies.synchronisation.switching import (
    SIZES,
    Order,
    case_count,
    first_time,
    growth_for_share,
    round_count,
    rounds_for_share,
    run_case,
    run_switching,
)
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.monitors.trace import Applied
from sparsync.verify.tools.pool import Pool

TINY = replace(SIZES["smoke"], seconds=6.0, quadratic_steps=(0.2, 0.4), frontier_seconds=12.0)


def case(order: Order, share: float, **changes: Any) -> switching._Case:
    return replace(switching._Case("same optimum", "one_slow", order, share, TINY, 0), **changes)


def applied(policy: Asp | Bsp | SyncSwitch, seconds: float) -> list[Applied]:
    """What a policy applies on two equal workers."""
    run = Simulation(policy, CLUSTERS["equal"](2, 0), Horizon(seconds=seconds))
    run.run()
    return [event for event in run.trace if isinstance(event, Applied)]


def test_two_equal_workers_wait_from_the_middle_on() -> None:
    """Two reports a second make twenty versions in ten of twenty seconds."""
    assert growth_for_share(CLUSTERS["equal"](2, 0), 20.0, 0.5) == 20


@pytest.mark.parametrize("share", [1 / 16, 0.25, 0.5])
@pytest.mark.parametrize("cluster", ["one_slow", "pareto"])
def test_the_barrier_is_whole_by_the_share_that_remains_and_as_late_as_possible(cluster: str, share: float) -> None:
    count, seconds = 4, 60.0
    made = partial(CLUSTERS[cluster], count, 1)
    found = growth_for_share(made(), seconds, share)
    for growth, is_whole in ((found, True), (found + 1, False)):
        versions = round_count(partial(SmoothSwitch, growth), made(), seconds * (1 - share))
        assert (versions >= (count - 1) * growth) is is_whole


@pytest.mark.parametrize("share", [1 / 16, 0.25, 0.5])
@pytest.mark.parametrize("cluster", ["one_slow", "pareto"])
def test_the_first_barriers_last_the_share_and_no_round_longer(cluster: str, share: float) -> None:
    """Shares of the rounds would not do: under Pareto durations half of them may last a third of the time."""
    count, seconds = 4, 60.0
    made = CLUSTERS[cluster](count, 2)
    rounds, total = rounds_for_share(made, seconds, share), round_count(Bsp, made, seconds)
    run = Simulation(SyncSwitch(bsp_fraction=rounds / total, total_steps=total), made, Horizon(seconds=seconds))
    run.run()
    ends = [event.time for event in run.trace if isinstance(event, Applied) and len(event.messages) == count]
    assert len(ends) == rounds
    assert ends[-2] < share * seconds <= ends[-1]


def test_a_round_that_ends_with_the_share_is_the_last() -> None:
    """Rounds of three seconds: four end at 12 s, a fifth of the minute."""
    shares = {0.0: 0, 0.2: 4, 0.21: 5, 1.0: 20}
    assert {share: rounds_for_share(CLUSTERS["one_slow"](4, 0), 60.0, share) for share in shares} == shares


def test_a_barrier_throughout_makes_the_rounds_of_the_slowest() -> None:
    assert round_count(Bsp, CLUSTERS["one_slow"](4, 0), 61.0) == 20
    assert round_count(Asp, CLUSTERS["one_slow"](4, 0), 61.0) == 3 * 61 + 20


def test_the_synchronous_part_comes_first_and_takes_its_share() -> None:
    parameters = switching._parameters(case("synchronous_first", 0.5, cluster="pareto"), 0)
    made = CLUSTERS["pareto"](TINY.worker_count, 0)
    assert parameters["total_steps"] == round_count(Bsp, made, TINY.seconds)
    events = applied(SyncSwitch(bsp_fraction=0.5, total_steps=8), 8.0)
    assert [len(event.messages) for event in events] == [2] * 4 + [1] * 8


def test_what_falls_falls_by_the_number_of_workers_in_both_orders() -> None:
    """What an example adds to the model at the end, over what it adds at the beginning."""
    first = switching._parameters(case("synchronous_first_falling", 0.5), 0)
    assert first["asynchronous_step_scale"] == 1 / TINY.worker_count
    last = switching._parameters(case("asynchronous_first_falling", 0.5), 0)
    assert last["weight"] == "mean"
    assert switching._parameters(case("asynchronous_first", 0.5), 0)["weight"] == "per_worker"
    assert switching._parameters(case("synchronous_first", 0.5), 0)["asynchronous_step_scale"] == 1
    assert switching._parameters(case("bsp", 1.0), 0) == switching._parameters(case("asp", 0.0), 0) == {}


def test_all_of_the_time_synchronous_is_a_barrier_and_none_of_it_is_no_barrier() -> None:
    barrier, none = (run_case(case("synchronous_first", share))["error"] for share in (1.0, 0.0))
    assert barrier == run_case(case("bsp", 1.0))["error"]
    assert none == run_case(case("asp", 0.0))["error"]
    assert barrier != none


def test_the_step_sizes_of_a_heavy_ball_are_as_much_smaller_as_it_adds_up() -> None:
    found = run_case(case("bsp", 1.0, condition="same optimum, momentum"))
    assert found["step_size"] in [pytest.approx(size * 0.1) for size in TINY.quadratic_steps]


def test_a_best_step_at_the_end_of_the_grid_is_said_to_be_there() -> None:
    """The model hardly moves with a thousandth, and leaves the numbers' range with a hundred."""
    for steps, is_largest in (((0.001, 0.2), True), ((0.2, 100.0), False)):
        found = run_case(case("bsp", 1.0, sizes=replace(TINY, quadratic_steps=steps)))
        assert (found["step_size"], found["is_largest_step"]) == (0.2, is_largest)


def test_tuning_looks_at_other_luck_than_the_runs() -> None:
    seeds = range(TINY.seed_count)
    tuning = range(switching._TUNING_SEED, switching._TUNING_SEED + TINY.tuning_seed_count)
    assert not set(seeds) & set(tuning)
    assert all(sizes.seed_count < switching._TUNING_SEED for sizes in SIZES.values())


def test_the_target_is_reached_at_the_first_measurement_that_is_no_worse() -> None:
    assert first_time([0.0, 1.0, 2.0, 3.0], [5.0, 3.0, 4.0, 1.0], 3.0) == 1.0
    assert first_time([0.0, 1.0], [5.0, math.inf], 3.0) is None


def test_the_study_runs_every_contestant_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SIZES, "smoke", replace(TINY, seed_count=2))
    monkeypatch.setattr(switching, "LIMIT_MOMENTA", (0.0,))
    monkeypatch.setattr(switching, "CONDITIONS", {"same optimum": ("quadratic", 0.0, 0.0)})
    advanced: list[None] = []
    study = run_switching("smoke", Pool(advance=lambda: advanced.append(None)))
    assert len(advanced) == case_count("smoke") == len(study["runs"]) + len(study["frontier"])
    assert len(study["runs"]) == 2 * (2 + 4)
    for run in study["runs"]:
        assert len(run["error"]) == len(study["seconds"])
        assert run["target"] > 0
    barriers = [run for run in study["runs"] if run["order"] == "bsp"]
    assert all(run["target"] == fmean(run["end_error"]) for run in barriers)
    assert {limit["cluster"] for limit in study["frontier"]} == {"equal", "one_slow", "pareto"}
    limit = STATEMENTS["reports_in_turn_limit"]
    assert study["limits"][0]["limit"] == [limit.evaluate(n=count, momentum=0) for count in range(1, 17)]
    again = run_case(case("asynchronous_first", 0.5))
    row = next(run for run in study["runs"] if (run["order"], run["cluster"]) == ("asynchronous_first", "one_slow"))
    assert row["end_error"][:1] == again["end_error"]
