"""What does the hook do to the gradient, what does it cost, and is it worth it on this link? Readings every few steps.

    watch = telemetry([JsonLines(Path("hook.jsonl"))])
    state = ErrorFeedbackState(model, density=0.01, telemetry=watch)
    …
    watch.close()  # the last step; sinks are closed

A reading is of one rank, under FSDP2 of its shards and what it exchanges with the same shards of other replicas. It
costs one pass over the residuals; what is due at every step costs a few entries a bucket.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

import torch
from torch import Tensor

from sparsync.experiments.hooks.side import placed
from sparsync.experiments.hooks.watching import BEYOND, PHASES, Content, Passage, Watch, WatchedStep

DEFAULT_INTERVAL = 10
SAMPLE_STRIDE = 1009
"""Of every parameter each so-manieth entry is followed; a prime, so that not all of them lie in one column."""


@dataclass(frozen=True)
class Reading:
    """One step on one rank; seconds are means over the steps since the last reading.

    Args:
        step: of the run, from 0.
        contraction: δ with ‖u − C(u)‖² = (1 − δ)‖u‖², u the corrected gradients of all sparse parameters and C(u) what
            every receiver reads; None where they are zero, nothing is sparse, or the variant remembers no u − C(u), as
            "econtrol".
        selected_count: entries that were sent of sparse parameters.
        target_count: k of all selections.
        residual_norm: of what is pending, over all sparse parameters that were exchanged.
        mean_age_steps: since an entry was last sent, or first seen; the mean over every `SAMPLE_STRIDE`-th entry.
        oldest_age_steps: the largest of these.
        sent_bytes: what this rank handed to the collectives of the hook; those of FSDP2 itself are not among them.
        gradient_bytes: of all gradients that were exchanged.
        phase_seconds: by phase of the hook, of all exchanges.
        break_even_mbit_per_second: on a slower link sending sparsely takes less time than all-reducing everything;
            see `break_even_mbit_per_second`. None if on no link.
    """

    step: int
    contraction: float | None
    selected_count: int
    target_count: int
    residual_norm: float
    mean_age_steps: float
    oldest_age_steps: int
    sent_bytes: int
    gradient_bytes: int
    phase_seconds: dict[str, float] = field(default_factory=dict)
    break_even_mbit_per_second: float | None = None


Sink = Callable[[Reading], None]
"""Takes readings as they come, and may have a `close`; see `sparsync.experiments.hooks.sinks`."""


def telemetry(sinks: Sequence[Sink], *, every: int = DEFAULT_INTERVAL) -> Watch:
    """A watch that hands a reading of every so-manieth step to all sinks, and closes them as it is closed.

    A sink that fails is left out from then on, with a warning: training goes on without it.

    Raises:
        ValueError: `every` below 1.
    """
    if every < 1:
        raise ValueError(f"every must be at least 1, got {every}")
    readings = _Readings(sinks, every)
    return Watch(readings.take, readings.close)


def break_even_mbit_per_second(contents: Sequence[Content], working_seconds: float) -> float | None:
    """B with (D − S)/B = working seconds; None where S ≥ D. Ours.

    D = 2(P − 1)/P · gradients is what a ring all-reduce sends from each rank, S = (P − 1) · packed + 2(P − 1)/P ·
    reduced what the hook does. Latency is neglected, and no work counts as hidden behind backward.

    Args:
        contents: of all exchanges of a step.
        working_seconds: selection and all that plain DDP, or HSDP, does without.
    """
    ranks = max((content.rank_count for content in contents), default=1)
    ring = 2 * (ranks - 1) / ranks
    dense = ring * sum(content.gradient_bytes for content in contents)
    sparse = sum((ranks - 1) * content.packed_bytes + ring * content.reduced_bytes for content in contents)
    return 8e-6 * (dense - sparse) / working_seconds if dense > sparse and working_seconds > 0 else None


class _Readings:
    def __init__(self, sinks: Sequence[Sink], every: int) -> None:
        self._sinks, self._every = list(sinks), every
        self._ages = Ages()
        self._seconds = dict.fromkeys(PHASES, 0.0)
        self._step_count = 0

    def take(self, watched: WatchedStep) -> None:
        for passage in watched.passages:
            self._ages.note(passage, watched.step)
            for phase, seconds in passage.seconds().items():
                self._seconds[phase] += seconds
        self._step_count += 1
        if watched.step % self._every == 0:
            reading = self._reading(watched)
            self._seconds, self._step_count = dict.fromkeys(PHASES, 0.0), 0
            for sink in list(self._sinks):
                self._hand_to(sink, reading)

    def close(self) -> None:
        for sink in self._sinks:
            if (close := getattr(sink, "close", None)) is not None:
                close()

    def _hand_to(self, sink: Sink, reading: Reading) -> None:
        try:
            sink(reading)
        except Exception as error:  # a full disk, say: raised here it would end this rank within backward
            self._sinks.remove(sink)
            warnings.warn(f"telemetry: {_title(sink)} gets no more readings: {error!r}", stacklevel=2)

    def _reading(self, watched: WatchedStep) -> Reading:
        contents = [passage.content for passage in watched.passages]
        seconds = {phase: total / self._step_count for phase, total in self._seconds.items()}
        selected_count, corrected_square, kept_square = totals(watched.passages)
        mean_age, oldest_age = self._ages.summary(watched.step)
        is_known = corrected_square > 0 and all(content.feedback.pends_remainder for content in contents)
        working_seconds = seconds["select"] + sum(seconds[phase] for phase in BEYOND)
        return Reading(
            step=watched.step,
            contraction=1 - kept_square / corrected_square if is_known else None,
            selected_count=selected_count,
            target_count=sum(sum(content.target_counts) for content in contents),
            residual_norm=kept_square**0.5,
            mean_age_steps=mean_age,
            oldest_age_steps=oldest_age,
            sent_bytes=sum(content.packed_bytes + content.reduced_bytes for content in contents),
            gradient_bytes=sum(content.gradient_bytes for content in contents),
            phase_seconds=seconds,
            break_even_mbit_per_second=break_even_mbit_per_second(contents, working_seconds),
        )


def _title(sink: Sink) -> str:
    return getattr(sink, "__name__", type(sink).__name__)


def totals(passages: Sequence[Passage]) -> tuple[int, float, float]:
    """Entries that were selected; ‖C(u) + e‖², e being what is pending; ‖e‖². Waits for the device, once."""
    numbers = []
    for passage in passages:
        if passage.chosen is None:
            continue
        values, indices, _ = passage.chosen
        is_sent, residuals = _is_sent(passage), passage.content.residuals
        sent = torch.where(is_sent, values, 0).double()
        kept_square = torch.stack(torch._foreach_norm(residuals, 2, dtype=torch.float64)).square().sum()
        corrected_square = sent.square().sum() + kept_square
        if passage.content.is_rounded:
            # Where values are exact, a sent entry leaves zero behind.
            left = torch.cat(residuals)[_among_sparse(passage.content, indices)].double()
            corrected_square += 2 * (sent * left).sum()
        numbers.append(torch.stack([is_sent.sum().double(), corrected_square, kept_square]))
    if not numbers:
        return 0, 0.0, 0.0
    count, corrected_square, kept_square = torch.stack(numbers).sum(0).tolist()
    return int(count), corrected_square, kept_square


class Ages:
    """For how long has an entry not been sent? Of every `SAMPLE_STRIDE`-th entry of each parameter, by its name.

    Names stay when DDP forms its buckets anew, or densities change.
    """

    def __init__(self) -> None:
        self._last: dict[str, Tensor] = {}
        self._known: dict[tuple[int, ...], tuple[Content, _Sample]] = {}

    def note(self, passage: Passage, step: int) -> None:
        """What was sent in this step is new again; never waits for the device."""
        if passage.chosen is None:
            return
        _, indices, _ = passage.chosen
        sample, piece = self._sample(passage, step), _piece(passage.content, indices)
        local = indices - passage.content.starts[piece]
        is_sampled = (local % SAMPLE_STRIDE == 0) & _is_sent(passage)
        slot = torch.where(is_sampled, sample.first[piece] + local // SAMPLE_STRIDE, len(sample.last) - 1)
        sample.last.index_fill_(0, slot.long(), step)

    def summary(self, step: int) -> tuple[float, int]:
        """Mean and largest age in steps."""
        if not self._last:
            return 0.0, 0
        age = step - torch.cat(list(self._last.values())).double()
        return float(age.mean()), int(age.max())

    def _sample(self, passage: Passage, step: int) -> _Sample:
        known = self._known.get(passage.buckets)
        if known is not None and known[0] is passage.content:
            return known[1]
        content, device = passage.content, passage.content.residuals[0].device
        lengths = [-(-residual.numel() // SAMPLE_STRIDE) for residual in content.residuals]
        # The last is no entry's: what is written there is not looked at.
        last = torch.full((sum(lengths) + 1,), step, dtype=torch.int32, device=device)
        for name, part in zip(content.names, last[:-1].split(lengths), strict=True):
            if name in self._last:
                part.copy_(self._last[name])
            self._last[name] = part
        sample = _Sample(placed([0, *accumulate(lengths[:-1])], device=device), last)
        self._known[passage.buckets] = (content, sample)
        return sample


@dataclass(frozen=True, eq=False)
class _Sample:
    """Where parameters begin in the sample, and the step in which each sampled entry was sent."""

    first: Tensor
    last: Tensor


def _is_sent(passage: Passage) -> Tensor:
    """Which places of what was chosen hold an entry that others got."""
    assert passage.chosen is not None
    _, indices, counts = passage.chosen
    selection, place = passage.content.slots
    is_filled = place < counts[selection]
    if not passage.dropped:
        return is_filled
    names, device = passage.content.names, indices.device
    is_dropped = placed([name in passage.dropped for name in names], device=device).bool()
    return is_filled & ~is_dropped[_piece(passage.content, indices)]


def _piece(content: Content, indices: Tensor) -> Tensor:
    """In which sparse parameter each index through the exchange lies; of a place without an entry, any."""
    return torch.bucketize(indices, content.starts, right=True).sub_(1).clamp_(0)


def _among_sparse(content: Content, indices: Tensor) -> Tensor:
    """Indices through the exchange as indices through the residuals alone; of a place without an entry, any."""
    lengths, piece = [residual.numel() for residual in content.residuals], _piece(content, indices)
    starts = placed([0, *accumulate(lengths)], device=indices.device)
    return (indices - content.starts[piece] + starts[piece]).clamp_(0, sum(lengths) - 1)
