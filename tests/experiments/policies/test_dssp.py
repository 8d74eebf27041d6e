"""DSSP keeps its bound where a grant ends at it; its server algorithm as printed does not."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparsync.experiments.engine.clusters import Change
from sparsync.experiments.engine.horizon import Horizon
from sparsync.experiments.policies.dssp import Dssp, DsspPrinted, extra_steps
from sparsync.experiments.policies.ssp import Ssp
from sparsync.verify.monitors.guarantee import Guarantee
from sparsync.verify.monitors.judge import Violation
from sparsync.verify.monitors.trace import Stepped, trace_hash
from tests.support.policy_runs import largest_lead, leads, run_of

SECONDS = st.lists(st.lists(st.integers(1, 30).map(float), min_size=1, max_size=5), min_size=2, max_size=4)
BOUNDS = st.tuples(st.integers(0, 3), st.integers(0, 6))
# Worker 0 needs 4 s for a step and worker 1 needs 1 s; bounds 0 and 1. At 5 s worker 1 is one step ahead and is granted
# one more to end near 8 s, but goes twice.
COUNTEREXAMPLE = [(1.0, 1, 1), (4.0, 0, 1), (5.0, 1, 2), (6.0, 1, 3), (7.0, 1, 4)]


@settings(max_examples=50)
@given(SECONDS, BOUNDS, st.sampled_from([0.0, 0.25, 5.0]))
def test_a_lead_never_exceeds_its_bound(seconds: list[list[float]], bounds: tuple[int, int], latency: float) -> None:
    lower, extra = bounds
    policy = Dssp(lower, lower + extra)
    run = run_of(policy, seconds, Horizon(steps=40), latency=latency)
    assert largest_lead(run.trace) <= policy.guarantee().gap == max(lower + 1, lower + extra)


@settings(max_examples=60)
@given(SECONDS, BOUNDS, st.sampled_from([0.1, 0.3, 0.7]))
def test_another_unit_of_time_changes_nothing(seconds: list[list[float]], bounds: tuple[int, int], unit: float) -> None:
    """Sums of tenths are rounded where sums of whole seconds are not: what is equally close must stay so."""
    lower, extra = bounds

    def course(unit: float) -> list[tuple[float, int, int]]:
        rows = [[unit * value for value in row] for row in seconds]
        run = run_of(Dssp(lower, lower + extra), rows, Horizon(steps=40))
        steps = [event for event in run.trace if isinstance(event, Stepped)]
        return [(round(event.time / unit, 6), event.worker, event.clock) for event in steps]

    assert course(unit) == course(1.0)


@pytest.mark.parametrize(("ratio", "printed"), [(1.5, 667), (3.3, 1394), (7.7, 1740), (20.3, 1901), (60.1, 1966)])
def test_the_printed_algorithm_lets_leads_grow_without_end(ratio: float, printed: int) -> None:
    # Bounds 3 and 15, until the fast worker has made 2000 steps; asynchronous ones would make 2000 (1 − 1/ratio).
    run = run_of(DsspPrinted(3, 15), [[1.0], [ratio]], Horizon(seconds=2000 + 2.5 * ratio), is_judged=False)
    found = max(lead for event, lead in leads(run.trace) if event.clock <= 2000)
    assert found == printed
    assert found == pytest.approx(2000 * (1 - 1 / ratio), abs=1.1)


@pytest.mark.parametrize("ratio", [1.5, 3.3, 7.7, 20.3, 60.1])
def test_with_a_grant_that_ends_at_the_bound_the_same_speeds_reach_it_and_no_more(ratio: float) -> None:
    run = run_of(Dssp(3, 15), [[1.0], [ratio]], Horizon(seconds=300 * ratio))
    assert largest_lead(run.trace) == 15


def test_five_steps_suffice_to_break_the_printed_bound() -> None:
    policy = DsspPrinted(lower=0, upper=1)
    run = run_of(policy, [[4.0], [1.0]], Horizon(seconds=7.5), is_judged=False)
    assert [(event.time, event.worker, event.clock) for event, _ in leads(run.trace)] == COUNTEREXAMPLE
    assert policy.guarantee() == Guarantee(gap=2, deferral=0)
    assert largest_lead(run.trace) == 3


def test_the_monitors_report_the_broken_bound() -> None:
    with pytest.raises(Violation) as caught:
        run_of(DsspPrinted(lower=0, upper=1), [[4.0], [1.0]], Horizon(seconds=7.5))
    assert isinstance(caught.value.trace[-1], Stepped)
    assert caught.value.trace[-1][:3] == COUNTEREXAMPLE[-1]


@given(st.integers(1, 12), st.integers(1, 12), st.integers(0, 2))
def test_no_run_of_four_steps_breaks_the_printed_bound(fast: int, slow: int, extra: int) -> None:
    run = run_of(DsspPrinted(0, extra), [[float(fast)], [float(slow)]], Horizon(seconds=60.0), is_judged=False)
    assert max(lead for _, lead in leads(run.trace)[:4]) <= extra + 1


@pytest.mark.parametrize("wanted", [1, 2, 5])
def test_a_printed_grant_is_one_release_too_long(wanted: int) -> None:
    """The slow worker reports once and is expected again `wanted` steps after the fast worker's third report.

    The step after a printed grant is so long that the next grant is none.
    """
    fast = [wanted + 1.0, *[1.0] * (wanted + 2), 1e4]
    runs = {
        kind: run_of(kind(1, wanted + 2), [fast, [wanted + 1.5, 1e6]], Horizon(seconds=5e4), is_judged=False)
        for kind in (Dssp, DsspPrinted)
    }
    assert runs[Dssp].view.clock == [3 + wanted, 1]
    assert runs[DsspPrinted].view.clock == [3 + wanted + 1, 1]


@given(*[st.integers(0, 40)] * 4, st.integers(0, 8))
def test_the_controller_finds_the_closest_pair(
    fast_at: int, fast_interval: int, slow_ago: int, slow_interval: int, largest: int
) -> None:
    slow_at = fast_at - slow_ago
    found = extra_steps((fast_at, fast_at - fast_interval), (slow_at, slow_at - slow_interval), largest)

    def distance(extra: int) -> Fraction:
        """To the nearest multiple, by rounding."""
        end = Fraction(fast_at + extra * fast_interval - slow_at)
        nearest = min(max(round(end / slow_interval), 1), largest + 1) if slow_interval else 1
        return abs(end - nearest * slow_interval)

    assert distance(found) == min(map(distance, range(largest + 1)))
    assert all(distance(extra) > distance(found) for extra in range(found))


@settings(max_examples=50)
@given(SECONDS, st.integers(0, 4), st.sampled_from([0.0, 0.25]))
def test_equal_bounds_are_ssp(seconds: list[list[float]], bound: int, latency: float) -> None:
    runs = [run_of(policy, seconds, Horizon(steps=20), latency=latency) for policy in (Dssp(bound, bound), Ssp(bound))]
    assert trace_hash(runs[0].trace) == trace_hash(runs[1].trace)


def test_a_worker_that_returns_is_predicted_from_nothing() -> None:
    """Worker 1 reports every 10 s, is gone after 30.5 s and back at 55.25 s.

    Worker 0 gets a second step at 11 s, since the report at 20 s is predicted, and is then held until 30 s; is alone
    for a while; and gets no second step beside the returned worker, of whom nothing is known.
    """
    changes = (Change(30.5, 1, "crash"), Change(55.25, 1, "join"))
    run = run_of(Dssp(1, 3), [[1.0], [10.0]], Horizon(seconds=65.0), changes=changes)
    steps = [event.time for event, _ in leads(run.trace) if event.worker == 0]
    assert steps == [1.0, 2.0, 11.0, 12.0, *map(float, range(31, 58))]


def test_a_report_of_an_earlier_life_predicts_nothing() -> None:
    """Worker 1's first report is under way from 10 to 12 s; it crashes meanwhile and is back at 10.5 s.

    Its next report is sent at 42.5 s. Were 1.5 s taken for its interval, worker 0 would be granted a step at 20.25 s.
    """
    changes = (Change(10.25, 1, "crash"), Change(10.5, 1, "join"))
    run = run_of(Dssp(1, 9), [[1.0], [10.0, 30.0]], Horizon(seconds=40.0), latency=2.0, changes=changes)
    assert [event.time for event, _ in leads(run.trace) if event.worker == 0] == [1.0, 6.0, 13.25, 18.25]


def test_nothing_is_granted_to_one_that_needs_no_grant(monkeypatch: pytest.MonkeyPatch) -> None:
    policy, asked = Dssp(2, 6), []

    def releases(extra: int, lead: int) -> int:
        asked.append(lead)
        return 0

    monkeypatch.setattr(policy, "releases", releases)
    run_of(policy, [[1.0], [3.3]], Horizon(seconds=100.0))
    assert set(asked) == {3}


def test_bounds_out_of_order_are_refused() -> None:
    with pytest.raises(ValueError, match="got 4 and 3"):
        Dssp(4, 3)
