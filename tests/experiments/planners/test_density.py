"""Density by link: every count is considered, steps are those of the theory, and dense is best where it must be."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparsync.experiments.planners.density import DENSE, SPARSE, Question, plan, step_seconds, steps_needed
from sparsync.experiments.planners.parts.captured import CAPTURES
from sparsync.experiments.planners.plan import InfeasibleError, Plan
from sparsync.theory.calculator import exchanges
from sparsync.theory.statements import STATEMENTS

PUBLISHED = Question(
    dimension=25_600_000,
    workers=4,
    bandwidth=1e9,
    compute_seconds=0.1,
    latency_seconds=1e-5,
    ratio="laplace_law",
    condition_number=100.0,
    collectives=(SPARSE,),
)


def choice_of(found: Plan) -> dict[str, Any]:
    return dict(found.choice)


@pytest.mark.parametrize(
    ("ratio", "count", "condition"),
    [("steady_drift", 300, 10.0), ("laplace_law", 7, 1000.0), ("bell_shaped", 9000, 1.5)],
)
def test_steps_are_those_of_the_tight_rate(ratio: str, count: int, condition: float) -> None:
    question = replace(PUBLISHED, dimension=10_000, ratio=ratio, condition_number=condition)
    numbers = {"k": count, "d": 10_000} if ratio == "bell_shaped" else {"kappa": count / 10_000}
    rate = STATEMENTS["ef_tight_rate"].evaluate(
        mu=1, smoothness=condition, epsilon=STATEMENTS[ratio].evaluate(**numbers)
    )
    expected = math.ceil(math.log(question.tolerance) / math.log(rate))
    assert steps_needed(question, numpy.array([count])).tolist() == [expected]


@pytest.mark.parametrize("collective", [DENSE, SPARSE])
def test_seconds_of_a_step_are_those_of_the_calculator(collective: str) -> None:
    question = replace(PUBLISHED, dimension=1000, hidden_seconds=1e-5)
    counts = numpy.array([1, 2, 17, 999, 1000])
    expected = [
        0.1 + max(0.0, exchange.seconds - 1e-5)
        for count in counts.tolist()
        for exchange in exchanges(question.at(count))
        if exchange.name == collective
    ]
    assert step_seconds(question, collective, counts) == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("ratio", CAPTURES)
@pytest.mark.parametrize("bandwidth", [1e5, 1e7])
@pytest.mark.parametrize("hidden", [0.0, 0.05])
def test_no_count_of_many_thousands_is_better(ratio: str, bandwidth: float, hidden: float) -> None:
    question = replace(PUBLISHED, dimension=30_000, ratio=ratio, bandwidth=bandwidth, hidden_seconds=hidden)
    counts = numpy.arange(1, 30_001)
    totals = steps_needed(question, counts) * step_seconds(question, SPARSE, counts)
    assert plan(question).objective == totals.min()


def test_a_slower_link_asks_for_a_lower_density_of_published_sizes() -> None:
    slow, fast = (plan(replace(PUBLISHED, bandwidth=bandwidth)) for bandwidth in (1e8, 1e10))
    assert choice_of(slow)["density"] < 0.01 < 0.1 < choice_of(fast)["density"] < 1


@settings(max_examples=25)
@given(
    workers=st.integers(1, 64),
    bandwidth=st.floats(1e3, 1e12),
    condition=st.floats(1.01, 1e4),
    hidden=st.floats(0, 0.1),
)
def test_where_the_gain_is_linear_no_link_asks_for_less_than_everything(
    workers: int, bandwidth: float, condition: float, hidden: float
) -> None:
    # The statement counts steps as reals, so of whole steps a million are asked for.
    question = replace(
        PUBLISHED,
        dimension=1000,
        ratio="top_k",
        workers=workers,
        bandwidth=bandwidth,
        condition_number=condition,
        hidden_seconds=hidden,
        tolerance=1e-300,
        latency_seconds=0.0,
    )
    dense_steps = steps_needed(question, numpy.array([1000]))[0]
    whole = dense_steps * step_seconds(question, SPARSE, numpy.array([1000]))[0]
    assert plan(question).objective >= whole * (1 - 1 / dense_steps)


@pytest.mark.parametrize(("ratio", "gain"), [("steady_drift", 3), ("steady_noise", 6)])
@pytest.mark.parametrize("bandwidth", [1e4, 1e6, 1e8])
def test_with_as_many_workers_as_the_gain_the_ring_is_best_on_every_link(
    ratio: str, gain: int, bandwidth: float
) -> None:
    question = replace(PUBLISHED, dimension=9000, ratio=ratio, workers=gain, bandwidth=bandwidth, latency_seconds=0.0)
    assert choice_of(plan(replace(question, collectives=(DENSE, SPARSE))))["collective"] == DENSE


def test_an_accuracy_budget_raises_the_density_and_is_named() -> None:
    free = plan(PUBLISHED)
    bound = plan(replace(PUBLISHED, most_steps=choice_of(free)["steps"] // 2))
    assert choice_of(bound)["density"] > choice_of(free)["density"]
    assert choice_of(bound)["steps"] == choice_of(free)["steps"] // 2
    assert bound.binding == (f"most_steps: {choice_of(bound)['steps']} steps",)
    assert free.binding == ()
    step = plan(replace(PUBLISHED, most_steps=choice_of(bound)["steps"], goal="step"))
    assert choice_of(step)["k"] == choice_of(bound)["k"]
    assert step.objective == choice_of(bound)["step_seconds"]


def test_too_few_steps_are_named() -> None:
    with pytest.raises(InfeasibleError, match="most_steps allows 3 steps, and without compression 346 are needed"):
        plan(replace(PUBLISHED, most_steps=3))


def test_the_step_size_is_the_best_one_of_the_theory() -> None:
    found = plan(replace(PUBLISHED, ratio="steady_drift", dimension=1000))
    epsilon = STATEMENTS["steady_drift"].evaluate(kappa=choice_of(found)["density"])
    stated = STATEMENTS["ef_tight_step"].evaluate(mu=1, smoothness=100, epsilon=epsilon)
    assert choice_of(found)["smoothness_times_step_size"] == pytest.approx(100 * stated, rel=1e-12)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"dimension": 0}, "dimension.*0"),
        ({"dimension": 2**51}, str(2**51)),
        ({"workers": 0}, "workers.*0"),
        ({"bandwidth": 0.0}, "bandwidth.*0.0"),
        ({"compute_seconds": 0.0}, "compute_seconds.*0.0"),
        ({"hidden_seconds": 0.2}, "hidden_seconds.*0.2"),
        ({"ratio": "none"}, "'none'"),
        ({"condition_number": 0.5}, "0.5"),
        ({"tolerance": 1.0}, "1.0"),
        ({"collectives": ()}, r"\(\)"),
        ({"collectives": ("ring",)}, "ring"),
        ({"most_steps": 0}, "most_steps.*0"),
        ({"goal": "bytes"}, "'bytes'"),
    ],
)
def test_a_question_that_makes_no_sense_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(PUBLISHED, **change)
