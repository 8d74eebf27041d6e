"""What evidence is there for blocks with versions in place of a barrier, besides the derivations?

Every state that a few workers can reach, however they take turns, and drawn turns of drawn workers, in exact fractions:
what each reads is compared with rounds of all, and how far each comes with the distance to the slowest. Ours.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product

from hypothesis import strategies as st

from sparsync.theory.statements import STATEMENTS
from sparsync.verify.tools.outcome import Check, Grade, Outcome, Profile
from sparsync.verify.tools.properties import Members, property_check

Blocks = Sequence[tuple[int, ...]]
"""By worker."""
STEP_SIZE = Fraction(1, 3)
LISTED_STEPS = 3
"""Steps of each worker whose executions are all followed."""
DRAWN_STEPS = 4
"""Steps of each worker in a drawn execution."""
ROWS: tuple[tuple[str, Blocks, Blocks], ...] = (
    ("writers of what the one before reads", [(0, 1), (1, 2), (2,)], [(0,), (1,), (2,)]),
    ("readers of what the one before writes", [(0,), (0, 1), (1, 2)], [(0,), (1,), (2,)]),
    ("a ring", [(0, 1), (1, 2), (2, 0)], [(0,), (1,), (2,)]),
    ("whole models", [(0,), (0,), (0,)], [(0,), (0,), (0,)]),
    ("a block that two write", [(0, 1), (0, 1), (1,)], [(0,), (0, 1), (1,)]),
    ("one who writes nothing", [(0, 1), (1,)], [(0,), ()]),
    ("nothing shared", [(0,), (1,)], [(0,), (1,)]),
    ("a block that nobody writes", [(0, 1), (1, 2)], [(0,), (2,)]),
    ("three who read what a fourth writes", [(0,), (0, 1), (0, 2), (0,)], [(), (1,), (2,), (0,)]),
)
"""Names; blocks that each worker reads, and writes."""


@dataclass
class Execution:
    """A database and its workers. What may happen next is asked, and then done.

    Args:
        reads: by worker.
        writes: by worker.
        waits_for_readers: a version is not made before the last is read.
    """

    reads: Blocks
    writes: Blocks
    waits_for_readers: bool = True
    begun: list[int] = field(init=False)
    finished: list[int] = field(init=False)
    blocks: list[list[Fraction]] = field(init=False)
    """of each its versions"""
    seen: list[list[dict[int, Fraction]]] = field(init=False)
    """of each worker what it read, step by step"""

    def __post_init__(self) -> None:
        count = 1 + max(block for own in self.reads for block in own)
        self.begun, self.finished = [0] * len(self.reads), [0] * len(self.reads)
        self.blocks = [[Fraction(2 * block + 1)] for block in range(count)]
        self.seen = [[] for _ in self.reads]

    def possible(self, steps: int) -> Iterator[tuple[str, int]]:
        """Begin or finish a step of a worker, or make the next version of a block."""
        written = {block for own in self.writes for block in own}
        for worker, own in enumerate(self.reads):
            begun = self.begun[worker]
            if begun > self.finished[worker]:
                yield "finish", worker
            elif begun < steps and all(len(self.blocks[block]) > begun for block in written.intersection(own)):
                yield "begin", worker
        for block in sorted(written):
            step = len(self.blocks[block])
            if step <= steps and self._is_due(block, step):
                yield "make", block

    def _is_due(self, block: int, step: int) -> bool:
        readers = [worker for worker, own in enumerate(self.reads) if block in own]
        reported = all(self.finished[worker] >= step for worker, own in enumerate(self.writes) if block in own)
        return reported and (not self.waits_for_readers or all(self.begun[worker] >= step for worker in readers))

    def happen(self, what: str, number: int) -> None:
        """Do one of the possible things."""
        if what == "begin":
            self.seen[number].append({block: self.blocks[block][-1] for block in self.reads[number]})
            self.begun[number] += 1
        elif what == "finish":
            self.finished[number] += 1
        else:
            step = len(self.blocks[number]) - 1
            reports = [
                slope(worker, number, self.seen[worker][step])
                for worker, own in enumerate(self.writes)
                if number in own
            ]
            value = self.blocks[number][-1] - STEP_SIZE / len(self.reads) * sum(reports, Fraction(0))
            self.blocks[number].append(value)

    def after(self, what: str, number: int) -> Execution:
        """Another in which this has happened too."""
        other = Execution(self.reads, self.writes, self.waits_for_readers)
        other.begun, other.finished = [*self.begun], [*self.finished]
        other.blocks = [[*versions] for versions in self.blocks]
        other.seen = [[*views] for views in self.seen]
        other.happen(what, number)
        return other

    @property
    def state(self) -> Hashable:
        """All that may make a difference later, and all that is to be compared."""
        read = tuple(tuple(sorted(views[-1].items())) if views else () for views in self.seen)
        return tuple(self.begun), tuple(self.finished), tuple(map(tuple, self.blocks)), read


def slope(worker: int, block: int, view: dict[int, Fraction]) -> Fraction:
    """A gradient: not linear, of its own for each worker and block."""
    total = sum((value * (number + 2) for number, value in sorted(view.items())), Fraction(worker - block))
    return total + view[block] ** 2 / 8


def stated_rounds(reads: Blocks, writes: Blocks, steps: int) -> list[list[Fraction]]:
    """By the statement, the blocks after each round of all."""
    first = Execution(reads, writes)
    found = [[versions[0] for versions in first.blocks]]
    for _ in range(steps):
        now = found[-1]
        following = []
        for block, value in enumerate(now):
            slopes = [
                slope(worker, block, {part: now[part] for part in reads[worker]})
                for worker, own in enumerate(writes)
                if block in own
            ]
            mean = sum(slopes, Fraction(0)) / len(reads)
            stated = STATEMENTS["database_versions"].fraction(block_value=value, step_size=STEP_SIZE, gradient=mean)
            following.append(stated)
        found.append(following)
    return found


def distances(reads: Blocks, writes: Blocks) -> list[list[int | None]]:
    """Links between workers who read a block that somebody writes; None where there is no path."""
    workers = range(len(reads))
    written = {block for own in writes for block in own}
    linked = [[bool(written.intersection(reads[one], reads[other])) for other in workers] for one in workers]
    found: list[list[int | None]] = [[0 if one == other else None for other in workers] for one in workers]
    for length in workers:
        for one, middle, other in product(workers, repeat=3):
            if found[one][middle] == length and linked[middle][other] and found[one][other] is None:
                found[one][other] = length + 1
    return found


def allowed_leads(reads: Blocks, writes: Blocks) -> list[tuple[int, int, Fraction]]:
    """Of each pair that is linked its bound."""
    return [
        (one, other, STATEMENTS["database_lead"].fraction(access_distance=links))
        for one, row in enumerate(distances(reads, writes))
        for other, links in enumerate(row)
        if links
    ]


def room(execution: Execution, allowed: Sequence[tuple[int, int, Fraction]]) -> Fraction:
    """The least of the bounds minus the leads; 1 if nobody is linked."""
    finished = execution.finished
    return min((bound - (finished[one] - finished[other]) for one, other, bound in allowed), default=Fraction(1))


def follow_all(first: Execution, steps: int) -> Iterator[Execution]:
    """The execution in every state that it can reach.

    Raises:
        RuntimeError: it cannot go on in some state, and not all have finished.
    """
    known, left = {first.state}, [first]
    while left:
        execution = left.pop()
        yield execution
        following = [execution.after(*event) for event in execution.possible(steps)]
        if not following and set(execution.finished) != {steps}:
            raise RuntimeError(f"nothing can happen with {execution.finished} steps finished")
        for after in following:
            if after.state not in known:
                known.add(after.state)
                left.append(after)


def drawn_execution(reads: Blocks, writes: Blocks, turns: Sequence[int], steps: int) -> Iterator[Execution]:
    """The states of one in which the next thing to happen is chosen by a number, cyclically, to the end."""
    execution, number = Execution(reads, writes), 0
    while possible := list(execution.possible(steps)):
        execution.happen(*possible[turns[number % len(turns)] % len(possible)])
        number += 1
        yield execution


def differs(execution: Execution, rounds: Sequence[Sequence[Fraction]]) -> Fraction:
    """Sum of the differences of all versions from the rounds."""
    return sum(
        (
            abs(value - rounds[step][block])
            for block, versions in enumerate(execution.blocks)
            for step, value in enumerate(versions)
        ),
        Fraction(0),
    )


def versions_check(_profile: Profile) -> Outcome:
    """`rational`: in every state that listed workers can reach all versions are those of rounds, and all end."""
    wrong, states_count = [], 0
    for name, reads, writes in ROWS:
        rounds = stated_rounds(reads, writes, LISTED_STEPS)
        found = [differs(state, rounds) for state in follow_all(Execution(reads, writes), LISTED_STEPS)]
        states_count += len(found)
        wrong += [name] if any(found) else []
    return Outcome(earned=not wrong, detail={"states_count": states_count, "wrong_rows": wrong})


def lead_check(_profile: Profile) -> Outcome:
    """`rational`: in no state that listed workers can reach a lead is above the bound."""
    margins = [
        room(state, allowed)
        for reads, writes, allowed in ((reads, writes, allowed_leads(reads, writes)) for _, reads, writes in ROWS)
        for state in follow_all(Execution(reads, writes), LISTED_STEPS)
    ]
    return Outcome(
        earned=min(margins) >= 0, detail={"states_count": len(margins), "smallest_margin": str(min(margins))}
    )


def database_cases() -> Members:
    """(blocks that are read, those of them that are written, turns), those of `_row_of_writers` among them."""

    def of_size(workers: int) -> Members:
        blocks = st.frozensets(st.integers(0, 3), min_size=1, max_size=3).map(lambda own: tuple(sorted(own)))
        reads = st.lists(blocks, min_size=workers, max_size=workers)
        kept = st.lists(blocks, min_size=workers, max_size=workers)
        turns = st.lists(st.integers(0, 11), min_size=1, max_size=30)
        return st.tuples(reads, kept, turns).map(
            lambda case: (case[0], [_both(*pair) for pair in zip(case[0], case[1], strict=True)], case[2])
        )

    return st.integers(1, 4).flatmap(of_size) | st.integers(2, 4).map(_row_of_writers)


def _both(first: tuple[int, ...], second: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(block for block in first if block in second)


def _row_of_writers(count: int) -> tuple[Blocks, Blocks, list[int]]:
    """Each writes what the one before reads; the first finishes its first step when nothing else can happen."""
    reads = [*((worker, worker + 1) for worker in range(count - 1)), (count - 1,)]
    return reads, [(worker,) for worker in range(count)], [0, *[11] * 40]


def versions_margin(reads: Blocks, writes: Blocks, turns: Sequence[int]) -> Fraction:
    """Minus the differences of all versions from the rounds."""
    *_, last = drawn_execution(reads, writes, turns, DRAWN_STEPS)
    return -differs(last, stated_rounds(reads, writes, DRAWN_STEPS))


def lead_margin(reads: Blocks, writes: Blocks, turns: Sequence[int]) -> Fraction:
    """The least of the bounds minus the leads, over all states."""
    allowed = allowed_leads(reads, writes)
    return min(room(state, allowed) for state in drawn_execution(reads, writes, turns, DRAWN_STEPS))


CHECKS: dict[str, dict[Grade, Check]] = {
    "database_versions": {"rational": versions_check, "property": property_check(database_cases, versions_margin)},
    "database_lead": {"rational": lead_check, "property": property_check(database_cases, lead_margin)},
}
"""Every check of these statements, by label and grade."""
