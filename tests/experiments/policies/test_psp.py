"""Probabilistic barriers: what a held sample guarantees, what a redrawn one loses, and who is sampled how often."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Iterable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparsync.experiments.engine.clusters import Change
from sparsync.experiments.engine.horizon import Horizon
from sparsync.experiments.engine.policy import Policy
from sparsync.experiments.engine.view import View
from sparsync.experiments.policies.asp import Asp
from sparsync.experiments.policies.aw_psp import SAMPLERS, AwPsp, Sampler
from sparsync.experiments.policies.bsp import Bsp
from sparsync.experiments.policies.psp import Pbsp, Pssp
from sparsync.experiments.policies.ssp import Ssp
from sparsync.verify.monitors.trace import trace_hash
from tests.support.policy_runs import largest_lead, run_of

LABELS = ((0, 1), (1, 2), (0,), (3,), (), (0, 1, 2))
ONE_SLOW = [[1.0]] * 5 + [[4.0]]
SECONDS = st.lists(st.lists(st.integers(1, 30).map(float), min_size=1, max_size=5), min_size=2, max_size=5)


def attached(policy: Policy, worker_count: int) -> View:
    """The view of a policy whose workers are all there."""
    view = View(worker_count, block_bytes=(0,), seed=0)
    view.alive.update(range(worker_count))
    tuple(policy.attach(view))
    return view


@settings(max_examples=50)
@given(SECONDS, st.sampled_from([0.0, 0.25]))
def test_no_sample_is_no_barrier(seconds: list[list[float]], latency: float) -> None:
    runs = [run_of(policy, seconds, Horizon(steps=15), latency=latency) for policy in (Pssp(sample=0), Asp())]
    assert trace_hash(runs[0].trace) == trace_hash(runs[1].trace)


@settings(max_examples=50)
@given(SECONDS, st.integers(0, 3), st.sampled_from([0.0, 0.25]))
def test_a_sample_of_all_others_is_ssp(seconds: list[list[float]], staleness: int, latency: float) -> None:
    everybody = Pssp(sample=len(seconds) - 1, staleness=staleness)
    runs = [run_of(policy, seconds, Horizon(steps=15), latency=latency) for policy in (everybody, Ssp(staleness))]
    assert trace_hash(runs[0].trace) == trace_hash(runs[1].trace)


@pytest.mark.parametrize(("laggards", "sample"), [(1, 1), (1, 3), (2, 2), (3, 4), (5, 2), (5, 3)])
def test_a_sample_misses_the_laggards_as_often_as_counting_says(laggards: int, sample: int) -> None:
    others, draw_count = 7, 4000
    policy = Pssp(sample=sample)
    attached(policy, others + 1)
    missed = sum(min(policy.draw(0)) > laggards for _ in range(draw_count)) / draw_count
    expected = math.comb(others - laggards, sample) / math.comb(others, sample)
    # Four standard deviations.
    assert abs(missed - expected) <= 4 * math.sqrt(expected * (1 - expected) / draw_count)


def test_the_ends_of_the_comparison() -> None:
    runs = [run_of(policy, ONE_SLOW, Horizon(seconds=300.0)) for policy in (Asp(), Ssp(2))]
    assert [(sum(run.view.clock), largest_lead(run.trace)) for run in runs] == [(1575, 225), (460, 3)]


@pytest.mark.parametrize("sample", [1, 2, 3, 4])
def test_a_held_sample_bounds_the_lead_in_practice_and_a_redrawn_one_is_asynchronous(sample: int) -> None:
    # Five workers and one four times slower, staleness 2: asynchronous ones make 1575 steps in 300 s, SSP 460.
    horizon = Horizon(seconds=300.0)
    held = run_of(Pssp(sample, staleness=2), ONE_SLOW, horizon)
    redrawn = run_of(Pssp(sample, staleness=2, redraw_seconds=0.01), ONE_SLOW, horizon)
    assert largest_lead(held.trace) <= 10
    assert sum(held.view.clock) < 480
    assert largest_lead(redrawn.trace) >= 215
    assert sum(redrawn.view.clock) >= 1500


def test_a_redrawn_sample_of_all_others_is_still_ssp() -> None:
    run = run_of(Pssp(5, staleness=2, redraw_seconds=0.5), ONE_SLOW, Horizon(seconds=100.0))
    assert run.view.clock == run_of(Ssp(2), ONE_SLOW, Horizon(seconds=100.0)).view.clock
    assert largest_lead(run.trace) == 3


@pytest.mark.parametrize("seconds", [50.0, 500.0])
def test_an_unlucky_draw_lets_a_lead_grow_without_end(seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = Pssp(sample=4, staleness=2)
    monkeypatch.setattr(policy, "draw", lambda worker: tuple({0, 1, 2, 3, 4} - {worker}))
    assert largest_lead(run_of(policy, ONE_SLOW, Horizon(seconds=seconds)).trace) >= 0.7 * seconds


def test_larger_samples_keep_workers_closer_together_and_slower() -> None:
    generator = itertools.count(1)
    seconds = [[-math.log((next(generator) * 0.6180339887) % 1) + 0.01 for _ in range(97)] for _ in range(24)]
    policies: list[Policy] = [Asp(), Pbsp(sample=1), Pbsp(sample=5), Bsp()]
    clocks = [run_of(policy, seconds, Horizon(seconds=60.0)).view.clock for policy in policies]
    for free, bound in itertools.pairwise(clocks):
        assert statistics.stdev(free) > statistics.stdev(bound)
        assert statistics.mean(free) > statistics.mean(bound)


@pytest.mark.parametrize("policy", [Pssp(sample=3, staleness=1), AwPsp(sample=2, staleness=1, redraw_seconds=2.5)])
def test_gates_looked_at_less_often_open_no_later(policy: Pssp, monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = [[1.0 + (7 * worker + 3 * step) % 11 / 4 for step in range(13)] for worker in range(9)]
    changes = (Change(9.1, 2, "crash"), Change(14.3, 7, "leave"), Change(20.2, 2, "join"))
    traces = []
    for opens_on in ("watched_progress", "anything"):
        monkeypatch.setattr(type(policy), "gate_opens_on", opens_on)
        run = run_of(replace(policy), seconds, Horizon(steps=30), latency=0.2, changes=changes)
        traces.append(trace_hash(run.trace))
    assert traces[0] == traces[1]


def test_nobody_waits_for_a_sampled_worker_that_is_gone() -> None:
    run = run_of(Pbsp(sample=1), [[1.0], [9.0]], Horizon(seconds=12.0), changes=(Change(5.0, 1, "crash"),))
    assert run.view.clock == [1 + 7, 0]


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_only_those_who_are_there_are_sampled(sampler: Sampler, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = AwPsp(sample=2, sampler=sampler, redraw_seconds=1.5, labels=LABELS)
    changes = (
        Change(7.0, 0, "crash"),
        Change(14.0, 3, "leave"),
        Change(21.0, 5, "crash"),
        Change(28.0, 0, "join"),
        Change(35.0, 5, "join"),
        Change(42.0, 2, "crash"),
    )
    drawn = []

    def draw(worker: int) -> tuple[int, ...]:
        sample = AwPsp.draw(policy, worker)
        drawn.append((worker, sample, frozenset(policy.view.alive)))
        return sample

    monkeypatch.setattr(policy, "draw", draw)
    run_of(policy, ONE_SLOW, Horizon(seconds=60.0), latency=0.2, changes=changes)
    assert len({alive for _, _, alive in drawn}) == 7
    for worker, sample, alive in drawn:
        assert set(sample) <= alive - {worker}
        assert len(set(sample)) == min(2, len(alive) - 1)


def test_a_uniform_sampler_is_pssp() -> None:
    runs = [run_of(policy, ONE_SLOW, Horizon(seconds=90.0)) for policy in (AwPsp(sampler="uniform"), Pssp())]
    assert trace_hash(runs[0].trace) == trace_hash(runs[1].trace)


def test_a_prediction_is_availability_and_half_of_what_it_lacks() -> None:
    policy = AwPsp(sample=1, window=5)
    view = attached(policy, 2)
    assert policy.prediction(1) == 0.5
    for is_there, is_idle in [(False, False), (True, True), (True, False), (False, True), (True, True), (True, True)]:
        (view.alive.add if is_there else view.alive.discard)(1)
        view.sent[1] = int(not is_idle)
        tuple(policy.on_membership(1))
        policy.draw(0)
    # Of the last five looks it was there at four, and nothing was under way at four: a = 0.64.
    assert policy.prediction(1) == pytest.approx(0.64 + 0.36 / 2)


def test_who_was_rarely_there_is_rarely_sampled() -> None:
    policy = AwPsp(sample=1, window=8)
    view = attached(policy, 4)
    for look in range(8):
        (view.alive.discard if look < 7 else view.alive.add)(3)
        tuple(policy.on_membership(3))
        policy.draw(0)
    assert policy.prediction(1) == 1
    assert policy.prediction(3) == pytest.approx(1 / 8 + 7 / 16)
    assert policy.inclusion(0) == pytest.approx({1: 16 / 41, 2: 16 / 41, 3: 9 / 41})


def test_freshness_samples_everybody_in_turn() -> None:
    policy = AwPsp(sample=2, sampler="freshness")
    attached(policy, 7)
    rounds = [{*policy.draw(0), *policy.draw(0), *policy.draw(0)} for _ in range(5)]
    assert rounds == [{1, 2, 3, 4, 5, 6}] * 5


def test_cover_takes_new_labels_first_then_the_freshest_then_the_first() -> None:
    policy = AwPsp(sample=3, sampler="cover", labels=LABELS)
    attached(policy, 6)
    # Three labels of worker 5, then the only other one; of those that add none, each in turn.
    assert [policy.draw(4) for _ in range(5)] == [(5, 3, 0), (5, 3, 1), (5, 3, 2), (5, 3, 0), (5, 3, 1)]
    # Without 5: two labels each of 0 and 1, of which 0 was in a sample before; then 1 and 3 add one each.
    assert policy.draw(5) == (0, 1, 3)


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("is_excluded", [False, True])
def test_who_fails_with_one_that_is_gone_may_be_left_out(sampler: Sampler, is_excluded: bool) -> None:
    policy = AwPsp(sample=5, sampler=sampler, labels=LABELS, excludes_correlated=is_excluded)
    view = attached(policy, 6)

    def change(workers: Iterable[int], *, is_there: bool) -> None:
        for worker in workers:
            (view.alive.add if is_there else view.alive.discard)(worker)
            tuple(policy.on_membership(worker))
        policy.draw(5)

    for _ in range(6):
        policy.draw(5)
    for is_there in (False, True):
        change([1, 2], is_there=is_there)
    assert set(policy.draw(5)) == {0, 1, 2, 3, 4}
    change([1], is_there=False)
    assert set(policy.draw(5)) == ({0, 3, 4} if is_excluded else {0, 2, 3, 4})
    change([1], is_there=True)
    assert set(policy.draw(5)) == {0, 1, 2, 3, 4}


def test_equal_weights_make_every_subset_equally_likely() -> None:
    policy, draw_count = AwPsp(sample=2), 6000
    attached(policy, 5)
    drawn = [frozenset(policy.draw(0)) for _ in range(draw_count)]
    assert len(set(drawn)) == 6
    # Four standard deviations of a count with probability 1/6.
    assert all(abs(drawn.count(pair) - 1000) <= 4 * math.sqrt(1000 * 5 / 6) for pair in set(drawn))


@pytest.mark.parametrize(
    ("policy", "parameters", "message"),
    [
        (Pssp, {"sample": -1}, "got -1"),
        (Pssp, {"staleness": -2}, "got -2"),
        (Pssp, {"staleness": math.nan}, "got nan"),
        (Pbsp, {"redraw_seconds": 0.0}, "got 0"),
        (AwPsp, {"sample": -1}, "got -1"),
        (AwPsp, {"sampler": "greedy"}, "'greedy'"),
        (AwPsp, {"window": 0}, "got 0"),
        (AwPsp, {"return_probability": 0.0}, "got 0"),
        (AwPsp, {"correlation": 1.5}, "correlation must lie in .*got 1.5"),
        (AwPsp, {"neighbours": -1}, "got -1"),
        (AwPsp, {"sampler": "cover"}, r"labels of each worker, got \(\)"),
        (AwPsp, {"labels": (0, 1)}, r"one for each worker, got \(0, 1\)"),
        (AwPsp, {"labels": 3}, "one for each worker, got 3"),
    ],
)
def test_parameters_out_of_range_are_refused(policy: type[Policy], parameters: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        policy(**parameters)


def test_labels_of_another_number_of_workers_are_refused() -> None:
    with pytest.raises(ValueError, match="of 4 workers, got 6"):
        attached(AwPsp(labels=LABELS), 4)
