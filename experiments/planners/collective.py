"""Which collective adds up the workers' gradients soonest, and at which density or number of workers is it another?

Seconds are those of `parts/collective_seconds.py`; the objective is messages + bytes + additions. There are nine
collectives, so that each is tried, in fractions. The seconds of each are the least of a few lines in k: where the
lowest line belongs to another collective, the choice changes. Ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, pairwise

import numpy
from numpy.typing import NDArray

from sparsync.experiments.planners.parts.collective_seconds import (
    COLLECTIVES,
    EXACT,
    Line,
    Question,
    Whole,
    count_at,
    doubles_of,
    lines_of,
    parts_of,
    require_density,
    seconds_of,
)
from sparsync.experiments.planners.plan import InfeasibleError, Plan

MOST_WORKERS = 4096
"""Up to which another choice is looked for."""
ROUNDING = 1e-12
"""A few thousand roundings of doubles, relative."""


@dataclass(frozen=True)
class Stretch:
    """Numbers of entries with one fastest collective.

    Args:
        collective: that.
        start: the least k, a real number.
        end: the largest.
    """

    collective: str
    start: Fraction
    end: Fraction


def plan(question: Question) -> Plan:
    """The fastest collective that is allowed, the seconds of all by part, and where the choice changes.

    It holds between the two densities and the two numbers of workers that the choice names, all else unchanged; see
    `choices_by_count` and `workers_with`.

    Raises:
        InfeasibleError: all that is allowed needs nodes, and there are none.
    """
    name = fastest(question, question.workers, question.count)
    by_part = {other: parts_of(question, other) for other in question.able}
    stretches = choices_by_count(question)
    own = _own_stretch(stretches, name, question.count)
    fewest, most = workers_with(question, name)
    faster = _faster_if_allowed(question, name)
    return Plan(
        planner="collective",
        choice={
            "collective": name,
            "is_exact": name in EXACT,
            "count": question.count,
            "seconds": {other: float(sum(parts.values())) for other, parts in by_part.items()},
            "parts": {other: _floats(parts) for other, parts in by_part.items()},
            "densities": [float(own.start / question.dimension), float(own.end / question.dimension)],
            "workers": [fewest, most],
        },
        objective=float(sum(by_part[name].values())),
        parts=_floats(by_part[name]),
        binding=("allowed",) if faster else (),
        remarks=(
            *_density_remarks(question, stretches, own),
            *_workers_remarks(question, fewest, most),
            *(f"{other}, which is not allowed, would take {seconds:.3g} s" for other, seconds in faster.items()),
        ),
    )


def fastest(question: Question, workers: int, count: int) -> str:
    """The fastest collective of those allowed, with other workers and entries than the question's.

    Raises:
        InfeasibleError: see `plan`.
    """
    if not question.able:
        allowed = ", ".join(question.allowed)
        raise InfeasibleError(f"allowed: {allowed} need nodes of several workers, and node_size is 1")
    return min(question.able, key=lambda name: seconds_of(question, name, workers, count))


def crossover_map(question: Question, densities: Sequence[float], workers: Sequence[int]) -> list[list[str]]:
    """The fastest collective at each density, for each number of workers: a row for each density.

    Args:
        question: all else.
        densities: in (0, 1].
        workers: whole nodes.

    Raises:
        ValueError: a density or a number of workers out of range.
        InfeasibleError: see `plan`.
    """
    for number in workers:
        question.require_workers(number)
    for density in densities:
        require_density(density)
    counts = [count_at(density, question.dimension) for density in densities]
    return [[fastest(question, number, count) for number in workers] for count in counts]


def choices_by_count(question: Question) -> tuple[Stretch, ...]:
    """The fastest collective of those allowed for every real k from 0 to d, in stretches whose ends are exact."""
    lines = {name: lines_of(question, name) for name in question.able}
    top = Fraction(question.dimension)
    meetings = _meetings({line for some in lines.values() for line in some})
    ends = sorted({Fraction(0), top, *(count for count in meetings if 0 < count < top)})
    stretches: list[Stretch] = []
    for start, end in pairwise(ends):
        name = _lowest(lines, (start + end) / 2)
        if stretches and stretches[-1].collective == name:
            start = stretches.pop().start
        stretches.append(Stretch(name, start, end))
    return tuple(stretches)


def workers_with(question: Question, name: str) -> tuple[int, int | None]:
    """The fewest and the most workers with which a collective is the fastest, and so with all numbers in between.

    It must be the fastest with the question's workers. Doubles find where another may be, fractions decide. A worker
    alone is not compared with others. The most are None where they are beyond `MOST_WORKERS`.
    """
    if question.workers == 1:
        return 1, 1
    step = question.node_size
    counts = numpy.arange(max(step, 2), max(MOST_WORKERS, question.workers) + 1, step)
    place = int(numpy.searchsorted(counts, question.workers))
    rivals = [int(at) for at in numpy.flatnonzero(_rivalled(question, name, counts))]

    def is_fastest(at: int) -> bool:
        return fastest(question, int(counts[at]), question.count) == name

    below = (at for at in reversed(rivals) if at < place and not is_fastest(at))
    above = (at for at in rivals if at > place and not is_fastest(at))
    first, last = next(below, -1) + 1, next(above, len(counts)) - 1
    return int(counts[first]), int(counts[last]) if last + 1 < len(counts) else None


def _rivalled(question: Question, name: str, counts: Whole) -> NDArray[numpy.bool_]:
    """With which numbers of workers another collective takes less, or as long up to roundings."""
    most = doubles_of(question, name, counts) * (1 + ROUNDING)
    found = numpy.zeros(counts.shape, dtype=numpy.bool_)
    for other in question.able:
        if other != name:
            found |= doubles_of(question, other, counts) <= most
    return found


def _meetings(lines: set[Line]) -> set[Fraction]:
    """Where two lines meet."""
    return {(other[0] - one[0]) / (one[1] - other[1]) for one, other in combinations(lines, 2) if one[1] != other[1]}


def _lowest(lines: Mapping[str, set[Line]], count: Fraction) -> str:
    return min(lines, key=lambda name: min(free + slope * count for free, slope in lines[name]))


def _own_stretch(stretches: Sequence[Stretch], name: str, count: int) -> Stretch:
    """That of a choice at so many entries; of no length where others are as fast there, and faster beside."""
    found = (one for one in stretches if one.collective == name and one.start <= count <= one.end)
    return next(found, Stretch(name, Fraction(count), Fraction(count)))


def _faster_if_allowed(question: Question, name: str) -> dict[str, float]:
    """What is not allowed, can be run, and would take less."""
    own = seconds_of(question, name, question.workers, question.count)
    others = {
        other: seconds_of(question, other, question.workers, question.count)
        for other in question.runnable(COLLECTIVES)
        if other not in question.allowed
    }
    return {other: float(seconds) for other, seconds in others.items() if seconds < own}


def _density_remarks(question: Question, stretches: Sequence[Stretch], own: Stretch) -> list[str]:
    """Which collectives are next on both sides."""
    below = [one for one in stretches if one.end <= own.start]
    above = [one for one in stretches if one.start >= own.end]
    remarks = [f"below a density of {_shown(own.start, question)}: {below[-1].collective}"] if below else []
    return remarks + ([f"above a density of {_shown(own.end, question)}: {above[0].collective}"] if above else [])


def _workers_remarks(question: Question, fewest: int, most: int | None) -> list[str]:
    """Which collectives are next with fewer and with more workers."""
    step, remarks = question.node_size, []
    if fewest - step > 1:
        remarks.append(f"with {fewest - step} workers: {fastest(question, fewest - step, question.count)}")
    if most is not None and question.workers > 1:
        remarks.append(f"with {most + step} workers: {fastest(question, most + step, question.count)}")
    return remarks


def _shown(count: Fraction, question: Question) -> str:
    return f"{float(count / question.dimension):.6g}"


def _floats(parts: Mapping[str, Fraction]) -> dict[str, float]:
    return {part: float(seconds) for part, seconds in parts.items()}
