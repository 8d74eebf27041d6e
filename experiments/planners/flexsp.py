"""Which devices work together on which sequences of a batch, where long ones need many and short ones few?

Groups of 1, 2, 4, … N of the N devices share each of their sequences out among them. A sequence of s tokens takes
(as² + bs)/g + vs/(g·B_g) seconds on g devices: v bytes a token are exchanged at B_g bytes a second, unless g = 1. A
group works on one sequence after the other and holds C tokens a device; a micro-batch is done with its slowest group,
and takes f seconds more. The objective is the sum over micro-batches, each of any sequences.

Up to `exact_count` sequences the mode is "exact": the plan is the best of all, found over subsets. Beyond it is
"bucketed": sequences in order of length are cut into micro-batches, as few as can be unless more are quicker, of least
largest token count; each is grouped by an integer program on `bucket_count` buckets of lengths, and timed with true
lengths. That plan need not be the best, nor need more tokens a device make it quicker. Guaranteed are that it is no
slower than any `homogeneous` one, and that no plan at all is quicker than the `bound_seconds` of its choice; `gap` is
how far above it is, relative to itself. What it exhausts is then judged by that bound.

Source: the setting is that of Wang et al. 2025 (FlexSP), which was not read; the cost model and the constants of
`gpt7b` are those of its released solver, as are micro-batches and buckets. The exact search, the bound and the rest are
ours.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from statistics import NormalDist

import numpy as np

from sparsync.experiments.engine.counts import require_count
from sparsync.experiments.planners.parts.cuts import Cuts, sum_costs
from sparsync.experiments.planners.parts.sequence_packing import (
    Group,
    Groups,
    Jobs,
    even,
    fewest_seconds,
    grouped,
    least_seconds,
    makespan,
)
from sparsync.experiments.planners.plan import InfeasibleError, Plan

_BETTER = 1 - 1e-9
"""By what factor a change must help: more than roundings do."""


@dataclass(frozen=True)
class SequenceBatch:
    """What is asked.

    Args:
        lengths: tokens of each sequence.
        device_count: N, a power of two.
        token_capacity: C, tokens that a device can hold.
        square_seconds: a, of a squared token.
        token_seconds: b, of a token.
        fixed_seconds: f, of a micro-batch.
        token_bytes: v, exchanged for a token.
        bandwidths: B_2, B_4, …, B_N, bytes per second.
        exact_count: so many sequences are planned exactly; 3^K N log N steps for K of them.
        bucket_count: of lengths, beyond.

    Raises:
        ValueError: a number is out of its range, or there is not a bandwidth for each size of group.
    """

    lengths: tuple[int, ...]
    device_count: int
    token_capacity: int
    square_seconds: float
    token_seconds: float
    fixed_seconds: float
    token_bytes: float
    bandwidths: tuple[float, ...]
    exact_count: int = 10
    bucket_count: int = 16

    def __post_init__(self) -> None:
        for name in ("device_count", "token_capacity", "bucket_count"):
            require_count(name, getattr(self, name), least=1)
        require_count("exact_count", self.exact_count, least=0)
        for length in self.lengths:
            require_count("length", length, least=1)
        if not self.lengths or self.device_count & (self.device_count - 1):
            raise ValueError(f"there must be sequences, and 2^m devices, got {self.lengths} and {self.device_count}")
        for name in ("square_seconds", "token_seconds", "fixed_seconds", "token_bytes"):
            if not 0 <= getattr(self, name) < math.inf:
                raise ValueError(f"{name} must be finite and at least 0, got {getattr(self, name)}")
        if len(self.bandwidths) != len(self.sizes) - 1 or not all(0 < rate < math.inf for rate in self.bandwidths):
            raise ValueError(f"groups of {self.sizes[1:]} devices need positive bandwidths, got {self.bandwidths}")

    @property
    def sizes(self) -> tuple[int, ...]:
        """Of groups."""
        return tuple(1 << place for place in range(self.device_count.bit_length()))

    def exchange_seconds(self, length: int, size: int) -> float:
        """What of a sequence's time on a group is communication."""
        return 0.0 if size == 1 else self.token_bytes * length / (size * self.bandwidths[size.bit_length() - 2])


def plan(question: SequenceBatch) -> Plan:
    """Micro-batches, groups and who works on what, with the fewest seconds that are found.

    Raises:
        InfeasibleError: all devices together cannot hold some sequence.
    """
    longest, room = max(question.lengths), question.token_capacity * question.device_count
    if longest > room:
        raise InfeasibleError(
            f"token_capacity: {question.device_count} devices hold {room} tokens, and a sequence has {longest}; it "
            f"needs {-(-longest // question.device_count)} a device instead of {question.token_capacity}"
        )
    is_exact = len(question.lengths) <= question.exact_count
    rivals = {size: batches for size in question.sizes if (batches := homogeneous(question, size)) is not None}
    batches = (
        _exact(question) if is_exact else _bucketed(question, min(rivals.values(), key=partial(seconds_of, question)))
    )
    objective = seconds_of(question, batches)
    bound = objective if is_exact else bound_seconds(question)
    return Plan(
        planner="flexsp",
        choice={
            "mode": "exact" if is_exact else "bucketed",
            "micro_batches": [
                [{"device_count": group.size, "sequences": list(group.sequences)} for group in groups]
                for groups in batches
            ],
            "bound_seconds": bound,
            "gap": 1 - bound / objective if objective else 0.0,
        },
        objective=objective,
        parts=_parts(question, batches),
        binding=("token_capacity",) if _is_full(question, objective) else (),
        remarks=tuple(_remarks(question, rivals, objective, bound)),
    )


def seconds_of(question: SequenceBatch, batches: list[Groups]) -> float:
    """Of all micro-batches, with true lengths."""
    jobs = _jobs(question)
    return math.fsum(question.fixed_seconds + makespan(jobs, groups) for groups in batches)


def bound_seconds(question: SequenceBatch) -> float:
    """No plan takes less: sequences need so many micro-batches, and these at least `least_seconds` in all."""
    jobs = _jobs(question)
    return _least_batches(jobs, question.device_count) * question.fixed_seconds + least_seconds(jobs)


def homogeneous(question: SequenceBatch, size: int) -> list[Groups] | None:
    """All groups of one size, in the fewest micro-batches in which sequences find room; None where one never does."""
    jobs = _jobs(question)
    if max(question.lengths) > size * question.token_capacity:
        return None
    for count in range(_least_batches(jobs, size), len(jobs.tokens) + 1):
        found = list[Groups]()
        for places in _cut(jobs, count):
            groups = even(jobs.chosen(places), size)
            if groups is None:
                break
            found.append(_renamed(groups, places))
        if len(found) == count:
            return found
    raise AssertionError("micro-batches of one sequence have room for it")


def gpt7b(numbers: np.random.Generator, *, count: int = 512, context: int = 192_000) -> SequenceBatch:
    """A batch for GPT-7B on 64 devices, with the constants that FlexSP's released solver has for it.

    That is the flexsp_solver of Hetu-Galvatron's branch flexsp. It has milliseconds of computing, MiB of activations,
    bandwidths over two adapters a node, 30 GiB of memory a device and lengths in multiples of 128, and leaves sequences
    out that exceed the context. Lengths are drawn log-normal, with a Pareto tail for the longest
    hundredth, through three quantiles of documents of Wikipedia: 347, 10919 and 37353 tokens at 1/2, 0.99 and 0.999.

    Args:
        numbers: lengths are drawn from it.
        count: of sequences.
        context: tokens that a sequence may have.
    """
    lengths = list[int]()
    while len(lengths) < count:
        padded = 128 * math.ceil(wikipedia_length(float(numbers.random())) / 128)
        if padded <= context - 128:
            lengths.append(padded)
    mebi, layers, width, devices = 2**20, 32, 4096, 64
    activation, states = 4.480441895, 7.1174468994140625 * 16 * 1024 / devices
    bandwidths = (119.54, 104.07, 96.5, 10.33, 5.94, 4.87)
    return SequenceBatch(
        lengths=tuple(lengths),
        device_count=devices,
        token_capacity=int((30 * 1024 - states) / activation),
        square_seconds=5.128e-9,
        token_seconds=183.9576e-6,
        fixed_seconds=0.6293563,
        token_bytes=16 * layers * width,
        bandwidths=tuple(1000 * mebi * rate for rate in bandwidths),
    )


def wikipedia_length(share: float) -> float:
    """The length that so large a share of documents does not exceed; see `gpt7b`."""
    median, rare, rarest = 347.0, 10919.0, 37353.0
    if share < 0.99:
        normal = NormalDist()
        return median * math.exp(normal.inv_cdf(max(share, 1e-9)) / normal.inv_cdf(0.99) * math.log(rare / median))
    return float(rare * (100 * (1 - share)) ** (-math.log(rarest / rare) / math.log(10)))


def _jobs(question: SequenceBatch) -> Jobs:
    """In the order of the question."""
    lengths, sizes = np.asarray(question.lengths), np.asarray(question.sizes)
    column = lengths[:, np.newaxis].astype(float)
    computing = (question.square_seconds * column**2 + question.token_seconds * column) / sizes
    rates = np.asarray([math.inf, *question.bandwidths])
    seconds = computing + question.token_bytes * column / (sizes * rates)
    fits = lengths[:, np.newaxis] <= sizes * question.token_capacity
    return Jobs(lengths, np.where(fits, seconds, np.inf), sizes, question.token_capacity)


def _least_batches(jobs: Jobs, size: int) -> int:
    """Micro-batches with groups of one size: for all tokens, and as no two sequences over half of a group share it."""
    room, count = size * jobs.token_capacity, jobs.device_count // size
    large = int((2 * jobs.tokens > room).sum())
    return max(-(-int(jobs.tokens.sum()) // (room * count)), -(-large // count))


def _exact(question: SequenceBatch) -> list[Groups]:
    """The best plan of all."""
    order = sorted(range(len(question.lengths)), key=question.lengths.__getitem__)
    return [_renamed(groups, order) for groups in fewest_seconds(_jobs(question).chosen(order), question.fixed_seconds)]


def _bucketed(question: SequenceBatch, best: list[Groups]) -> list[Groups]:
    """The best plan that is found, no worse than the given one."""
    jobs, last = _jobs(question), math.inf
    work = least_seconds(jobs)
    for count in range(_least_batches(jobs, question.device_count), len(jobs.tokens) + 1):
        if count * question.fixed_seconds + work >= seconds_of(question, best):
            break
        parts = _cut(jobs, count)
        if max(jobs.tokens[places].sum() for places in parts) > question.token_capacity * question.device_count:
            continue
        tried = [_renamed(groups, places) for places in parts for groups in _planned(question, jobs.chosen(places))]
        best = min(best, tried, key=partial(seconds_of, question))
        if seconds_of(question, tried) >= last * _BETTER:
            break
        last = seconds_of(question, tried)
    return best


def _planned(question: SequenceBatch, jobs: Jobs) -> list[Groups]:
    """Of a micro-batch the groups; of a small one the best plan, which may be several."""
    if len(jobs.tokens) <= question.exact_count:
        return fewest_seconds(jobs, question.fixed_seconds)
    return [grouped(jobs, question.bucket_count)]


def _cut(jobs: Jobs, count: int) -> list[list[int]]:
    """Micro-batches: places of sequences in order of length, cut so that the most tokens of one are fewest."""
    order = np.argsort(jobs.tokens, kind="stable")
    ends = _cuts(tuple(jobs.tokens[order].tolist())).cut(count).ends
    return [part.tolist() for part in np.split(order, ends[:-1])]


@lru_cache(maxsize=2)
def _cuts(lengths: tuple[int, ...]) -> Cuts:
    """Every size of group asks for the same cuts."""
    return Cuts(sum_costs(lengths), "most")


def _renamed(groups: Groups, places: list[int]) -> Groups:
    """From places among some sequences to places among all."""
    return tuple(Group(group.size, tuple(sorted(places[own] for own in group.sequences))) for group in groups)


def _parts(question: SequenceBatch, batches: list[Groups]) -> dict[str, float]:
    """Of the slowest group of each micro-batch."""
    jobs = _jobs(question)
    slowest = [max(groups, key=lambda group: makespan(jobs, (group,))) for groups in batches]
    exchange = math.fsum(
        question.exchange_seconds(question.lengths[place], group.size) for group in slowest for place in group.sequences
    )
    whole = math.fsum(makespan(jobs, (group,)) for group in slowest)
    return {"compute": whole - exchange, "exchange": exchange, "fixed": question.fixed_seconds * len(batches)}


def _roomy(question: SequenceBatch) -> SequenceBatch:
    """With room for all tokens on each device."""
    return replace(question, token_capacity=sum(question.lengths))


def _is_full(question: SequenceBatch, objective: float) -> bool:
    """Whether more tokens a device would help; of many sequences, whether they would lower the bound."""
    roomy = _roomy(question)
    if len(question.lengths) <= question.exact_count:
        return seconds_of(roomy, _exact(roomy)) < objective * _BETTER
    return bound_seconds(roomy) < bound_seconds(question) * _BETTER


def _remarks(
    question: SequenceBatch, rivals: Mapping[int, list[Groups]], objective: float, bound: float
) -> Iterator[str]:
    if bound < objective:
        yield f"no plan takes less than {bound:.6g} s, so that this one is at most {1 - bound / objective:.2%} too slow"
    seconds = {size: seconds_of(question, batches) for size, batches in rivals.items()}
    best = min(seconds, key=lambda size: seconds[size])
    for size in sorted({best, question.device_count}):
        yield f"with all groups of {size} devices: {seconds[size]:.6g} s"
    roomy = bound_seconds(_roomy(question))
    yield f"with room for all tokens on every device no plan would take less than {roomy:.6g} s"
