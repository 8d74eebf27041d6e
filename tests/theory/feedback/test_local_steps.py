"""The rate of local steps: what it reduces to, and what it says of chunks and few bits."""

import pytest

from sparsync.theory.statements import STATEMENTS

NUMBERS = {"step_size": 0.01, "smoothness": 2, "second_moment": 3, "gap": 0.5, "T": 1000}
RATE = STATEMENTS["local_feedback_rate"]


@pytest.mark.parametrize("delta", [0.01, 0.5, 1])
def test_one_local_step_and_no_decay_is_the_rate_of_error_feedback(delta: float) -> None:
    bound = RATE.evaluate(**NUMBERS, delta=delta, residual_decay=1, local_count=1)
    assert bound == pytest.approx(STATEMENTS["nonconvex_rate_minkowski"].evaluate(**NUMBERS, delta=delta), rel=1e-14)
    assert bound <= STATEMENTS["nonconvex_rate"].evaluate(**NUMBERS, delta=delta)


def test_with_all_sent_the_decay_does_not_matter() -> None:
    bounds = {RATE.evaluate(**NUMBERS, delta=1, residual_decay=decay, local_count=8) for decay in (0, 0.5, 1)}
    assert len(bounds) == 1


def test_more_local_steps_and_less_memory_cost_more_at_small_steps() -> None:
    small = NUMBERS | {"step_size": 1e-5, "T": 10**9}
    bounds = [RATE.evaluate(**small, delta=0.5, residual_decay=decay, local_count=4) for decay in (1, 0.99, 0.5, 0)]
    assert bounds == sorted(bounds)
    counts = [RATE.evaluate(**NUMBERS, delta=0.5, residual_decay=1, local_count=count) for count in (1, 2, 30)]
    assert counts == sorted(counts)


def test_chunks_with_few_bits_enter_by_their_contraction() -> None:
    """k of every b entries, values with a relative squared error q: ε = 1 − (k/b)(1 − q) is one more input."""
    exact, coded = (
        RATE.evaluate(**NUMBERS, delta=64 / 4096 * (1 - error), residual_decay=0.95, local_count=30)
        for error in (0, 0.25)
    )
    assert exact < coded < 1.2 * exact


def test_the_rate_of_workers_without_a_decay_is_the_one_there_was() -> None:
    numbers = {"delta": 0.5, "step_size": 0.01, "smoothness": 1, "gap": 0.1, "T": 100, "n": 4}
    numbers |= {"variance": 4, "dissimilarity": 1}
    older = STATEMENTS["descent_of_workers"].evaluate(**numbers, residual_weight=0.5)
    newer = STATEMENTS["decayed_descent_of_workers"].evaluate(**numbers, residual_decay=1, memory_weight=0.005)
    assert newer == pytest.approx(older, rel=1e-13)


def test_with_the_best_weight_and_small_steps_the_floor_is_left() -> None:
    delta, decay, variance, spread = 0.25, 0.9, 2.0, 3.0
    kept = 1 - delta
    weight = 1 / (2 * (1 - decay**2 * kept) / (1 - decay) ** 2 - 2 * kept * decay / (1 - decay))
    bound = STATEMENTS["decayed_descent_of_workers"].evaluate(
        delta=delta, residual_decay=decay, step_size=1e-9, smoothness=1, gap=1, T=10**15, n=1, variance=variance,
        dissimilarity=spread, memory_weight=weight,
    )  # fmt: skip
    numbers = {"delta": delta, "residual_decay": decay}
    floor = STATEMENTS["decayed_floor"].evaluate(**numbers, dissimilarity=spread)
    floor += STATEMENTS["decayed_noise_floor"].evaluate(**numbers, variance=variance)
    assert bound == pytest.approx(floor, rel=1e-4)
