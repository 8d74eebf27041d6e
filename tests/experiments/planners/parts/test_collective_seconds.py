"""Seconds are the statements' own, exact; doubles are near them, parts and lines make them up."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy
import pytest

from sparsync.experiments.averaging.link import Link
from sparsync.experiments.planners.parts.collective_seconds import (
    COLLECTIVES,
    Question,
    count_at,
    doubles_of,
    lines_of,
    parts_of,
    seconds_of,
)
from sparsync.theory.statements import STATEMENTS
from tests.support.planning.collective import small

ASKED = Question(
    workers=12,
    dimension=1000,
    density=0.01,
    link=Link(0.5, 0.25),
    merge_seconds_per_byte=0.125,
    fresh_share=0.5,
    node_size=3,
    inner_link=Link(0.25, 0.125),
)
NUMBERS = {
    "n": 12,
    "d": 1000,
    "k": 10,
    "union_size": 65,
    "node_union_size": 20,
    "doubling_count": 4,
    "node_workers": 3,
    "node_count": 4,
    "value_bytes": 4,
    "index_bytes": 4,
    "message_seconds": 0.5,
    "byte_seconds": 0.25,
    "inner_message_seconds": 0.25,
    "inner_byte_seconds": 0.125,
    "merge_seconds": 0.125,
}


@pytest.mark.parametrize("name", COLLECTIVES)
def test_seconds_are_the_statement_and_exact(name: str) -> None:
    names = {str(parameter.name) for parameter in STATEMENTS[name].parameters}
    expected = STATEMENTS[name].fraction(**{parameter: NUMBERS[parameter] for parameter in names})
    found = seconds_of(ASKED, name, 12, 10)
    assert isinstance(found, Fraction)
    assert found == expected


def test_lines_parts_and_doubles_are_the_seconds() -> None:
    numbers = random.Random(3)
    for _ in range(20):
        asked = small(numbers)
        counts = numpy.arange(1, 9) * asked.node_size
        for name in asked.runnable(COLLECTIVES):
            exact = seconds_of(asked, name, asked.workers, asked.count)
            assert min(free + slope * asked.count for free, slope in lines_of(asked, name)) == exact
            assert sum(parts_of(asked, name).values()) == exact
            each = [float(seconds_of(asked, name, int(count), asked.count)) for count in counts]
            assert doubles_of(asked, name, counts) == pytest.approx(each, rel=1e-14)


def test_a_line_of_a_flat_dense_collective_is_level() -> None:
    ((_, slope),) = lines_of(ASKED, "ring_all_reduce")
    assert slope == 0
    assert len(lines_of(ASKED, "ring_all_gather")) == 1
    assert len(lines_of(ASKED, "balanced_all_reduce")) == 2
    assert len(lines_of(ASKED, "hierarchical_gather")) == 4


@pytest.mark.parametrize(("density", "count"), [(0.001, 1), (0.26, 3), (0.24, 2), (1.0, 10)])
def test_a_density_is_rounded_to_at_least_one_entry(density: float, count: int) -> None:
    assert count_at(density, 10) == count


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        ({"workers": 0}, "workers must be whole nodes of 3, got 0"),
        ({"workers": 7}, "workers must be whole nodes of 3, got 7"),
        ({"dimension": 0}, "dimension must be at least 1, got 0"),
        ({"node_size": 0}, "node_size must be at least 1, got 0"),
        ({"density": 0.0}, r"density must lie in \(0, 1\], got 0.0"),
        ({"density": float("nan")}, r"density must lie in \(0, 1\], got nan"),
        ({"fresh_share": 1.5}, r"fresh_share must lie in \[0, 1\], got 1.5"),
        ({"merge_seconds_per_byte": -1.0}, "merge_seconds_per_byte must not be negative, got -1.0"),
        ({"inner_link": None}, "nodes of 3 workers need an inner_link, got None"),
        ({"allowed": ()}, r"allowed must be some of ring_all_reduce, .*, got \(\)"),
        ({"allowed": ("star",)}, r"allowed must be some of .*, got \('star',\)"),
    ],
)
def test_a_question_that_makes_no_sense_is_refused(changed: dict[str, Any], fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        replace(ASKED, **changed)
