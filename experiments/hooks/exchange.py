"""One exchange of a step: from this rank's gradients, in the buckets, to their means over all ranks, in the same place.

Finite? → select → pack → all-gather → add in rank order → deliver. Nothing waits between: the future that `begin`
returns ends it. A dense parameter of few entries travels in the packed buffer; a longer one is all-reduced. A CPU looks
at once at what is found; the host of a GPU does not, see `unread.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import accumulate

import torch
from torch import Tensor

from sparsync.experiments.feedbacks.feedback import Memory
from sparsync.experiments.hooks.clipping import Clipping, scaling_of
from sparsync.experiments.hooks.coding import Coding
from sparsync.experiments.hooks.integrity import Integrity
from sparsync.experiments.hooks.packing import NON_FINITE, ZERO, Layout
from sparsync.experiments.hooks.pieces import Factor, Group, Piece, Rule, Scaling, multiply
from sparsync.experiments.hooks.residuals import copied
from sparsync.experiments.hooks.selection import Choice, Chooser, Unit, capacity_of, fills_capacity
from sparsync.experiments.hooks.side import Arrivals, Side, placed
from sparsync.experiments.hooks.unread import Unread, flags_of, refusing_all
from sparsync.experiments.hooks.watching import Content, Passage, Phase
from sparsync.experiments.training.arrivals import Call
from sparsync.experiments.training.collectives import begin_all_gather, begin_all_reduce
from sparsync.kernels.magnitude import NonFiniteError
from sparsync.kernels.payload import any_non_finite
from sparsync.kernels.selection import target_count

Refuse = Callable[[int, Sequence[tuple[str, int]]], None]
"""What is done where gradients are not finite, given the step and names of parameters with ranks: it raises, or not."""
Part = tuple[Tensor, Tensor, Tensor]
"""Values, indices and counts of some selections, see `Layout.pack`."""


class Exchange:
    """What is sent of some pieces at every step, and what becomes of what comes back.

    Args:
        pieces: of one device and dtype; in the same order on every rank. Of those that are excluded it is only said
            whether they are finite: where one is not, no rank is to take the step.
        buckets: the buckets that they are parts of.
        group: the ranks.
        rule: by which they send.
        side: where means are formed; None is the thread in which the others' buffers arrive.
    """

    def __init__(
        self,
        pieces: Sequence[Piece],
        buckets: Sequence[Tensor],
        *,
        group: Group,
        rule: Rule,
        side: Side | None = None,
    ) -> None:
        self.pieces, self._group, self._rule, self._side = pieces, group, rule, side
        self._before_zeros: dict[int, Memory] = {}
        is_covered = sum(p.gradient.numel() for p in pieces) == sum(bucket.numel() for bucket in buckets)
        self._checked = list(buckets) if is_covered else [piece.gradient for piece in pieces]
        is_whole = is_covered and len(buckets) == 1 and all(piece.treatment == "dense" for piece in pieces)
        # A bucket of dense parameters is all-reduced in one piece, as DDP does it.
        self._packed = [] if is_whole else [piece for piece in pieces if piece.is_packed]
        self._excluded = [piece.gradient for piece in pieces if piece.treatment == "excluded"]
        alone = [p.gradient for p in pieces if not p.is_packed and p.treatment != "excluded"]
        self._reduced = list(buckets) if is_whole else alone
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
        self._dense_part = _whole_part(spans, device)
        capacities = [unit.capacity for unit in self._units]
        self._coding = None
        if self._units and rule.values != "exact":
            self._coding = Coding(rule.values, sum(capacities), self._places[-1], self._dtype)
            capacities = []
        room = 0 if self._coding is None else self._coding.room_bytes
        self._layout = Layout(len(pieces), (*capacities, *map(len, spans)), self._dtype, room)
        its = [range(unit.places[0], unit.places[-1] + unit.gradients[-1].numel()) for unit in self._units]
        self._integrity = Integrity(self._layout, [*(its if self._coding is None else []), *spans], device)
        self._size = torch.full((), group.size, dtype=self._dtype, device=device)
        self.unread = self._reader()
        """What becomes known after the step; None where it is known within."""
        self.passage: Passage | None = None
        """Where the next step's time stamps go, if anywhere."""

    def _reader(self) -> Unread | None:
        """The codec works on CPUs, and so waits for what it encodes."""
        if self._side is None or self._coding is not None:
            return None
        return Unread(
            self.pieces,
            self._packed,
            layout=self._layout,
            integrity=self._integrity,
            is_full=not self._units or fills_capacity(self._rule.selector),
            feedback=self._rule.feedback,
            side=self._side,
        )

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
            gradient_bytes=sum(piece.gradient.nbytes for piece in self.pieces if piece.treatment != "excluded"),
            packed_bytes=self._layout.words * torch.int32.itemsize,
            reduced_bytes=sum(part.nbytes for part in self._reduced),
            rank_count=self._group.size,
            feedback=self._rule.feedback,
            is_rounded=self._coding is not None,
        )

    def _ends(self, phase: Phase) -> None:
        if self.passage is not None:
            self.passage.end(phase)

    def _drops(self, pieces: Sequence[Piece]) -> None:
        if self.passage is not None:
            self.passage.dropped = frozenset(piece.name for piece in pieces)

    def scaling(self, scaler: torch.amp.GradScaler | None, clip_norm: float | None, clip: Clipping) -> Scaling:
        """What the gradients of this step are multiplied by, see `scaling_of`."""
        return scaling_of(
            [piece.gradient for piece in self.pieces if piece.treatment != "excluded"],
            scaler=scaler,
            clip_norm=clip_norm,
            clip=clip,
            call=self._group.call("the norm of the gradients"),
            waits=self.unread is None,
        )

    def begin(self, step: int, scaling: Scaling, refuse: Refuse) -> torch.futures.Future[Tensor]:
        """Select and send; the future ends once every gradient is the mean.

        Args:
            step: of the run, from 0.
            scaling: of the gradients.
            refuse: called on every rank alike, unless there is something `unread` to tell.

        Returns:
            A future of the first gradient.
        """
        buffer = self._pack(step, scaling) if self.unread is None else self._pack_unread(self.unread, step, scaling)
        self._ends("pack")
        call = self._group.call(self._title(step))
        gathered, future = begin_all_gather(buffer, call)
        futures = [future]
        for part in self._reduced:
            multiply([part], scaling.clip)
            # Before the sum, and by a product, as DDP does it.
            futures.append(begin_all_reduce(part.mul_(1 / self._group.size), call))

        def finish(arrived: Arrivals) -> None:
            self._ends("communicate")
            self._require_arrival(arrived, call)
            if self.unread is None:
                self._finish(gathered, step, scaling.loss_scale, refuse)
            else:
                self._finish_unread(self.unread, gathered, step, scaling.loss_scale)

        first = self.pieces[0].gradient
        if self._side is not None:
            return self._side.after(futures, finish, of=[gathered, *scaling.on_device], result=first)

        def finished(arrived: Arrivals) -> Tensor:
            finish(arrived)
            return first

        return torch.futures.collect_all(futures).then(finished)

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
        self._scale(scaling)
        self._before_zeros = {
            position: copied(piece.memory, self._rule.feedback)
            for position, piece in enumerate(self.pieces)
            if flags[position] & ZERO and piece.memory is not None
        }
        try:
            choice = self._chooser.choose(step)
            parts, message = self._sent(choice)
        except NonFiniteError:
            # Each of both was finite, their sum is not.
            return self._layout.pack_nothing(step, [NON_FINITE] * len(flags), device)
        return self._layout.pack(step, flags, self._with_dense(parts), device=device, message=message)

    def _pack_unread(self, unread: Unread, step: int, scaling: Scaling) -> Tensor:
        """The same, with entries whatever the gradients are."""
        flags, device = flags_of([piece.gradient for piece in self.pieces]), self.pieces[0].gradient.device
        self._ends("check")
        self._scale(scaling)
        unread.remember()
        try:
            choice = self._chooser.choose(step)
            parts, _ = self._sent(choice)
        except NonFiniteError:
            # A selector has looked, and waited.
            return self._layout.pack_nothing(step, refusing_all(flags), device)
        is_spoilt = any_non_finite(choice.payloads)
        if is_spoilt is not None:
            flags = refusing_all(flags, where=is_spoilt)
        return self._layout.pack(step, flags, self._with_dense(parts), device=device)

    def _scale(self, scaling: Scaling) -> None:
        """Packed gradients as they are remembered and sent; what is all-reduced keeps its loss scale."""
        multiply([piece.gradient for piece in self._packed], scaling.clip / scaling.loss_scale)

    def _sent(self, choice: Choice) -> tuple[list[Part], Tensor | None]:
        """What is sent of the sparse pieces, as a part of the buffer or as a message; memories are told."""
        if not self._units:
            return [], None
        if self._coding is None:
            self._chooser.keep(choice, choice.payloads)
            part = self._chooser.padded(choice)
            self._ends("select")
            if self.passage is not None:
                self.passage.chosen = part
            return [part], None
        message, sent = self._coding.encode(choice.payloads, self._units)
        self._chooser.keep(choice, sent)
        self._ends("select")
        if self.passage is not None:
            self.passage.chosen = self._chooser.together(sent)
        return [], message

    def _with_dense(self, parts: list[Part]) -> list[Part]:
        """All that is sent in the buffer, that of packed dense pieces last."""
        if not self._dense:
            return parts
        values = torch.cat([self._packed[place].gradient for place in self._dense]).to(self._dtype)
        return [*parts, (values, *self._dense_part)]

    def _flags(self) -> list[int]:
        """`NON_FINITE` or `ZERO` of each gradient; waits for the device."""
        extremes = [torch.stack(torch.aminmax(part)) for part in self._checked]
        if not torch.isfinite(torch.cat(extremes)).all():
            return [0 if torch.isfinite(piece.gradient).all() else NON_FINITE for piece in self.pieces]
        # Few gradients begin with a zero and are not zero.
        firsts = torch.stack([piece.gradient[0] for piece in self.pieces]).tolist()
        return [0 if first or piece.gradient.any() else ZERO for first, piece in zip(firsts, self.pieces, strict=True)]

    def _finish(self, gathered: Tensor, step: int, loss_scale: Factor, refuse: Refuse) -> None:
        flags = self._layout.flags(self._layout.heads(gathered), self._integrity.faults(gathered), step)
        refused = [
            (piece.name, rank)
            for place, piece in enumerate(self.pieces)
            for rank, its_flags in enumerate(flags)
            if its_flags[place] & NON_FINITE
        ]
        if refused:
            self._drops(self.pieces)
            refuse(step, refused)
            for piece in self.pieces:
                piece.gradient.fill_(torch.inf)
            return
        if not self._packed:
            return
        total = self._total(gathered)
        means = list(total.split([piece.gradient.numel() for piece in self._packed]))
        unused = self._put_back_unused(flags)
        self._drops(unused)
        for piece, mean in zip(self._packed, means, strict=True):
            if piece.memory is not None and piece not in unused:
                delivered = self._rule.feedback.deliver(piece.memory, mean)
                if delivered is not mean:
                    mean.copy_(delivered)
        self._return(total, means, loss_scale)
        for piece in unused:
            piece.gradient.zero_()

    def _finish_unread(self, unread: Unread, gathered: Tensor, step: int, loss_scale: Factor) -> None:
        """The same by marks on the device."""
        verdict = unread.verdict(gathered)
        unread.note(gathered, verdict, step, self.passage)
        for part in (*self._reduced, *self._excluded):
            part.masked_fill_(verdict.refused, torch.inf)
        if not self._packed:
            return
        total = self._empty_total(gathered.device)
        unread.average(gathered, verdict, total, self._size)
        means = list(total.split([piece.gradient.numel() for piece in self._packed]))
        for piece, mean in zip(self._packed, means, strict=True):
            if piece.memory is not None:
                delivered = self._rule.feedback.deliver(piece.memory, mean)
                if delivered is not mean:
                    mean.copy_(delivered.masked_fill(unread.unused(verdict, piece), 0))
        self._return(total, means, loss_scale)

    def _return(self, total: Tensor, means: list[Tensor], loss_scale: Factor) -> None:
        """Means take the place of gradients."""
        multiply([total], loss_scale)
        if self._in_place is None:
            torch._foreach_copy_([piece.gradient for piece in self._packed], means)

    def _title(self, step: int) -> str:
        return f"step {step}: a rank was lost as {self.pieces[0].name!r} to {self.pieces[-1].name!r} were sent"

    def _require_arrival(self, arrived: Arrivals, call: Call) -> None:
        """Raise if a rank was lost; on a GPU, let what follows wait for what arrives."""
        try:
            for future in arrived.value():
                future.wait()
        except RuntimeError as error:
            raise call.lost(error) from None

    def _empty_total(self, device: torch.device) -> Tensor:
        """Room for the packed pieces one after another."""
        if self._in_place is not None:
            return self._in_place
        return torch.empty(self._places[-1], dtype=self._dtype, device=device)

    def _total(self, gathered: Tensor) -> Tensor:
        """The mean of the packed pieces one after another, added one rank after the other."""
        total = self._empty_total(gathered.device).zero_()
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


def _whole_part(spans: Sequence[range], device: torch.device) -> tuple[Tensor, Tensor]:
    """Indices [sum of lengths] and counts [spans] int32 of spans of which everything is sent."""
    indices = [torch.arange(span.start, span.stop, dtype=torch.int32, device=device) for span in spans]
    empty = torch.empty(0, dtype=torch.int32, device=device)
    counts = placed([len(span) for span in spans], device=device).to(torch.int32)
    return torch.cat([empty, *indices]), counts
