"""What do workers compute who wait for blocks of the model instead of each other? What they would with a barrier.

A parameter database (Goel, Agrawal, Chawla and Elmagarmid 2015, of which the abstract has been read) orders reads and
writes of parameters, so that no barrier is needed. Its constraints in these terms, for one copy of each block that has
versions, the bounds and the proofs are ours.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TypeVar

import sympy

from sparsync.theory.delay.stability import decided
from sparsync.theory.language.stated import by_label
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import access_distance, block_value, database_block, eta, gradient, lead, n

RULES = (
    r"worker $i$ computes from the blocks of a set $R_i$, as they are when it begins a step, and changes those of "
    "a part $W_i$ of $R_i$ alone",
    r"somebody writes each block; worker $i$ begins step $t+1$ when all of $R_i$ have the version $t$ or a later one",
    r"version $t+1$ of a block is made when all who write it have reported on step $t+1$, and all who read it have "
    r"begun that step",
)
FOLLOWED_STEPS = 2
"""Steps of the workers whose executions are all followed."""

Numbers = tuple[int, ...]
Values = tuple[sympy.Expr, ...]
Item = TypeVar("Item")

_PLACE, _WRITERS = sympy.symbols("i w", integer=True, positive=True)
_STEP, _MORE = sympy.symbols("s more", integer=True, nonnegative=True)


@dataclass(frozen=True)
class Database:
    """Who reads and writes what, and the state of an execution.

    Args:
        reads: blocks by worker.
        writes: blocks by worker.
        steps: that each worker makes.
        begun: steps by worker.
        finished: steps by worker.
        versions: by block.
        values: by block.
        views: what each worker has read last.
        reports: by worker, of its steps in order: what it adds to each block that it writes.
    """

    reads: tuple[Numbers, ...]
    writes: tuple[Numbers, ...]
    steps: int
    begun: Numbers
    finished: Numbers
    versions: Numbers
    values: Values
    views: tuple[Values, ...]
    reports: tuple[tuple[Values, ...], ...]

    def can_begin(self, worker: int) -> bool:
        """It has finished, and what it reads is as far."""
        own = self.begun[worker]
        return self.finished[worker] == own < self.steps and all(
            self.versions[part] >= own for part in self.reads[worker]
        )

    def can_make(self, block: int) -> bool:
        """Its writers have reported, its readers have read."""
        version, workers = self.versions[block], range(len(self.reads))
        return all(self.finished[worker] > version for worker in workers if block in self.writes[worker]) and all(
            self.begun[worker] > version for worker in workers if block in self.reads[worker]
        )


def start(reads: tuple[Numbers, ...], writes: tuple[Numbers, ...], steps: int) -> Database:
    """Nobody has begun; the blocks have values that are symbols."""
    workers, blocks = len(reads), 1 + max(block for own in reads for block in own)
    values = tuple(sympy.symbols(f"x_:{blocks}", real=True))
    idle = (0,) * workers
    return Database(reads, writes, steps, idle, idle, (0,) * blocks, values, ((),) * workers, ((),) * workers)


def database_versions() -> Statement:
    """Version t + 1 of each block is x_b(t) − ηg_t, what bulk-synchronous training has after round t + 1.

    By induction every step reads what it would read after a barrier, however the workers take turns. So whole models,
    which all read and write, make this BSP; blocks that only some read make others wait less, and no number differs.

    Source: ours; that reads and writes of parameters replace a barrier: Goel, Agrawal, Chawla and Elmagarmid 2015.
    """
    bound = block_value - eta * gradient
    return Statement(
        label="database_versions",
        title="Blocks of a parameter database",
        assumptions=(
            *RULES,
            r"a version adds the reports on its step, times $-\eta/n$; all blocks have version $0$ at $x(0)$",
            r"$x_b(t+1)=x_b(t)-\eta g_t$ with a barrier, $g_t$ the mean of all gradients at $x(t)$ in block $b$",
        ),
        relation=sympy.Eq(database_block, bound),
        domain=(),
        source="ours; form: Goel, Agrawal, Chawla and Elmagarmid 2015",
        derivation=(
            Step(
                "version v was made when each reader had begun v steps: who has begun t and reads version t or later "
                "reads version t",
                _reads_its_version,
            ),
            Step(
                "so reports on step t + 1 are gradients at x(t), where versions t are; of the n workers those who do "
                "not write the block have none there",
                _writers_alone,
            ),
            Step("version t + 1 is version t less η/n times them", lambda: _next_version() - bound, concludes=bound),
            Step(
                f"all executions of {FOLLOWED_STEPS} steps of two workers, one of whom reads both blocks, agree",
                lambda: _all_agree(((0, 1), (1,)), ((0,), (1,))),
            ),
            Step("the same where both read both", lambda: _all_agree(((0, 1), (0, 1)), ((0,), (1,)))),
            Step("and where both read and write one", lambda: _all_agree(((0,), (0,)), ((0,), (0,)))),
        ),
    )


def database_lead() -> Statement:
    """c_i − min_j c_j ≤ ℓ + 1 where ℓ links lead from i to the slowest; two workers who read one block are linked.

    It is ℓ where the last link is by a block that the slowest writes. So workers may be as far apart as the graph of
    their links is wide, each pair under bounded staleness of its own. With whole models the lead is 1, as in BSP.

    Source: ours.
    """
    bound = access_distance + 1
    return Statement(
        label="database_lead",
        title="Lead in a parameter database",
        assumptions=(
            *RULES,
            r"$\ell$ links lead from worker $i$ to the slowest, each between two workers who read one block",
        ),
        relation=sympy.Le(lead, bound, evaluate=False),
        domain=(),
        source="ours",
        derivation=(
            Step(
                "who has begun s + 1 steps has read version s, for which readers of the block had begun s, and writers "
                "had finished s: begun_i ≤ begun_j + 1 over a link, or finished_j + 1 if j writes",
                _over_a_link,
            ),
            Step(
                "finished ≤ begun ≤ finished + 1: c_i ≤ c_j + 1, and 1 more for each link",
                lambda: _over_links() - bound,
                concludes=bound,
            ),
            Step(
                "while one stays in its first step, who writes what it reads makes 2, and who writes what that reads 3",
                lambda: _farthest(((0, 1), (1, 2), (2,)), (0, 2, 3)),
            ),
            Step(
                "who reads what it writes makes 1, and who reads what that writes 2",
                lambda: _farthest(((0,), (0, 1), (1, 2)), (0, 1, 2)),
            ),
        ),
    )


def _reads_its_version() -> sympy.Basic:
    # Made when "begun" was more than v − 1; it has grown since, to t.
    version = _STEP
    begun = version - 1 + 1 + _MORE
    # The rule asks for v ≥ t: then nothing has grown.
    asked = sympy.solve(sympy.Eq(version, begun), _MORE)
    return decided((begun - version).is_nonnegative and asked == [0])


def _writers_alone() -> sympy.Expr:
    own = sympy.IndexedBase("g", real=True)[_PLACE]
    of_writers = sympy.Sum(own, (_PLACE, 1, _WRITERS))
    others = sympy.Sum(sympy.S.Zero * own, (_PLACE, _WRITERS + 1, n)).doit()
    return (of_writers + others) / n - of_writers / n


def _next_version() -> sympy.Expr:
    # The writers' reports in sum are n times the mean of all.
    return block_value - eta / n * (n * gradient)


def _over_a_link() -> sympy.Basic:
    begun = _STEP + 1
    other = _STEP + _MORE
    return decided((other + 1 - begun).is_nonnegative)


def _over_links() -> sympy.Expr:
    """c_i − c_j: of each link 1, and 1 of the worker j that may have begun what it has not finished."""
    link = sympy.Symbol("link", integer=True, positive=True)
    return sympy.summation(1, (link, 1, access_distance)) + 1


def _all_agree(reads: tuple[Numbers, ...], writes: tuple[Numbers, ...]) -> sympy.Basic:
    """All executions end, with every worker finished, and each version in them is that of a barrier."""
    first = start(reads, writes, FOLLOWED_STEPS)
    rounds = _with_barrier(first, FOLLOWED_STEPS)
    seen, left, ends = {first}, [first], 0
    while left:
        state = left.pop()
        if any(state.values[block] != rounds[version][block] for block, version in enumerate(state.versions)):
            return sympy.false
        following = list(moves(state))
        if not following and (set(state.finished) != {FOLLOWED_STEPS} or set(state.versions) != {FOLLOWED_STEPS}):
            return sympy.false
        ends += not following
        fresh = set(following) - seen
        seen |= fresh
        left += fresh
    return decided(ends > 0)


def moves(state: Database) -> Iterator[Database]:
    """What may happen next."""
    for worker, own in enumerate(state.reads):
        if state.can_begin(worker):
            view = tuple(state.values[block] for block in own)
            yield replace(state, begun=_more(state.begun, worker), views=_put(state.views, worker, view))
        if state.begun[worker] > state.finished[worker]:
            made = tuple(_gradient(worker, block, state.views[worker]) for block in state.writes[worker])
            reports = _put(state.reports, worker, (*state.reports[worker], made))
            yield replace(state, finished=_more(state.finished, worker), reports=reports)
    for block in range(len(state.values)):
        if state.versions[block] < state.steps and state.can_make(block):
            value = _added(state, block, state.versions[block])
            yield replace(state, versions=_more(state.versions, block), values=_put(state.values, block, value))


def _added(state: Database, block: int, step: int) -> sympy.Expr:
    reports = [state.reports[worker][step][own.index(block)] for worker, own in enumerate(state.writes) if block in own]
    return sympy.expand(state.values[block] - eta / len(state.reads) * sympy.Add(*reports))


def _with_barrier(first: Database, count: int) -> list[Values]:
    """The blocks after each round."""
    found = [first.values]
    for _ in range(count):
        now = found[-1]
        sums = [
            sympy.Add(
                *(
                    _gradient(worker, block, tuple(now[part] for part in first.reads[worker]))
                    for worker, own in enumerate(first.writes)
                    if block in own
                )
            )
            for block in range(len(now))
        ]
        found.append(
            tuple(sympy.expand(value - eta / len(first.reads) * total) for value, total in zip(now, sums, strict=True))
        )
    return found


def _gradient(worker: int, block: int, view: Values) -> sympy.Expr:
    return sympy.Function(f"g_{worker}_{block}")(*view)


def _farthest(reads: tuple[Numbers, ...], finished: Numbers) -> sympy.Basic:
    """How far all get who each write one block, while the first does not finish its first step."""
    state = start(reads, tuple((worker,) for worker in range(len(reads))), 2 * len(reads))
    while True:
        following = [after for after in moves(state) if not after.finished[0]]
        if not following:
            return decided(state.finished == finished)
        state = following[0]


def _more(numbers: Numbers, place: int) -> Numbers:
    return _put(numbers, place, numbers[place] + 1)


def _put(items: tuple[Item, ...], place: int, item: Item) -> tuple[Item, ...]:
    return (*items[:place], item, *items[place + 1 :])


STATEMENTS = by_label(__name__, database_versions, database_lead)
"""The statements of this file."""
