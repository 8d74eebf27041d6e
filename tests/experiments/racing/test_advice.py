"""Advice ranks by the time to the target, says how sure it is, and is what anybody would say of a plain cluster."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from sparsync.experiments.engine.clusters import Cluster, Constant, Link
from sparsync.experiments.racing.advice import (
    Advice,
    Candidate,
    Case,
    Question,
    Reached,
    advise,
    cases_of,
    real_words,
    run_case,
    seconds_to,
)
from sparsync.experiments.racing.contest import QUADRATIC, Point, Race
from sparsync.experiments.racing.real import Conditions

RACE = Race(data=QUADRATIC, workers=4, seconds=200.0, points=200)
ONE_SLOW = Cluster(4, Constant((1.0, 1.0, 1.0, 4.0)))
BSP, ASP = Candidate(("bsp", {}), 1.0), Candidate(("asp", {}), 1.0)
SPARSE = Candidate(("bsp", {}), 0.1)
QUESTION = Question(RACE, ONE_SLOW, 1.0, (0.1,), 2)


def points(*qualities: float) -> list[Point]:
    return [Point(float(place), 0, 0, 0, 0, quality) for place, quality in enumerate(qualities)]


def reached(seconds: float, quality: float = 0.5) -> Reached:
    return Reached(seconds, quality, waiting_share=0.25, bytes_per_step=2000.0, staleness=3)


def test_a_target_is_reached_on_the_line_between_two_points() -> None:
    assert seconds_to(points(0.0, 0.5, 0.75, 0.5), 0.625, falls=False) == 1.5
    assert seconds_to(points(4.0, 2.0, 1.0), 3.0, falls=True) == 0.5
    assert seconds_to(points(1.0, 2.0), 1.0, falls=True) == 0.0
    assert seconds_to(points(4.0, 2.0), 1.0, falls=True) == math.inf


def test_who_waits_for_nobody_is_first_where_one_is_slow() -> None:
    first, second = advise(QUESTION, [BSP, ASP])
    assert (first.label, second.label) == ("asp", "bsp")
    assert first.reached_count == second.reached_count == 2
    assert second.runs[0].waiting_share > 0.5 > first.runs[0].waiting_share
    assert first.is_as_good


def test_who_sends_less_is_first_where_the_line_is_slow() -> None:
    line = Link(bytes_per_second=32 * 8 / 10)
    first, second = advise(replace(QUESTION, cluster=replace(ONE_SLOW, upload=line)), [BSP, SPARSE])
    assert (first.candidate, second.candidate) == (SPARSE, BSP)
    assert first.runs[0].bytes_per_step < second.runs[0].bytes_per_step


def test_of_step_sizes_the_best_one_counts() -> None:
    (found,) = advise(replace(QUESTION, step_sizes=(0.1, 0.001)), [BSP])
    assert found.step_size == 0.1
    assert len(cases_of(replace(QUESTION, step_sizes=(0.1, 0.001)), [BSP, ASP])) == 8


def test_who_diverges_reaches_nothing() -> None:
    found = run_case(QUESTION, Case(BSP, 1e6, 0))
    assert (found.seconds, found.quality) == (math.inf, math.inf)


def test_seeds_give_an_interval_and_those_that_fail_are_counted() -> None:
    sure = Advice(ASP, 0.1, (reached(10.0), reached(11.0), reached(12.0)))
    assert sure.line == (
        "asp, everything, step size 0.1: 11 s [8.516, 13.48]; 25% waiting, 2 kB a step, staleness up to 3"
    )
    assert ": 10 s, one seed; " in Advice(ASP, 0.1, (reached(10.0),)).line
    some = Advice(SPARSE, 0.1, (reached(10.0), reached(math.inf)))
    assert some.seconds is None
    assert "density 0.1, step size 0.1: target reached by 1 of 2 seeds, 0.5 at the end; " in some.line


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"target": 0.0}, "target must be positive and finite, got 0.0"),
        ({"race": replace(RACE, data="embedded"), "target": 1.5}, "between 0 and 1, an accuracy, got 1.5"),
        ({"step_sizes": ()}, "name at least one step size"),
        ({"seed_count": 0}, "seeds must be at least 1, got 0"),
    ],
)
def test_a_question_without_an_answer_is_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(QUESTION, **changes)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="there are no candidates"):
        advise(QUESTION, [])


def test_a_real_run_is_told_what_is_not_as_usual() -> None:
    race = replace(RACE, cluster="pareto", fixed_share=0.5, step_size=0.2)
    assert real_words(race, SPARSE, Conditions(unit_seconds=0.5)) == [
        *(
            "--policy",
            "bsp",
            "--cluster",
            "pareto",
            "--fixed-share",
            "0.5",
            "--seconds",
            "200.0",
            "--data",
            "quadratic",
        ),
        *("--step-size", "0.2", "--selector", "top_k", "--density", "0.1", "--points", "200"),
        *("--unit-seconds", "0.5"),
    ]
    words = real_words(replace(race, density=0.5), BSP, Conditions(slowness="none"))
    assert {"--cluster", "--fixed-share", "--density", "--selector", "--unit-seconds"}.isdisjoint(words)
    assert words[-2:] == ["--slowness", "none"]
