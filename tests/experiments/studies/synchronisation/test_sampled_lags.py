"""The study of sampled barriers reads traces rightly, and its laws are those that it states."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from statistics import stdev

import numpy as np
import pytest

from sparsync.experiments.engine.clusters import Cluster, Drawn, exponential
from sparsync.experiments.engine.horizon import Horizon
from sparsync.experiments.engine.simulation import Simulation
from sparsync.experiments.policies.psp import Pbsp, Pssp
from sparsync.experiments.studies.synchronisation import sampled_lags
from sparsync.experiments.studies.synchronisation.lag_readings import Look, Readings, read_lags
from sparsync.experiments.studies.synchronisation.sampled_lags import (
    CLUSTERS,
    SIZES,
    LagCase,
    Sizes,
    batch_error,
    case_count,
    fitted_law,
    lag_record,
    passing_record,
    run_case,
    run_sampled_lags,
    stated_law,
)
from sparsync.verify.monitors.trace import Applied, Arrived, Event, Released, Sent, Started, Stepped
from sparsync.verify.tools.pool import Pool


def report(time: float, worker: int, message: int) -> list[Event]:
    """A step and its report, applied at once."""
    return [
        Stepped(time, worker, 0),
        Sent(time, worker, message, 0, 0),
        Arrived(time, message),
        Applied(time, (message,), (1.0,), 0),
    ]


def simulated(policy: Pssp, workers: int, horizon: Horizon, *, slow: float = 1.0) -> Simulation:
    cluster = Cluster(workers, Drawn(exponential(), (1.0,) * (workers - 1) + (slow,)))
    run = Simulation(policy, cluster, horizon, make_judge=None)
    run.run()
    return run


def test_a_hundredth_of_the_lags_lies_beyond_the_percentile() -> None:
    assert lag_record(np.array([90, 9, 1]), 0)["percentile_99"] == 1
    assert lag_record(np.array([90, 8, 2]), 0)["percentile_99"] == 2


def test_the_error_of_a_mean_is_that_of_independent_batches() -> None:
    """Eight batches of alike values: their sample deviation over √8."""
    means = [3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0, 6.0]
    assert batch_error(np.repeat(means, 10)) == pytest.approx(stdev(means) / 8**0.5)


def test_passes_and_waits_without_any_chance_are_impossible() -> None:
    """One of three others is looked at: nobody waits where none is behind, or passes where all are."""
    looks = [Look(0, True), Look(0, False), Look(3, False), Look(3, True), Look(1, True)]
    passing = passing_record(Readings(looks, [], []), LagCase(4, "exponential", 0, 1, 1.0, 0))
    assert passing["impossible"] == 2


def test_nothing_is_read_of_the_first_tenth(monkeypatch: pytest.MonkeyPatch) -> None:
    begins: list[float] = []

    def noted(trace: Sequence[Event], workers: int, staleness: int, *, begin: float) -> Readings:
        begins.append(begin)
        return read_lags(trace, workers, staleness, begin=begin)

    monkeypatch.setattr(sampled_lags, "read_lags", noted)
    run_case(LagCase(4, "exponential", 0, 1, 30.0, 0))
    assert begins == [3.0]


def test_looks_and_lags_of_a_short_trace() -> None:
    """Worker 0 passes twice, waits at its third look, and is released together with worker 1, who has caught up."""
    trace = [
        *report(1.0, 0, 0),
        Released(1.0, 0, 1),
        Started(1.0, 0),
        *report(2.0, 0, 1),
        Released(2.0, 0, 2),
        *report(3.0, 0, 2),
        *report(4.0, 1, 3),
        Released(4.0, 0, 4),
        Released(4.0, 1, 4),
        *report(5.0, 2, 4),
    ]
    found = read_lags(trace, 3, 1)
    assert found.looks == [Look(0, True), Look(2, True), Look(2, False), Look(0, True), Look(0, False)]
    assert found.slowest == [1, 2, 3, 1]
    # Behind worker 0: 1 and 1, 2 and 2, 2 and 3; behind worker 1: one ahead of it, and 1.
    assert found.another == [1, 3, 3, 1]
    assert read_lags(trace, 3, 1, begin=3.5).looks == [Look(0, True), Look(0, False)]
    assert read_lags(trace, 3, 1, begin=3.5).slowest == [3, 1]


@pytest.mark.parametrize(("sample", "slow"), [(1, 1.0), (2, 3.0), (5, 10.0)])
def test_without_staleness_the_reports_of_a_step_see_every_number_of_laggards_once(sample: int, slow: float) -> None:
    """So that 1/(β + 1) of them pass at their first look, in expectation and at whatever speeds."""
    looks = read_lags(simulated(Pbsp(sample), 6, Horizon(steps=30), slow=slow).trace, 6, 0).looks
    assert Counter(look.laggards for look in looks) == dict.fromkeys(range(6), 30)
    chances = [sampled_lags.pass_probability(6, look.laggards, sample) for look in looks]
    assert sum(chances) / len(chances) == pytest.approx(1 / (sample + 1))


def test_nobody_sampled_is_never_in_the_way_and_everybody_always() -> None:
    free, bound = (read_lags(simulated(Pssp(sample, 2), 5, Horizon(seconds=60.0)).trace, 5, 2) for sample in (0, 4))
    assert {look.passed for look in free.looks} == {True}
    assert {(look.laggards > 0, look.passed) for look in bound.looks} == {(True, False), (False, True)}
    assert max(bound.slowest) == 2 < max(free.slowest)


@pytest.mark.parametrize("staleness", [0, 3])
@pytest.mark.parametrize("cluster", CLUSTERS)
def test_passes_are_as_frequent_as_stated(cluster: str, staleness: int) -> None:
    passing = run_case(LagCase(12, cluster, staleness, 2, 120.0, 1))["passing"]
    assert abs(passing["deviation"]) < 4
    # χ² of m terms has mean m and a deviation of about √(2m).
    assert abs(passing["chi_square"] - passing["compared"]) < 4 * (2 * passing["compared"]) ** 0.5
    assert passing["impossible"] == 0
    assert passing["compared"] >= 4


def test_a_sample_that_is_smaller_than_it_should_be_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = Pssp.draw
    monkeypatch.setattr(Pssp, "draw", lambda policy, worker: draw(policy, worker)[::2])
    assert run_case(LagCase(12, "exponential", 0, 2, 120.0, 1))["passing"]["deviation"] > 4
    assert run_case(LagCase(12, "exponential", 0, 11, 40.0, 1))["passing"]["impossible"] > 0


def test_a_geometric_law_is_found_and_its_bounds_are_attained() -> None:
    """Lags of r = 2 with weight 1/2 and r + j with (1/4)^j: what `psp_lag_mean` and its square call the worst case."""
    counts = np.array([0, 0, 2**39, *(4 ** (20 - beyond) for beyond in range(1, 21))], dtype=float)
    law = fitted_law(counts, 2)
    assert law is not None
    # The law is cut after twenty terms: what is missing is of order 20²/4²⁰.
    assert law == pytest.approx(
        {"decay": 0.25, "weight": 0.5, "second_moment_ratio": 1.0, "mean": 2 + 8 / 15, "second_moment": 316 / 45},
        rel=1e-8,
    )
    record = lag_record(counts, 2)
    assert (record["mean"], record["second_moment"]) == pytest.approx((law["mean"], law["second_moment"]), rel=1e-8)
    assert record["beyond_share"] == pytest.approx(0.4)


def test_passes_are_compared_in_standard_errors() -> None:
    """Two of four others are looked at: one laggard is missed with probability 1/2, three never."""
    numbers = [(0, 10, 10), (1, 26, 40), (3, 2, 5)]
    looks = [Look(laggards, place < passed) for laggards, passed, count in numbers for place in range(count)]
    found = passing_record(Readings(looks, [], []), LagCase(5, "exponential", 0, 2, 1.0, 0))
    assert (found["laggards"], found["looks"], found["passes"]) == ([0, 1, 3], [10, 40, 5], [10, 26, 2])
    assert (found["share"], found["expected_share"]) == pytest.approx((38 / 55, 30 / 55))
    assert (found["deviation"], found["chi_square"]) == pytest.approx((8 / 10**0.5, 3.6))
    assert (found["impossible"], found["compared"]) == (2, 1)


def test_independent_looks_would_make_a_law() -> None:
    """Of four others one and three lag: F = 1/2, a = F² = 1/4, and E γ ≤ 3 + a/((1 − a)(F(1 − a) + a)) = 53/15."""
    looks = [Look(1, passed=True), Look(3, passed=False)]
    law = stated_law(Readings(looks, [], []), LagCase(5, "exponential", 3, 2, 1.0, 0))
    assert (law["weight"], law["decay"], law["mean"]) == pytest.approx((0.5, 0.25, 53 / 15))
    assert stated_law(Readings(looks, [], []), LagCase(5, "exponential", 3, 0, 1.0, 0)) == {"weight": 0.5, "decay": 1}


def test_a_law_that_no_weights_allow_has_no_bounds() -> None:
    law = fitted_law(np.array([90, 2, 1]), 0)
    assert law is not None
    assert law["weight"] == pytest.approx(90 / 3 * (4 / 3 - 1)) == pytest.approx(10)
    assert "mean" not in law
    assert fitted_law(np.array([5, 3]), 0) is None


def test_quantiles_and_moments_of_a_lag() -> None:
    record = lag_record(np.array([60, 0, 39, 0, 1, 0]), 3)
    assert (record["mean"], record["second_moment"]) == (0.82, 1.72)
    assert (record["percentile_99"], record["largest"], record["beyond_share"]) == (2, 4, 0.01)


def test_batches_find_the_error_of_dependent_values() -> None:
    numbers = np.random.default_rng(3).normal(size=400)
    # Every value a hundred times: the mean is as uncertain as that of the 400, not of 40,000.
    error = batch_error(np.repeat(numbers, 100))
    # A deviation estimated from eight means is off by a quarter.
    assert error == pytest.approx(np.std(numbers) / 20, rel=0.5)


def test_the_study_runs_every_sample_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SIZES, "smoke", Sizes({4: 20.0, 6: 10.0}))
    advanced: list[None] = []
    study, again, other = (
        run_sampled_lags("smoke", Pool(advance=lambda: advanced.append(None)), seed=seed) for seed in (1, 1, 2)
    )
    assert len(advanced) == 3 * case_count("smoke") == 3 * len(study["runs"])
    sizes = [(run["workers"], run["cluster"], run["staleness"], run["sample"]) for run in study["runs"]]
    samples = {4: (0, 1, 2, 3), 6: (0, 1, 2, 4, 5)}
    assert sizes == [
        (workers, cluster, staleness, sample)
        for workers, looked_at in samples.items()
        for cluster in CLUSTERS
        for staleness in (0, 3)
        for sample in looked_at
    ]
    assert study["runs"] == again["runs"] != other["runs"]
    assert ["mean" in run["stated"] for run in study["runs"]] == [run["sample"] > 0 for run in study["runs"]]
