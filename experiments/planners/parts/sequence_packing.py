"""How are devices grouped, and which group works on which sequence, so that the slowest group is done soonest?

Sequence k takes `seconds[k, i]` on a group of `sizes[i]` devices, one after the other, and groups hold so many tokens a
device. `fewest_seconds` tries everything, as a dynamic programme over subsets. `grouped` is for many sequences: an
integer program on buckets of lengths finds sizes of groups that could be enough for a makespan, which is bisected;
sequences then go, longest first, where they end earliest, and groups are split and joined and sequences moved while
that helps. What either returns is timed with true lengths. `least_seconds` bounds from below what any grouping takes.
Ours.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparsync.experiments.planners.parts.cuts import Cuts, padding_costs

BISECTIONS = 6
"""Of the makespan that is asked of the integer program."""
MOST_NODES = 2000
"""Of its branch and bound; what it has not found by then it does not find."""
_CLOSE = 0.005
"""Relative: a makespan so near to one that is not enough is not bisected further."""
_BETTER = 1 - 1e-9
"""By what factor a change must help: more than roundings do."""


@dataclass(frozen=True, eq=False)
class Jobs:
    """Sequences, and what they take.

    Args:
        tokens: [K], their lengths.
        seconds: [K, sizes], infinite where a group of that size cannot hold the sequence.
        sizes: of groups, ascending, 1, 2, 4, … devices.
        device_count: the last of the sizes.
        token_capacity: of a device.
    """

    tokens: NDArray[np.int64]
    seconds: NDArray[np.float64]
    sizes: NDArray[np.int64]
    token_capacity: int

    @property
    def device_count(self) -> int:
        """All of them are the largest group."""
        return int(self.sizes[-1])

    def chosen(self, places: Sequence[int]) -> Jobs:
        """Some of the sequences."""
        return Jobs(self.tokens[list(places)], self.seconds[list(places)], self.sizes, self.token_capacity)


class Group(NamedTuple):
    """A number of devices, and the places of the sequences that it works on."""

    size: int
    sequences: tuple[int, ...]


Groups = tuple[Group, ...]


def makespan(jobs: Jobs, groups: Groups) -> float:
    """Seconds of the slowest group."""
    column = {int(size): place for place, size in enumerate(jobs.sizes)}
    return max(math.fsum(jobs.seconds[list(group.sequences), column[group.size]]) for group in groups)


def least_seconds(jobs: Jobs) -> float:
    """No grouping is done earlier, and no sum over micro-batches is less: the least M with Σ_k w_k(M) ≤ NM.

    w_k(M) is the least device-seconds of sequence k on a group that is done with it by M, and NM are all there are. It
    is no less than the longest of the sequences' least times, and no less than all their least device-seconds over N.
    """
    work = jobs.seconds * jobs.sizes

    def is_enough(seconds: float) -> bool:
        least = np.min(np.where(jobs.seconds <= seconds, work, np.inf), axis=1)
        return bool(np.sum(least) <= jobs.device_count * seconds)

    low = float(np.max(np.min(jobs.seconds, axis=1)))
    if is_enough(low):
        return low
    high = low
    while not is_enough(high):
        low, high = high, 2 * high
    while low < (middle := (low + high) / 2) < high:
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return low


def fewest_seconds(jobs: Jobs, fixed_seconds: float) -> list[Groups]:
    """Micro-batches whose makespans, and a fixed time for each, have the least sum of all: exactly, in O(3^K N log N).

    Every sequence fits into a group of all devices.
    """
    count, devices = len(jobs.tokens), jobs.device_count
    everything = (1 << count) - 1
    alone = np.full((everything + 1, len(jobs.sizes)), np.inf)
    for chosen in range(1, everything + 1):
        places = list(_members(chosen))
        fits = jobs.tokens[places].sum() <= jobs.sizes * jobs.token_capacity
        alone[chosen] = np.where(fits, jobs.seconds[places].sum(axis=0), np.inf)
    together = np.full((everything + 1, devices + 1), np.inf)
    together[0] = 0
    total = np.full(everything + 1, np.inf)
    total[0] = 0
    for chosen in range(1, everything + 1):
        parts = _parts_with_first(chosen)
        for place, size in enumerate(jobs.sizes):
            ways = np.maximum(alone[parts, place, np.newaxis], together[chosen & ~parts, : devices + 1 - size])
            together[chosen, size:] = np.minimum(together[chosen, size:], ways.min(axis=0))
        total[chosen] = np.min(together[parts, devices] + fixed_seconds + total[chosen & ~parts])
    found, left = list[Groups](), everything
    while left:
        parts = _parts_with_first(left)
        part = int(parts[np.argmin(together[parts, devices] + fixed_seconds + total[left & ~parts])])
        found.append(tuple(_traced(jobs, alone, together, part)))
        left &= ~part
    return found


def grouped(jobs: Jobs, bucket_count: int) -> Groups:
    """Groups for one micro-batch that all devices together can hold; better than, or as good as, any `even` one."""
    found = [groups for size in jobs.sizes if (groups := even(jobs, int(size))) is not None]
    best = _climbed(jobs, min(found, key=lambda groups: makespan(jobs, groups)))
    low, high = least_seconds(jobs), makespan(jobs, best)
    sizes_for = _sizes_by_program(jobs, bucket_count)
    for _ in range(BISECTIONS):
        if high - low <= _CLOSE * high:
            break
        middle = (low + high) / 2
        sizes = sizes_for(middle)
        low, high = (middle, high) if sizes is None else (low, middle)
        start = None if sizes is None else _spread(jobs, sizes)
        if start is not None:
            best = min(best, _climbed(jobs, start), key=lambda groups: makespan(jobs, groups))
    return best


def even(jobs: Jobs, size: int) -> Groups | None:
    """All devices in groups of one size; None where sequences do not find room in them, longest first."""
    return _spread(jobs, [size] * (jobs.device_count // size))


def _members(chosen: int) -> Iterator[int]:
    return (place for place in range(chosen.bit_length()) if chosen >> place & 1)


def _parts_with_first(chosen: int) -> NDArray[np.int64]:
    """All subsets that have the first member."""
    first = chosen & -chosen
    rest = chosen ^ first
    parts, part = [chosen], rest
    while part:
        part = (part - 1) & rest
        parts.append(part | first)
    return np.asarray(parts)


def _traced(jobs: Jobs, alone: NDArray[np.float64], together: NDArray[np.float64], chosen: int) -> Iterator[Group]:
    """Groups of all devices that reach the least makespan of the chosen ones."""
    devices = jobs.device_count
    while chosen:
        parts, wanted = _parts_with_first(chosen), together[chosen, devices]
        place, part = next(
            (place, int(part))
            for place, size in enumerate(jobs.sizes)
            if size <= devices
            for part in parts
            if max(alone[part, place], together[chosen & ~part, devices - size]) == wanted
        )
        yield Group(int(jobs.sizes[place]), tuple(_members(part)))
        chosen, devices = chosen & ~part, devices - int(jobs.sizes[place])


@dataclass(eq=False)
class _Spread:
    """Groups that are being filled: by group its column of `seconds`, its load, its free tokens and its sequences."""

    jobs: Jobs
    columns: NDArray[np.int64]
    loads: NDArray[np.float64]
    free: NDArray[np.int64]
    sequences: list[list[int]]

    def ends(self, sequence: int) -> NDArray[np.float64]:
        """When each group would be done with this one too."""
        late: NDArray[np.float64] = np.where(
            self.free >= self.jobs.tokens[sequence], self.loads + self.jobs.seconds[sequence, self.columns], np.inf
        )
        return late

    def put(self, sequence: int, group: int, sign: int = 1) -> None:
        """Give a group a sequence, or take it away."""
        self.loads[group] += sign * self.jobs.seconds[sequence, self.columns[group]]
        self.free[group] -= sign * self.jobs.tokens[sequence]
        (self.sequences[group].append if sign > 0 else self.sequences[group].remove)(sequence)


def _spread(jobs: Jobs, sizes: Sequence[int]) -> Groups | None:
    """Sequences, longest first, each where it ends earliest, and then moved; None where one finds no room."""
    columns = np.searchsorted(jobs.sizes, sizes)
    free = jobs.sizes[columns] * jobs.token_capacity
    state = _Spread(jobs, columns, np.zeros(len(sizes)), free, [[] for _ in sizes])
    for sequence in np.argsort(-jobs.tokens, kind="stable"):
        ends = state.ends(sequence)
        group = int(np.argmin(ends))
        if ends[group] == np.inf:
            return None
        state.put(int(sequence), group)
    while _moved(state):
        pass
    return tuple(
        Group(int(size), tuple(sorted(sequences)))
        for size, sequences in zip(sizes, state.sequences, strict=True)
        if sequences
    )


def _moved(state: _Spread) -> bool:
    """Move a sequence from the slowest group to where both end earliest, if that is earlier."""
    slowest = int(np.argmax(state.loads))
    best, move = state.loads[slowest] * _BETTER, None
    for sequence in state.sequences[slowest]:
        ends = state.ends(sequence)
        ends[slowest] = np.inf
        group = int(np.argmin(ends))
        left = state.loads[slowest] - state.jobs.seconds[sequence, state.columns[slowest]]
        if max(ends[group], left) < best:
            best, move = max(ends[group], left), (sequence, group)
    if move is None:
        return False
    state.put(move[0], slowest, -1)
    state.put(*move)
    return True


def _climbed(jobs: Jobs, groups: Groups) -> Groups:
    """Groups split in two and joined to two, while that helps."""
    best = groups
    while True:
        sizes = [group.size for group in best]
        sizes += _idle(jobs.device_count - sum(sizes))
        tried = (found for near in _neighbours(sizes, jobs.device_count) if (found := _spread(jobs, near)) is not None)
        found = min(tried, key=lambda groups: makespan(jobs, groups), default=best)
        if makespan(jobs, found) >= makespan(jobs, best) * _BETTER:
            return best
        best = found


def _idle(devices: int) -> list[int]:
    """Groups of devices that have nothing to do, as large as can be."""
    return [1 << place for place in range(devices.bit_length()) if devices >> place & 1]


def _neighbours(sizes: Sequence[int], most: int) -> Iterator[list[int]]:
    """These sizes, and each kind of group once split in two, and once joined to two."""
    yield list(sizes)
    for size in sorted({*sizes}):
        rest = list(sizes)
        rest.remove(size)
        if size > 1:
            yield [*rest, size // 2, size // 2]
        if size in rest and size < most:
            rest.remove(size)
            yield [*rest, 2 * size]


def _sizes_by_program(jobs: Jobs, bucket_count: int) -> Callable[[float], list[int] | None]:
    """From a makespan to sizes of groups that could be enough, were sequences as long as the longest of their bucket.

    Sequences of a bucket are shared out among all groups of a size together, and parts of one may be, so that what is
    enough in sum may not be enough in each group. Only numbers of groups are integers, which keeps the program small.
    """
    # Of the extra `verify`; its stubs lack functions that are there.
    cvxpy: Any = import_module("cvxpy")
    order = np.argsort(jobs.tokens, kind="stable")
    lengths = jobs.tokens[order].tolist()
    ends = Cuts(padding_costs(lengths), "sum").cut(min(bucket_count, len(lengths))).ends
    counts, longest = np.diff([0, *ends]), order[np.asarray(ends) - 1]
    seconds, capacity = jobs.seconds[longest], jobs.sizes * jobs.token_capacity
    shares = cvxpy.Variable(seconds.shape)
    groups = cvxpy.Variable(len(jobs.sizes), integer=True)
    end, most = cvxpy.Parameter(nonneg=True), cvxpy.Parameter(seconds.shape, nonneg=True)
    finite = np.where(np.isfinite(seconds), seconds, 0)
    program = cvxpy.Problem(
        cvxpy.Minimize(jobs.sizes @ groups),
        [
            shares >= 0,
            shares <= most,
            cvxpy.sum(shares, axis=1) == counts,
            groups >= 0,
            cvxpy.sum(cvxpy.multiply(finite, shares), axis=0) <= end * groups,
            jobs.tokens[longest] @ shares <= cvxpy.multiply(capacity, groups),
            jobs.sizes @ groups <= jobs.device_count,
        ],
    )

    def sizes_for(seconds_allowed: float) -> list[int] | None:
        end.value = seconds_allowed
        most.value = np.where(seconds <= seconds_allowed, counts[:, np.newaxis], 0)
        program.solve(solver=cvxpy.HIGHS, mip_max_nodes=MOST_NODES)
        if groups.value is None:
            return None
        found: NDArray[Any] = np.rint(groups.value).astype(int)
        sizes = np.repeat(jobs.sizes, found).tolist()
        return [*sizes, *_idle(jobs.device_count - sum(sizes))]

    return sizes_for
