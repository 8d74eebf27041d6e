"""One exchange of a step: from this rank's gradients, in the buckets, to their means over all ranks, in the same place.

Finite? → select → pack → all-gather → add in rank order → deliver. Nothing waits between: the future that `begin`
returns ends it. A dense parameter of few entries travels in the packed buffer; a longer one is all-reduced.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

import torch
import torch.distributed as dist
from torch import Tensor

from sparsync.experiments.feedbacks.feedback import Feedback, Memory
from sparsync.experiments.hooks.coding import Coding
from sparsync.experiments.hooks.packing import NON_FINITE, ZERO, ExchangeError, Layout
from sparsync.experiments.hooks.residuals import copied
from sparsync.experiments.hooks.selection import Chooser, Unit, capacity_of
from sparsync.experiments.hooks.treatments import Treatment
from sparsync.experiments.hooks.watching import Content, Passage, Phase
from sparsync.experiments.training.collectives import begin_all_gather, begin_all_reduce
from sparsync.kernels.codec import Values
from sparsync.kernels.selection import target_count

DENSE_IN_BUFFER = 4096
"""A dense parameter with more entries is all-reduced on its own: P ranks that gather it would receive P copies."""

Refuse = Callable[[int, Sequence[tuple[str, int]]], None]
"""What is done where gradients are not finite, given the step and names of parameters with ranks: it raises, or not."""


@dataclass(frozen=True, eq=False)
class Piece:
    """One parameter's gradient in an exchange.

    Args:
        name: of the parameter.
        gradient: [numel], in the order of memory, a part of a bucket; the mean is written here.
        treatment: what is sent of it.
        memory: of the variant, vectors [numel]; None where nothing can stay behind.
    """

    name: str
    gradient: Tensor
    treatment: Treatment
    memory: Memory | None

    @property
    def is_packed(self) -> bool:
        """True iff its entries travel in the packed buffer."""
        if self.treatment == "dense":
            return self.gradient.numel() <= DENSE_IN_BUFFER
        return self.treatment != "excluded"


@dataclass(frozen=True, eq=False)
class Group:
    """The ranks that exchange.

    Args:
        process_group: None is the default one.
        rank: of this process in it.
        size: P.
    """

    process_group: dist.ProcessGroup | None
    rank: int
    size: int


@dataclass(frozen=True)
class Rule:
    """How entries are selected, sent and remembered, the same on every rank.

    Args:
        selector: a key of `SELECTORS`.
        feedback: the variant of all memories.
        values: a key of `VALUE_CODES`.
        seed: names the draws of a random selector.
        is_joint: one selection from all pieces of a density, instead of one from each.
    """

    selector: str
    feedback: Feedback
    values: Values
    seed: int
    is_joint: bool


@dataclass(frozen=True)
class Scaling:
    """What gradients are multiplied by.

    Args:
        clip: factor of all gradients before the selection, at most 1.
        loss_scale: gradients come multiplied by it; residuals are kept, and entries sent, without.
    """

    clip: float = 1.0
    loss_scale: float = 1.0


class Exchange:
    """What is sent of some pieces at every step, and what becomes of what comes back.

    Args:
        pieces: of one device and dtype; in the same order on every rank; none of them excluded.
        buckets: the buckets that they are parts of.
        group: the ranks.
        rule: by which they send.
    """

    def __init__(self, pieces: Sequence[Piece], buckets: Sequence[Tensor], *, group: Group, rule: Rule) -> None:
        self.pieces, self._group, self._rule = pieces, group, rule
        self._before_zeros: dict[int, Memory] = {}
        is_covered = sum(p.gradient.numel() for p in pieces) == sum(bucket.numel() for bucket in buckets)
        self._checked = list(buckets) if is_covered else [piece.gradient for piece in pieces]
        is_whole = is_covered and len(buckets) == 1 and all(piece.treatment == "dense" for piece in pieces)
        # A bucket of dense parameters is all-reduced in one piece, as DDP does it.
        self._packed = [] if is_whole else [piece for piece in pieces if piece.is_packed]
        self._reduced = list(buckets) if is_whole else [p.gradient for p in pieces if not p.is_packed]
        self._dtype = torch.promote_types(pieces[0].gradient.dtype, torch.float32)
        self._places = [0, *accumulate(piece.gradient.numel() for piece in self._packed)]
        # Where the packed pieces are one bucket, in its order, means are formed in place.
        is_bucket = is_covered and len(buckets) == 1 and len(self._packed) == len(pieces)
        self._in_place = buckets[0] if is_bucket and buckets[0].dtype == self._dtype else None
        self._units = self._formed_units()
        self._chooser = Chooser(rule.selector, self._units, feedback=rule.feedback, seed=rule.seed, rank=group.rank)
        self._dense = [place for place, piece in enumerate(self._packed) if piece.treatment == "dense"]
        spans = [range(self._places[place], self._places[place + 1]) for place in self._dense]
        device = pieces[0].gradient.device
        self._dense_indices = torch.tensor([i for span in spans for i in span], dtype=torch.int32, device=device)
        self._dense_counts = torch.tensor([len(span) for span in spans], dtype=torch.int32, device=device)
        capacities = [unit.capacity for unit in self._units]
        self._coding = None
        if self._units and rule.values != "exact":
            self._coding = Coding(rule.values, sum(capacities), self._places[-1], self._dtype)
            capacities = []
        room = 0 if self._coding is None else self._coding.room_bytes
        self._layout = Layout(len(pieces), (*capacities, *map(len, spans)), self._dtype, room)
        self.passage: Passage | None = None
        """Where the next step's time stamps go, if anywhere."""

    @property
    def sent_bytes(self) -> int:
        """What this rank hands to collectives in a step."""
        return self._layout.words * torch.int32.itemsize + sum(part.nbytes for part in self._reduced)

    @cached_property
    def content(self) -> Content:
        """What is sent, for who watches."""
        sparse = [(p, place) for p, place in zip(self._packed, self._places, strict=False) if p.memory is not None]
        return Content(
            names=[piece.name for piece, _ in sparse],
            places=[place for _, place in sparse],
            memories=[piece.memory for piece, _ in sparse if piece.memory is not None],
            target_counts=[unit.k for unit in self._units],
            capacities=[unit.capacity for unit in self._units],
            gradient_bytes=sum(piece.gradient.nbytes for piece in self.pieces),
            packed_bytes=self._layout.words * torch.int32.itemsize,
            reduced_bytes=sum(part.nbytes for part in self._reduced),
            rank_count=self._group.size,
        )

    def _ends(self, phase: Phase) -> None:
        if self.passage is not None:
            self.passage.end(phase)

    def begin(self, step: int, scaling: Scaling, refuse: Refuse) -> torch.futures.Future[None]:
        """Select and send; the future ends once every gradient is the mean.

        Args:
            step: of the run, from 0.
            scaling: of the gradients.
            refuse: called on every rank alike.
        """
        buffer = self._pack(step, scaling)
        self._ends("pack")
        gathered, future = begin_all_gather(buffer, self._group.process_group)
        futures = [future]
        for part in self._reduced:
            if scaling.clip != 1:
                part.mul_(scaling.clip)
            # Before the sum, and by a product, as DDP does it.
            futures.append(begin_all_reduce(part.mul_(1 / self._group.size), self._group.process_group))
        return torch.futures.collect_all(futures).then(
            lambda done: self._finish(done, gathered, step, scaling.loss_scale, refuse)
        )

    def _formed_units(self) -> list[Unit]:
        """One from each sparse piece, or one from all of a density."""
        sparse = [place for place, piece in enumerate(self._packed) if piece.memory is not None]
        if not self._rule.is_joint:
            return [self._unit([place]) for place in sparse]
        densities = dict.fromkeys(self._packed[place].treatment for place in sparse)
        together = ([p for p in sparse if self._packed[p].treatment == density] for density in densities)
        return [self._unit(places) for places in together]

    def _unit(self, places: Sequence[int]) -> Unit:
        pieces = [self._packed[place] for place in places]
        density = pieces[0].treatment
        assert not isinstance(density, str)
        dimension = sum(piece.gradient.numel() for piece in pieces)
        k = target_count(density, dimension)
        return Unit(
            name=pieces[0].name,
            gradients=[piece.gradient for piece in pieces],
            memories=[piece.memory for piece in pieces if piece.memory is not None],
            places=[self._places[place] for place in places],
            k=k,
            capacity=capacity_of(self._rule.selector, k, dimension),
        )

    def _pack(self, step: int, scaling: Scaling) -> Tensor:
        """The buffer of this rank: without entries where a gradient is not finite."""
        flags, device = self._flags(), self.pieces[0].gradient.device
        self._ends("check")
        if NON_FINITE in flags:
            return self._layout.pack_nothing(step, flags, device)
        before = scaling.clip / scaling.loss_scale
        if before != 1:
            torch._foreach_mul_([piece.gradient for piece in self._packed], before)
        self._before_zeros = {
            position: copied(piece.memory, self._rule.feedback)
            for position, piece in enumerate(self.pieces)
            if flags[position] & ZERO and piece.memory is not None
        }
        try:
            parts, message = self._selected(step)
        except ValueError:
            # Each of both was finite, their sum is not.
            return self._layout.pack_nothing(step, [NON_FINITE] * len(flags), device)
        if self._units:
            self._ends("select")
        if self.passage is not None and parts:
            self.passage.chosen = parts[0]
        if self._dense:
            values = torch.cat([self._packed[place].gradient for place in self._dense]).to(self._dtype)
            parts.append((values, self._dense_indices, self._dense_counts))
        return self._layout.pack(step, flags, parts, device=device, message=message)

    def _selected(self, step: int) -> tuple[list[tuple[Tensor, Tensor, Tensor]], Tensor | None]:
        """What is sent of the sparse pieces, as a part of the buffer or as a message; memories have been told."""
        if not self._units:
            return [], None
        choice = self._chooser.choose(step)
        if self._coding is None:
            self._chooser.keep(choice, choice.payloads)
            return [self._chooser.padded(choice)], None
        message, sent = self._coding.encode(choice.payloads, self._units)
        self._chooser.keep(choice, sent)
        return [], message

    def _flags(self) -> list[int]:
        """`NON_FINITE` or `ZERO` of each gradient; waits for the device."""
        extremes = [torch.stack(torch.aminmax(part)) for part in self._checked]
        if not torch.isfinite(torch.cat(extremes)).all():
            return [0 if torch.isfinite(piece.gradient).all() else NON_FINITE for piece in self.pieces]
        # Few gradients begin with a zero and are not zero.
        firsts = torch.stack([piece.gradient[0] for piece in self.pieces]).tolist()
        return [0 if first or piece.gradient.any() else ZERO for first, piece in zip(firsts, self.pieces, strict=True)]

    def _finish(
        self,
        done: torch.futures.Future[list[torch.futures.Future[Tensor]]],
        gathered: Tensor,
        step: int,
        loss_scale: float,
        refuse: Refuse,
    ) -> None:
        self._ends("communicate")
        self._require_arrival(done, step)
        flags = self._layout.flags(gathered, step)
        refused = [
            (piece.name, rank)
            for place, piece in enumerate(self.pieces)
            for rank, its_flags in enumerate(flags)
            if its_flags[place] & NON_FINITE
        ]
        if refused:
            refuse(step, refused)
            for piece in self.pieces:
                piece.gradient.fill_(torch.inf)
            return
        if not self._packed:
            return
        total = self._total(gathered)
        means = list(total.split([piece.gradient.numel() for piece in self._packed]))
        unused = self._put_back_unused(flags)
        for piece, mean in zip(self._packed, means, strict=True):
            if piece.memory is not None and piece not in unused:
                delivered = self._rule.feedback.deliver(piece.memory, mean)
                if delivered is not mean:
                    mean.copy_(delivered)
        if loss_scale != 1:
            total.mul_(loss_scale)
        if self._in_place is None:
            torch._foreach_copy_([piece.gradient for piece in self._packed], means)
        for piece in unused:
            piece.gradient.zero_()

    def _require_arrival(self, done: torch.futures.Future[list[torch.futures.Future[Tensor]]], step: int) -> None:
        try:
            for future in done.value():
                future.value()
        except RuntimeError as error:
            first, last = self.pieces[0].name, self.pieces[-1].name
            raise ExchangeError(f"step {step}: a rank was lost as {first!r} to {last!r} were sent: {error}") from None

    def _total(self, gathered: Tensor) -> Tensor:
        """The mean of the packed pieces one after another, added one rank after the other."""
        if self._in_place is None:
            total = torch.zeros(self._places[-1], dtype=self._dtype, device=gathered.device)
        else:
            total = self._in_place.zero_()
        for buffer in gathered:
            indices, values = self._layout.entries(buffer)
            # Indices are unique within a rank's buffer, so no addition is lost.
            total[indices] += values
        return total.div_(self._group.size)

    def _put_back_unused(self, flags: Sequence[Sequence[int]]) -> list[Piece]:
        """Where every rank's gradient is zero, memories are what they were, and the mean is: DDP may drop it.

        DDP leaves `grad` of a parameter alone that no rank used; a hook cannot see that, but that all are zero.
        """
        unused = []
        for position, memory in self._before_zeros.items():
            piece = self.pieces[position]
            if piece.memory is not None and all(its_flags[position] & ZERO for its_flags in flags):
                piece.memory.update(memory)
                unused.append(piece)
        self._before_zeros = {}
        return unused
