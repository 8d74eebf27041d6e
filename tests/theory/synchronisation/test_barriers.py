"""Time of an iteration, speed-ups and waits at barriers: by hand, outside their domains, and with a broken model."""

from fractions import Fraction
from types import ModuleType

import pytest
import sympy

from sparsync.theory.language.symbols import (
    bandwidth,
    commit_time,
    compute_time,
    exchange_time,
    mean_duration,
    n,
    synchronised_share,
)
from sparsync.theory.statements import STATEMENTS
from sparsync.theory.synchronisation import (
    barriers,
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
    ("label", "numbers"),
    [
        ("osp_time", {"compute_time": 1, "n": 1, "message_size": 1, "deferred_size": 2, "bandwidth": 1}),
        ("selsync_speed_up", {"compute_time": 1, "flag_time": 0, "exchange_time": 1, "synchronised_share": 1.5}),
        ("selsync_share", {"compute_time": 1, "flag_time": 0, "exchange_time": 1, "least_speed_up": 0}),
        ("backup_waiting", {"n": 3, "awaited_count": 4, "mean_duration": 1}),
        ("adsp_waiting_share", {"commit_time": 2, "commit_count": 3, "period": 0}),
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
    ],
)
def test_a_broken_model_leaves_a_claim_unproved(
    module: ModuleType, label: str, name: str, replacement: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, name, replacement)
    assert not all(step.holds() for step in STATEMENTS[label].derivation)
