import math
from fractions import Fraction
from types import ModuleType

import pytest
import sympy

from sparsync.theory.language.symbols import (
    arrival_share,
    bandwidth,
    commit_time,
    compute_time,
    eta,
    exchange_time,
    lag_weight,
    longest_duration,
    mean_duration,
    n,
    shortest_duration,
    synchronised_share,
)
from sparsync.theory.statements import STATEMENTS
from sparsync.theory.synchronisation import (
    barriers,
    elastic_barriers,
    look_ahead,
    mixing,
    perturbations,
    sampling_barriers,
)

INDEX = sympy.Symbol("j", integer=True, positive=True)


@pytest.mark.parametrize(
    ("deferred", "expected"), [(0, 14), (3, 11), (4, 10), (8, 10)], ids=["barrier", "some", "as many as pass", "more"]
)
def test_what_is_deferred_is_hidden_until_it_fills_the_link(deferred: int, expected: int) -> None:
    time = STATEMENTS["osp_time"].evaluate(compute_time=4, n=2, message_size=10, deferred_size=deferred, bandwidth=2)
    assert time == expected


@pytest.mark.parametrize(("compute", "expected"), [(5, 2), (10, Fraction(3, 2)), (1, Fraction(6, 5)), (0.5, 1.1)])
def test_two_stages_at_most_double_the_speed(compute: float, expected: float) -> None:
    bound = STATEMENTS["osp_speed_up"].evaluate(compute_time=compute, n=1, message_size=5, bandwidth=1)
    assert bound == pytest.approx(float(expected), rel=1e-15)


def test_a_factor_of_fourteen_needs_an_exchange_of_thirteen_gradients() -> None:
    share = STATEMENTS["selsync_share"]
    assert share.fraction(compute_time=1, flag_time=0, exchange_time=13, least_speed_up=14) == 0
    assert share.fraction(compute_time=1, flag_time=0, exchange_time=26, least_speed_up=14) == Fraction(1, 28)
    assert share.evaluate(compute_time=1e-12, flag_time=0, exchange_time=1, least_speed_up=14) < 1 / 14


@pytest.mark.parametrize(("share", "expected"), [(1, Fraction(10, 11)), (0, 5), (Fraction(8, 9), 1)])
def test_selected_exchanges_pay_for_agreeing(share: Fraction, expected: Fraction) -> None:
    speed_up = STATEMENTS["selsync_speed_up"].fraction(
        compute_time=1, flag_time=1, exchange_time=9, synchronised_share=share
    )
    assert speed_up == expected


@pytest.mark.parametrize(
    ("workers", "awaited", "expected"),
    [(1, 1, 1), (2, 1, Fraction(1, 2)), (2, 2, Fraction(3, 2)), (4, 3, Fraction(13, 12))],
)
def test_waits_equal_hand_computed_sums(workers: int, awaited: int, expected: Fraction) -> None:
    wait = STATEMENTS["backup_waiting"].fraction(n=workers, awaited_count=awaited, mean_duration=1)
    assert wait == expected


@pytest.mark.parametrize(
    ("workers", "lagging", "looked_at", "expected"),
    [(5, 1, 0, 1), (5, 1, 1, Fraction(3, 4)), (5, 2, 2, Fraction(1, 6)), (5, 2, 3, 0), (5, 0, 4, 1), (2, 1, 1, 0)],
)
def test_passing_equals_hand_computed_shares(workers: int, lagging: int, looked_at: int, expected: Fraction) -> None:
    numbers = {"n": workers, "laggard_count": lagging, "sample_count": looked_at}
    chance = STATEMENTS["psp_pass_probability"].fraction(**numbers)
    assert chance == expected
    assert chance <= STATEMENTS["psp_pass_bound"].fraction(**numbers)


@pytest.mark.parametrize("workers", [5_000, 10**6, 10**40])
@pytest.mark.parametrize("lagging", [0, 3, 900])
def test_passing_is_known_where_half_of_very_many_workers_are_looked_at(workers: int, lagging: int) -> None:
    """C(m − b, β)/C(m, β) is the chance that none of b laggards is among β of m, one laggard after the other."""
    others, looked_at = workers - 1, workers // 2
    numerator = math.prod(others - looked_at - rank for rank in range(lagging))
    expected = Fraction(numerator, math.prod(others - rank for rank in range(lagging)))
    numbers = {"n": workers, "laggard_count": lagging, "sample_count": looked_at}
    assert STATEMENTS["psp_pass_probability"].evaluate(**numbers) == float(expected)


def test_passing_many_laggards_unseen_is_less_likely_than_any_float() -> None:
    numbers = {"n": 10**6, "laggard_count": 400_000, "sample_count": 500_000}
    assert STATEMENTS["psp_pass_probability"].evaluate(**numbers) == 0
    assert STATEMENTS["psp_pass_probability"].evaluate(**{**numbers, "laggard_count": 600_000}) == 0
    assert STATEMENTS["psp_pass_bound"].evaluate(**numbers) == 0


def test_a_geometric_lag_has_its_known_moments() -> None:
    # r = 0 and F = 1: the lag is j with probability (1 − a)a^j.
    numbers = {"lag_threshold": 0, "lag_decay": Fraction(1, 3), "lag_weight": 1}
    assert STATEMENTS["psp_lag_mean"].fraction(**numbers) == Fraction(1, 2)
    assert STATEMENTS["psp_lag_second_moment"].fraction(**numbers) == 1


@pytest.mark.parametrize(("slow", "ahead", "expected"), [(1, 1, Fraction(1, 2)), (Fraction(3, 2), 2, Fraction(1, 2))])
def test_two_workers_wait_as_computed_by_hand(slow: Fraction, ahead: int, expected: Fraction) -> None:
    numbers = {"shortest_duration": 1, "longest_duration": slow, "look_ahead": ahead}
    assert STATEMENTS["zipline_two_workers"].fraction(**numbers) == expected


def test_the_wait_of_two_workers_falls_like_one_over_the_look_ahead() -> None:
    statement = STATEMENTS["zipline_two_workers"]
    waits = [
        statement.fraction(shortest_duration=1, longest_duration=1, look_ahead=ahead) * (ahead + 1)
        for ahead in (1, 10, 1000)
    ]
    assert waits == [1, 1, 1]


def test_more_workers_need_a_higher_power_of_the_look_ahead() -> None:
    numbers = {"n": 5, "shortest_duration": 1, "longest_duration": 1, "duration_product": 1}
    waits = [STATEMENTS["zipline_waiting"].exact(look_ahead=ahead, **numbers) for ahead in (79, 16 * 80 - 1)]
    assert waits[0] == 2 * waits[1]


def test_a_cap_bounds_the_regret_by_that_of_its_staleness() -> None:
    numbers = {"n": 3, "T": 12, "lipschitz": 1, "radius": 2}
    value = STATEMENTS["dssp_regret"].evaluate(staleness=1, extra_count=2, **numbers)
    assert value == pytest.approx(3 * 2 * math.sqrt(2 * 4 * 3 * 12))


def test_the_parts_of_a_distance_add_up() -> None:
    numbers = {"delta": Fraction(3, 4), "local_count": 3, "step_size": 2, "second_moment": 1}
    # √(1 − δ) = 1/2: the residual's root is 3 gradients, which come to 5 with two that are late.
    assert STATEMENTS["additive_perturbation"].fraction(delay=2, **numbers) == 100
    assert STATEMENTS["additive_perturbation"].fraction(delay=0, **numbers) == 36


@pytest.mark.parametrize(
    ("delta", "step_size"), [(1e-150, 1.0), (1e-200, 1e-150), (Fraction(1, 10**450), Fraction(1, 10**440))]
)
def test_what_is_kept_back_keeps_its_digits_where_nearly_nothing_is_sent(
    delta: float | Fraction, step_size: float | Fraction
) -> None:
    """√(1 − δ)/(1 − √(1 − δ)) is 2/δ there."""
    found = STATEMENTS["additive_perturbation"].evaluate(
        delay=1, local_count=1, second_moment=1, delta=delta, step_size=step_size
    )
    assert found == pytest.approx(float((2 * Fraction(step_size) / Fraction(delta)) ** 2), rel=1e-15)


def test_descent_without_delay_has_no_momentum() -> None:
    move = STATEMENTS["geometric_staleness"].exact(arrival_share=1, step_size=2, mean_move=7, gradient=3)
    assert move == -6


@pytest.mark.parametrize(
    ("label", "numbers"),
    [
        ("osp_time", {"compute_time": 1, "n": 1, "message_size": 1, "deferred_size": 2, "bandwidth": 1}),
        ("selsync_speed_up", {"compute_time": 1, "flag_time": 0, "exchange_time": 1, "synchronised_share": 1.5}),
        ("selsync_share", {"compute_time": 1, "flag_time": 0, "exchange_time": 1, "least_speed_up": 0.5}),
        ("backup_waiting", {"n": 3, "awaited_count": 4, "mean_duration": 1}),
        ("adsp_waiting_share", {"commit_time": 2, "commit_count": 3, "period": 5}),
        ("psp_pass_bound", {"n": 1, "laggard_count": 0, "sample_count": 0}),
        ("psp_pass_probability", {"n": 3, "laggard_count": 3, "sample_count": 0}),
        ("psp_lag_mean", {"lag_threshold": 1, "lag_decay": 1, "lag_weight": 1}),
        ("zipline_two_workers", {"shortest_duration": 1, "longest_duration": 3, "look_ahead": 2}),
        ("zipline_two_workers", {"shortest_duration": 2, "longest_duration": 1, "look_ahead": 2}),
        (
            "zipline_waiting",
            {"n": 3, "shortest_duration": 1, "longest_duration": 1, "look_ahead": 1, "duration_product": 2},
        ),
        (
            "zipline_waiting",
            {"n": 9, "shortest_duration": 1, "longest_duration": 1, "look_ahead": 9, "duration_product": 1},
        ),
        ("geometric_staleness", {"arrival_share": 0, "step_size": 1, "mean_move": 0, "gradient": 0}),
    ],
)
def test_numbers_outside_the_domain_are_refused(label: str, numbers: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=label):
        STATEMENTS[label].evaluate(**numbers)


@pytest.mark.parametrize(
    ("module", "label", "name", "replacement"),
    [
        (barriers, "osp_time", "_link_time", lambda size: size / bandwidth),
        (barriers, "osp_time", "_two_stage_time", lambda size, _deferred: size * n / bandwidth),
        (barriers, "osp_time", "_knee", lambda: compute_time / bandwidth),
        (barriers, "osp_speed_up", "_two_stage_time", lambda size, deferred: (size - deferred) * n / bandwidth),
        (barriers, "selsync_speed_up", "flag_time", 2 * compute_time),
        (barriers, "selsync_share", "_selective_speed_up", lambda: exchange_time / (compute_time + synchronised_share)),
        (
            barriers,
            "backup_waiting",
            "_expected_wait",
            lambda workers, awaited: sympy.Sum(INDEX, (INDEX, awaited, workers)),
        ),
        (barriers, "backup_waiting", "_survival", lambda time: 1 / (1 + time / mean_duration) ** 2),
        (barriers, "adsp_waiting_share", "commit_time", 2 * commit_time),
        (sampling_barriers, "psp_pass_probability", "_next_passes", lambda _drawn: sympy.Rational(1, 2)),
        (sampling_barriers, "psp_pass_probability", "_share_without_laggard", lambda *_size: sympy.Integer(1)),
        (sampling_barriers, "psp_pass_bound", "_next_passes", lambda drawn: (n - 1 + drawn) / (n - 1)),
        (sampling_barriers, "psp_lag_mean", "_weights", lambda: lag_weight),
        (sampling_barriers, "psp_lag_mean", "_tail_sum", lambda _power: lag_weight),
        (sampling_barriers, "psp_lag_second_moment", "_tail_sum", lambda _power: lag_weight),
        (elastic_barriers, "zipline_sweep", "_smallest", lambda times: min(map(max, times))),
        (elastic_barriers, "zipline_sweep", "_latest_up_to", lambda times, _last: [own[0] for own in times]),
        (elastic_barriers, "zipline_two_workers", "_meets", lambda _bound, ahead: ahead < 3),
        (elastic_barriers, "zipline_two_workers", "shortest_duration", 2 * shortest_duration),
        (look_ahead, "zipline_waiting", "_volume", lambda: n + 1),
        (look_ahead, "zipline_waiting", "SLOW_COUNT", sympy.Integer(7)),
        (look_ahead, "zipline_waiting", "shortest_duration", longest_duration),
        (elastic_barriers, "dssp_lead", "_may_start", lambda ahead, slack, _extra: ahead <= slack),
        (elastic_barriers, "dssp_lead", "_closest", lambda *_prediction: 0),
        (elastic_barriers, "dssp_lead", "extra_count", sympy.Integer(-1)),
        (mixing, "grid_mixing", "_in_rows", lambda *_places: sympy.Integer(1)),
        (mixing, "grid_disagreement", "_without_mean", sympy.expand),
        (mixing, "grid_disagreement", "_matrix", lambda *_grid: sympy.zeros(4)),
        (mixing, "grid_disagreement", "gradient_spread", 2 * eta),
        (mixing, "mixing_mean", "_copies_in_sum", lambda _rows, _columns: mixing._sum_of_copies()),
        (mixing, "mixing_mean", "_only", lambda _largest: lambda value: value),
        (perturbations, "geometric_staleness", "_averaged", lambda move, taken: move - eta * arrival_share * taken),
        (perturbations, "additive_perturbation", "_level", lambda: eta),
        (perturbations, "additive_perturbation", "SIGMA", sympy.Symbol("sigma", real=True)),
    ],
)
def test_a_broken_model_leaves_a_claim_unproved(
    module: ModuleType, label: str, name: str, replacement: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, name, replacement)
    assert not all(step.holds() for step in STATEMENTS[label].derivation)
