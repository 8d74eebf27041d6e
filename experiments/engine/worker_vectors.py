"""What is a worker's own? Its model, what it has changed and not sent, and what its selector left behind.

The same object runs beside all others in a simulation and alone on a real rank: it knows nothing of the shared model
but what it has read. Every method returns sketches, from which the monitors keep their own books.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from sparsync.experiments.engine.descent import Descent
from sparsync.experiments.engine.effects import Plan
from sparsync.experiments.engine.layout import Layout, Shipment
from sparsync.experiments.engine.problems import Problem
from sparsync.experiments.engine.view import Message
from sparsync.experiments.training.adaptive import new_selector
from sparsync.experiments.training.seeding import random_stream
from sparsync.kernels.selection import Selector, target_count
from sparsync.verify.monitors.trace import NOTHING, Mass, Sent, StepStatistics


class Dispatch(NamedTuple):
    """What a sending did.

    Args:
        sent_bytes: size of the message.
        mass: sketch of the message.
        kept: of all that the worker has still to send.
        lost: of what it forgets.
        change_norm: of what was made since the last sending, on the blocks sent.
        corrected_norm: of that and the residual together.
        kept_norm: of the residual afterwards.
    """

    sent_bytes: int
    mass: Mass = NOTHING
    kept: Mass = NOTHING
    lost: Mass = NOTHING
    change_norm: float = 0.0
    corrected_norm: float = 0.0
    kept_norm: float = 0.0


def sent_event(message: Message, dispatch: Dispatch, *, spares_last_step: bool) -> Sent:
    """What shows of a message in the trace."""
    return Sent(
        message.sent_time,
        message.worker,
        message.uid,
        message.read_version,
        dispatch.sent_bytes,
        dispatch.mass,
        dispatch.kept,
        dispatch.lost,
        message.tag,
        dispatch.change_norm,
        dispatch.corrected_norm,
        dispatch.kept_norm,
        message.blocks,
        spares_last_step,
    )


def layout_of(problem: Problem, descent: Descent) -> Layout:
    """The layout of a problem's model, as workers of this descent send it.

    Raises:
        ValueError: see `Layout`.
    """
    sizes, dtype = problem.block_sizes, problem.initial.dtype
    return Layout(sizes, dtype, is_on_grid=descent.is_on_grid, largest_block=descent.largest_block)


class WorkerVectors:
    """The vectors of one worker.

    Args:
        problem: what is minimised.
        descent: how.
        layout: of the model.
        worker: its number, from 0.
        seed: of a random selector.
    """

    def __init__(self, problem: Problem, descent: Descent, layout: Layout, *, worker: int, seed: int = 0) -> None:
        self.problem, self.descent, self.layout, self.worker = problem, descent, layout, worker
        self.base = layout.rounded(problem.initial.clone())
        self.change = torch.zeros_like(self.base)
        """made and not sent, part of the worker's own model"""
        self.residual = torch.zeros_like(self.base)
        self.public = self.base.clone()
        """what others know of its model, where models are mixed"""
        self.published_count = 0
        """how often it has told others more of its model"""
        self._published: list[tuple[int, Shipment]] = []
        """the last of those tellings with their bytes, as many as are shorter together than the model"""
        self._last_step = torch.zeros_like(self.base)
        """what of the change the last step made"""
        self._velocity = torch.zeros_like(self.base) if descent.momentum else None
        self._stream = random_stream(seed, "selection", worker)
        self._selectors: dict[tuple[int, ...] | None, Selector] = {}
        """by the blocks of a message"""

    @property
    def model(self) -> Tensor:
        """Its own model [d]: what it goes on from, and its change since."""
        return self.base + self.change

    def step(self, index: int, plan: Plan) -> tuple[StepStatistics, Mass]:
        """Its step number `index` (from 0), at its own model.

        Raises:
            FloatingPointError: loss or gradient is not finite.
        """
        model = self.model
        loss, gradient = self.problem.loss_and_gradient(self.worker, index, model, plan.batch)
        block_norms = tuple(map(_norm, self.layout.layers(gradient)))
        norm = math.hypot(*block_norms)
        if not (math.isfinite(norm) and math.isfinite(loss)):
            raise FloatingPointError(f"step {index} of worker {self.worker}: loss {loss}, gradient norm {norm}")
        scores, *of_pieces = self._measured(gradient, model)
        measured = StepStatistics(loss, norm, block_norms, scores, *of_pieces)
        direction = gradient
        if self._velocity is not None:
            direction = self._velocity.mul_(self.descent.momentum).add_(gradient)
        created = self.layout.rounded(direction * (-self.descent.step_size * plan.step_scale))
        self.change += created
        self._last_step = created
        return measured, self.layout.sketch(created)

    def _measured(self, gradient: Tensor, model: Tensor) -> tuple[tuple[float, ...], ...]:
        """Scores of layers, and norms and scores of blocks where those are others."""
        layout, products = self.layout, (gradient * model).abs()
        of_layers = tuple(float(part.sum()) for part in layout.layers(products))
        if layout.block_sizes == layout.layer_sizes:
            return (of_layers,)
        norms = tuple(map(_norm, layout.parts(gradient)))
        return of_layers, norms, tuple(float(part.sum()) for part in layout.parts(products))

    def pack(self, blocks: Sequence[int] | None, *, spares_last_step: bool = False) -> tuple[Shipment, Dispatch]:
        """Ship the change and residual of some blocks, or what the selector takes of them."""
        layout = self.layout
        places = layout.places(blocks)
        here = slice(None) if places is None else places
        change, residual, last = self.change[here], self.residual[here], self._last_step[here]
        if spares_last_step:
            change = change - last
        corrected, change_norm = change + residual, _norm(change)
        if self.descent.selector is None:
            shipment, rest = Shipment(places, corrected), torch.zeros_like(corrected)
            sent_bytes = corrected.numel() * corrected.element_size()
        else:
            shipment, rest, sent_bytes = self._selected(corrected, blocks)
        forgets = self.descent.feedback == "none"
        forgotten = rest if forgets else torch.zeros_like(rest)
        kept = rest - forgotten
        if spares_last_step:
            self.change[here] = last
        else:
            self.change[here] = self._last_step[here] = 0.0
        self.residual[here] = kept
        lost = layout.sketch_of(Shipment(places, forgotten)) if forgets else layout.sketch()
        is_all = places is None and not spares_last_step
        left = (self.residual,) if is_all else (self.change, self.residual)
        norms = (change_norm, _norm(corrected), _norm(kept))
        return shipment, Dispatch(sent_bytes, layout.sketch_of(shipment), layout.sketch(*left), lost, *norms)

    def read(self, shared: Tensor, corrections: Iterable[Shipment] = ()) -> Mass:
        """Go on from the shared model [d], corrected by some of its own messages; the sketch of that."""
        self.base.copy_(shared)
        for shipment in corrections:
            shipment.add_to(self.base, 1.0)
        return self.layout.sketch(self.base)

    def publish(self) -> None:
        """Tell others more of its model: what a selector takes of what they do not know, or all of it."""
        self.published_count += 1
        if self.descent.selector is None:
            self.public.copy_(self.model)
            self._published.clear()
            return
        shipment, _, sent_bytes = self._selected(self.model - self.public, None)
        shipment.add_to(self.public, 1.0)
        self._published.append((sent_bytes, shipment))
        while sum(size for size, _ in self._published) >= self._model_bytes:
            del self._published[0]

    def untold(self, heard_count: int) -> tuple[int, list[Shipment] | None]:
        """What is new to one who has heard so many tellings: bytes, and shipments; None for the whole copy."""
        new_count = self.published_count - heard_count
        if new_count > len(self._published):
            return self._model_bytes, None
        new = self._published[len(self._published) - new_count :]
        return sum(size for size, _ in new), [shipment for _, shipment in new]

    @property
    def _model_bytes(self) -> int:
        return sum(self.layout.block_bytes)

    def move(self, weights: Sequence[float], others: Sequence[Tensor]) -> Mass:
        """Towards a weighted mean: model += γ Σ_j w_j (copy_j − own copy); the sketch of the model afterwards.

        Without a selector copies are models, and with γ = 1 the model becomes the mean. Doubly stochastic weights keep
        the sum of all models, whatever the compression. Source: Koloskova, Stich, Jaggi 2019, CHOCO-SGD.

        Args:
            weights: of the copies.
            others: what is known [d] of the others' models, after they have published.
        """
        moved = torch.zeros_like(self.base)
        for weight, other in zip(weights, others, strict=True):
            if weight:
                moved.add_(other - self.public, alpha=weight)
        self.base.copy_(self.model.add_(moved, alpha=self.descent.consensus_step))
        self.change.zero_()
        self._last_step.zero_()
        return self.layout.sketch(self.base)

    def depart(self) -> Mass:
        """Forget what it has not sent, and what its selector learnt; the sketch of that."""
        abandoned = self.layout.sketch(self.change, self.residual)
        for part in (self.change, self.residual, self._last_step):
            part.zero_()
        if self._velocity is not None:
            self._velocity.zero_()
        self._selectors.clear()
        return abandoned

    def _selected(self, corrected: Tensor, blocks: Sequence[int] | None) -> tuple[Shipment, Tensor, int]:
        assert self.descent.selector is not None
        key = None if blocks is None else tuple(blocks)
        if key not in self._selectors:
            self._selectors[key] = new_selector(self.descent.selector)
        places, k = self.layout.places(blocks), target_count(self.descent.density, corrected.numel())
        payload = self._selectors[key](corrected, k, self._stream)
        indices = payload.indices.long()
        shipment = Shipment(indices if places is None else places[indices], payload.values, payload)
        # Whatever is dense travels without indices.
        sent_bytes = min(payload.size_bytes, corrected.numel() * corrected.element_size())
        return shipment, payload.remainder(corrected), sent_bytes


def _norm(vector: Tensor) -> float:
    return float(torch.linalg.vector_norm(vector, dtype=torch.float64))
