import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsync.experiments.planners.commit_search import CommitSearch, Curve, fitted_curve

POSITIVE = st.fractions(Fraction(1, 50), 50, max_denominator=60)
TIMES = st.lists(st.fractions(0, 90, max_denominator=20), min_size=3, max_size=3, unique=True).map(sorted)


def points_of(curve: Curve[Fraction], times: list[Fraction]) -> list[tuple[Fraction, Fraction]]:
    return [(time, 1 / (curve.slope * time + curve.offset) + curve.floor) for time in times]


@given(slope=POSITIVE, offset=POSITIVE, floor=st.fractions(-5, 5, max_denominator=40), times=TIMES)
def test_the_fit_recovers_any_curve_exactly(
    slope: Fraction, offset: Fraction, floor: Fraction, times: list[Fraction]
) -> None:
    curve = Curve(slope, offset, floor)
    assert fitted_curve(points_of(curve, times)) == curve


@given(falls=st.lists(POSITIVE, min_size=2, max_size=2, unique=True).map(sorted), times=TIMES, last=st.fractions(-5, 5))
def test_whatever_falls_ever_more_slowly_lies_on_the_fitted_curve(
    falls: list[Fraction], times: list[Fraction], last: Fraction
) -> None:
    slower, faster = falls
    middle = last + slower * (times[2] - times[1])
    losses = [middle + faster * (times[1] - times[0]), middle, last]
    curve = fitted_curve(list(zip(times, losses, strict=True)))
    assert curve is not None
    assert curve.slope > 0
    assert points_of(curve, times) == list(zip(times, losses, strict=True))


@pytest.mark.parametrize(
    "losses", [(3.0, 2.0, 1.0), (3.0, 2.5, 1.0), (1.0, 2.0, 3.0), (3.0, 3.0, 1.0), (3.0, 1.0, 1.0)]
)
def test_what_does_not_fall_ever_more_slowly_lies_on_no_curve(losses: tuple[float, float, float]) -> None:
    assert fitted_curve(list(zip((0.0, 1.0, 2.0), losses, strict=True))) is None


@pytest.mark.parametrize("times", [(0.0, 1.0), (0.0, 1.0, 1.0), (2.0, 1.0, 3.0)])
def test_points_out_of_order_are_refused(times: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="three points in order"):
        fitted_curve([(time, 1.0) for time in times])


@given(slope=POSITIVE, offset=POSITIVE, floor=st.fractions(-5, 5, max_denominator=40), time=POSITIVE)
def test_the_reward_is_one_over_the_time_to_the_target(
    slope: Fraction, offset: Fraction, floor: Fraction, time: Fraction
) -> None:
    curve = Curve(slope, offset, floor)
    ((_, target),) = points_of(curve, [time])
    assert curve.reward(target) == 1 / time


def test_a_target_at_the_floor_is_worth_nothing_and_one_already_reached_everything() -> None:
    curve = Curve(Fraction(1), Fraction(1), Fraction(2))
    assert curve.reward(Fraction(2)) == 0
    assert curve.reward(Fraction(3)) == math.inf


@given(
    rising=st.lists(st.floats(0, 1e6), min_size=1, max_size=12, unique=True).map(sorted),
    falling=st.lists(st.floats(0, 1e6), max_size=5).map(lambda rewards: sorted(rewards, reverse=True)),
    first=st.integers(1, 5),
)
def test_the_search_returns_the_maximiser_of_any_unimodal_reward(
    rising: list[float], falling: list[float], first: int
) -> None:
    rewards = [*rising, *(min(reward, rising[-1]) for reward in falling), -1.0]
    search = CommitSearch(target_loss=0.0, commits=first)
    while not search.is_finished:
        search.judge(rewards[int(search.commits) - first])
    assert rewards[int(search.commits) - first] == max(rewards)
    assert search.commits == first + rewards.index(max(rewards))


def test_the_search_stops_at_the_first_of_several_maxima() -> None:
    rewards = [1.0, 2.0, 1.5, 9.0]
    search = CommitSearch(target_loss=0.0)
    while not search.is_finished:
        search.judge(rewards[int(search.commits) - 1])
    assert search.commits == 2


def test_a_finished_search_takes_no_more_rewards() -> None:
    search = CommitSearch(target_loss=0.0)
    search.judge(1.0)
    search.judge(1.0)
    with pytest.raises(ValueError, match="finished, at 1"):
        search.judge(1.0)


def test_a_trial_begins_where_the_last_one_ended_and_the_fastest_curve_wins() -> None:
    """With c commits the loss falls as 1/(slope t + 1), slope largest at c = 3."""
    slopes = {1.0: 0.125, 2.0: 0.25, 3.0: 0.5, 4.0: 0.25}
    search, time, progress, seen = CommitSearch(target_loss=0.03125), 0.0, 1.0, []
    search.observe(time, 1 / progress)
    while not search.is_finished:
        slope = slopes[search.commits]
        seen.append(search.commits)
        for _ in range(2):
            time, progress = time + 1.0, progress + slope
            search.observe(time, 1 / progress)
    assert seen == [1.0, 2.0, 3.0, 4.0]
    assert search.commits == 3


def rewards_where_commits_do_not_matter(count: int, *, restarts_clock: bool) -> list[Fraction | float]:
    curve, found = Curve(Fraction(1, 2), Fraction(1), Fraction(0)), list[Fraction | float]()
    for trial in range(count):
        points = points_of(curve, [Fraction(2 * trial + half) for half in range(3)])
        begin = points[0][0] if restarts_clock else Fraction(0)
        fit = fitted_curve([(time - begin, loss) for time, loss in points])
        assert fit is not None
        found.append(fit.reward(Fraction(1, 64)))
    return found


def test_rewards_grow_by_themselves_if_every_trial_restarts_the_clock() -> None:
    assert len(set(rewards_where_commits_do_not_matter(8, restarts_clock=False))) == 1
    restarted = rewards_where_commits_do_not_matter(8, restarts_clock=True)
    assert restarted == sorted(set(restarted))
