from fractions import Fraction

import pytest

from sparsync.verify.synchronisation.event_simulation import bounded_lead, bounded_staleness, run

FAST_AND_SLOW = [[Fraction(1)] * 4, [Fraction(3)] * 4]


def times(*rows: tuple[int, ...]) -> tuple[tuple[Fraction, ...], ...]:
    return tuple(tuple(map(Fraction, row)) for row in rows)


def test_a_barrier_makes_the_fast_worker_wait() -> None:
    result = run(FAST_AND_SLOW, bounded_staleness(0))
    assert result.push_times == times((1, 4, 7, 10), (3, 6, 9, 12))
    assert result.makespan == 12
    assert max(result.leads) == 1


def test_staleness_two_gives_a_head_start_of_three() -> None:
    result = run(FAST_AND_SLOW, bounded_staleness(2))
    assert result.push_times == times((1, 2, 3, 4), (3, 6, 9, 12))
    assert result.leads[:2] == (1, 2)


def test_a_worker_alone_never_waits() -> None:
    result = run([[Fraction(1, 2), Fraction(0), Fraction(2)]], bounded_staleness(0))
    assert result.push_times == ((Fraction(1, 2), Fraction(1, 2), Fraction(5, 2)),)
    assert result.leads == (0, 0, 0)


def test_a_start_tells_what_everybody_has_completed() -> None:
    result = run([[Fraction(1)] * 2, [Fraction(3)] * 2], bounded_staleness(0))
    assert result.starts == ((0, (0, 0)), (1, (0, 0)), (0, (1, 1)), (1, (1, 1)))


@pytest.mark.parametrize("holds", [[], [True], [False, True]])
def test_a_capricious_policy_keeps_its_limit(holds: list[bool]) -> None:
    result = run([[Fraction(0)] * 9, [Fraction(1)] * 9, [Fraction(2)] * 9], bounded_lead(2, holds))
    assert max(result.leads) <= 2
    assert all(len(own) == 9 for own in result.push_times)


def test_a_policy_that_stops_everyone_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="stopped all workers"):
        run(FAST_AND_SLOW, lambda worker, completed: completed[worker] < 2)
