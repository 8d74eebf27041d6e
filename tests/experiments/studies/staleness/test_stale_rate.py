"""The rate for stale gradients: its constants by hand, its sides on runs, and a function that nearly attains it."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from sparsync.experiments.studies.staleness import stale_rate
from sparsync.experiments.studies.staleness.smooth_problems import PROBLEMS
from sparsync.experiments.studies.staleness.stale_rate import (
    Course,
    coherent_courses,
    described_bound,
    rate_bound,
    rate_rows,
    stale_course,
)
from sparsync.theory.statements import STATEMENTS

NOISELESS: dict[str, Any] = {"coherence": 1.0, "smoothness": 2.0, "gap": 3.0, "variance": 0.0}
NOISE: dict[str, Any] = {"coherence": 1.0, "smoothness": 2.0, "gap": 0.0, "variance": 5.0}


class Huber:
    """|x| − ½ for |x| ≥ 1, else x²/2, from a start."""

    def __init__(self, start: float, *, smoothness: float = 1.0) -> None:
        self.initial = torch.tensor([start], dtype=torch.float64)
        self.smoothness, self.infimum = smoothness, 0.0
        self.read: list[float] = []

    def value(self, model: Tensor) -> float:
        return float(torch.where(model.abs() > 1, model.abs() - 0.5, model.square() / 2))

    def gradient(self, model: Tensor) -> tuple[Tensor, float]:
        return model.clamp(-1, 1), 0.0

    def noisy_gradient(self, model: Tensor, stream: torch.Generator) -> Tensor:
        del stream
        self.read.append(float(model))
        return model.clamp(-1, 1)


def test_the_least_mean_stands_against_the_largest_variance(monkeypatch: pytest.MonkeyPatch) -> None:
    """Means over two seeds of 5, 4 and 3, where single runs come down to 1."""
    courses = [Course([9.0, 1.0, 4.0], 1.0, 2.0), Course([1.0, 7.0, 2.0], 1.0, 5.0)]
    monkeypatch.setattr(stale_rate, "coherent_courses", lambda *_arguments, **_options: (1.0, courses))
    (row,) = rate_rows("quadratic", stalenesses=[1], step_count=3, seeds=[0, 1])
    assert (row["left"], row["variance"]) == (3.0, 5.0)


def test_the_bounds_are_done_by_hand() -> None:
    # T = 2: S = 1 + 1/√2, H = 3/2.
    root = 1 / math.sqrt(2)
    right = (4 * 2 * 3 / 0.25 + 5 * 1.5 / 8) / (1 + root - 0.75)
    numbers: dict[str, Any] = {
        "staleness": 4,
        "coherence": 0.5,
        "step_count": 2,
        "smoothness": 2.0,
        "gap": 3.0,
        "variance": 5.0,
    }
    assert rate_bound(**numbers) == pytest.approx(right, rel=1e-14)
    assert described_bound(**numbers) == pytest.approx((4 * 2 * 3 / 0.25 + 5 * math.log(2) / 4) * root, rel=1e-14)


@pytest.mark.parametrize("staleness", [1, 4, 16])
def test_the_bound_is_that_of_the_statement(staleness: int) -> None:
    numbers: dict[str, Any] = {"coherence": 0.5, "smoothness": 2.0, "gap": 3.0, "variance": 5.0}
    stated = STATEMENTS["coherence_rate"].evaluate(delay=staleness - 1, T=50, **numbers)
    assert rate_bound(staleness=staleness, step_count=50, **numbers) == pytest.approx(stated, rel=1e-12)


def test_the_described_bound_follows_from_seven_steps_on() -> None:
    for known in (NOISELESS, NOISE):
        assert all(
            rate_bound(staleness=4, step_count=count, **known) < described_bound(staleness=4, step_count=count, **known)
            for count in range(7, 500)
        )
    assert rate_bound(staleness=4, step_count=6, **NOISELESS) > described_bound(staleness=4, step_count=6, **NOISELESS)


def test_in_the_limit_half_of_one_part_and_a_quarter_of_the_other_suffice() -> None:
    shares = [
        rate_bound(staleness=4, step_count=count, **known) / described_bound(staleness=4, step_count=count, **known)
        for known in (NOISELESS, NOISE)
        for count in (100_000, 1_000_000)
    ]
    assert 0.5 < shares[1] < shares[0] < 0.51
    assert 0.25 < shares[3] < shares[2] < 0.27


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_inequality_holds_along_runs(name: str) -> None:
    for row in rate_rows(name, stalenesses=(1, 4), step_count=40, seeds=(0, 1)):
        assert 0 < row["guess"] <= row["coherence"] <= 1
        assert row["left"] <= row["right"] < row["described"]


@pytest.mark.parametrize("staleness", [1, 4, 16])
@pytest.mark.parametrize("name", PROBLEMS)
def test_the_inequality_holds_at_every_step_of_a_run(name: str, staleness: int) -> None:
    """The steps do not know T, so the bound holds for every T; on the quadratics a ninth of it would be broken."""
    problem = PROBLEMS[name]()
    guess, courses = coherent_courses(problem, staleness=staleness, step_count=100, seeds=(0, 1))
    known: dict[str, Any] = {
        "staleness": staleness,
        "coherence": guess,
        "smoothness": problem.smoothness,
        "gap": problem.value(problem.initial) - problem.infimum,
        "variance": max(course.variance for course in courses),
    }
    squares = [sum(pair) / 2 for pair in zip(*(course.squares for course in courses), strict=True)]
    shares = [min(squares[:count]) / rate_bound(step_count=count, **known) for count in range(1, 101)]
    assert max(shares) <= 1
    if name.startswith("quadratic"):
        assert max(shares) > 1 / 9


@pytest.mark.parametrize("staleness", [1, 4, 16])
def test_a_constant_gradient_nearly_attains_it_whatever_the_staleness(staleness: int) -> None:
    """Huber's function from where T − 1 steps lead to its kink: Δ = ½ + S_{T−1}/s, and every gradient is one."""
    step_count = 4000
    start = 1 + sum(1 / (staleness * math.sqrt(step)) for step in range(1, step_count))
    problem = Huber(start)
    guess, courses = coherent_courses(problem, staleness=staleness, step_count=step_count, seeds=(0,))
    right = rate_bound(
        staleness=staleness, coherence=guess, step_count=step_count, smoothness=1.0, gap=start - 0.5, variance=0.0
    )
    assert guess == 1
    # The last step ends at the kink up to the rounding of 4,000 additions.
    assert min(courses[0].squares) == pytest.approx(1, abs=1e-10)
    assert 0.9 * right < 1 <= right


def test_a_course_is_done_again_from_the_definition() -> None:
    """x_{k+1} = x_k − η_k ∇F(x_τ): with s = 1 plain descent on h = (0.01, …, 1) from ones."""
    curvatures = torch.logspace(-2, 0, 20, dtype=torch.float64)
    model, squares = torch.ones(20, dtype=torch.float64), []
    for step in range(1, 11):
        squares.append(float((curvatures * model).square().sum()))
        model = model * (1 - 0.5 / math.sqrt(step) * curvatures)
    course = stale_course(PROBLEMS["quadratic"](), staleness=1, guess=0.5, step_count=10, seed=0)
    assert course.squares == pytest.approx(squares, rel=1e-13)
    assert (course.coherence, course.variance) == (1.0, 0.0)


def test_gradients_are_read_at_all_ages_that_the_window_allows_and_no_others() -> None:
    """Along Huber's line x_k − x_{k+1} = η_k, so that the model that was read tells its age."""
    staleness, step_count, guess = 4, 200, 0.5
    problem = Huber(100.0)
    stale_course(problem, staleness=staleness, guess=guess, step_count=step_count, seed=0)
    path = [100.0]
    for step in range(1, step_count + 1):
        path.append(path[-1] - guess / (staleness * math.sqrt(step)))
    # Steps of 0.009 and more, and sums of 200 of them.
    ages = [
        next(age for age in range(step + 1) if abs(path[step - age] - read) < 1e-9)
        for step, read in enumerate(problem.read)
    ]
    assert all(age <= step for step, age in enumerate(ages))
    assert set(ages) == set(range(staleness))


def test_a_coherence_below_the_guess_leads_to_a_smaller_step() -> None:
    guess, courses = coherent_courses(PROBLEMS["regression, noise"](), staleness=4, step_count=60, seeds=(0,))
    assert guess < 1
    assert courses[0].coherence >= guess


def test_a_gradient_that_changes_its_sign_at_every_step_has_no_coherence() -> None:
    """x²/2 with a smoothness stated far too small: every step overshoots the minimum."""
    with pytest.raises(RuntimeError, match=r"no coherence above 0\.015625 held at s = 2"):
        coherent_courses(Huber(0.9, smoothness=1e-3), staleness=2, step_count=20, seeds=(0,))
