"""Where is the mass? Everything that is a vector: the shared model, and of each worker its model, change and residual.

The engine alone calls this; every method returns sketches, from which the monitors keep their own books. On a grid all
created changes are multiples of 2⁻²⁰ in float64 and weights multiples of 2⁻¹⁰, so that sums are exact in any order.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from sparsync.experiments.engine.effects import Plan, Pull
from sparsync.experiments.engine.problems import Problem
from sparsync.experiments.engine.view import StepStatistics
from sparsync.experiments.training.adaptive import new_selector, require_selector
from sparsync.experiments.training.seeding import random_stream
from sparsync.kernels.selection import Selector, target_count
from sparsync.verify.monitors.trace import NOTHING, Arithmetic, Mass

Feedback = Literal["memory", "none"]
GRID = 2.0**-20
"""Created changes are multiples of this in grid mode."""
WEIGHT_GRID = 2.0**-10
"""Weights are multiples of this in grid mode."""
SKETCH_COUNT = 2
LARGEST_SKETCH_WEIGHT = 1023
INDEX_BYTES = 4


@dataclass(frozen=True)
class Descent:
    """How a worker turns gradients into changes of the model, and what of them it sends.

    Args:
        step_size: η.
        momentum: β of each worker's own heavy ball, v ← βv + g, change −ηv.
        selector: a key of `SELECTORS` or `ADAPTIVE_SELECTORS`, or None: everything is sent and nothing kept. One that
            remembers does so for each worker and set of blocks.
        density: k/d of a selection, within the blocks that are sent.
        feedback: "memory" keeps what a selector leaves out and adds it to what is sent next; "none" forgets it.
        consensus_step: γ of `Vectors.mix`; compressed means need a smaller one than 1.
        is_on_grid: exact arithmetic, see the module.

    Raises:
        ValueError: a value outside its range, named.
    """

    step_size: float = 0.1
    momentum: float = 0.0
    selector: str | None = None
    density: float = 0.01
    feedback: Feedback = "memory"
    consensus_step: float = 1.0
    is_on_grid: bool = False

    def __post_init__(self) -> None:
        if not 0 < self.step_size < float("inf"):
            raise ValueError(f"step_size must be positive, got {self.step_size}")
        if not 0 <= self.momentum < 1:
            raise ValueError(f"momentum must lie in [0, 1), got {self.momentum}")
        if self.selector is not None:
            require_selector(self.selector)
        if not 0 < self.density <= 1:
            raise ValueError(f"density must lie in (0, 1], got {self.density}")
        if not 0 < self.consensus_step <= 1:
            raise ValueError(f"consensus_step must lie in (0, 1], got {self.consensus_step}")
        if self.feedback not in ("memory", "none"):
            raise ValueError(f"feedback must be 'memory' or 'none', got {self.feedback!r}")


class Shipment:
    """The vector of a message: all entries of some blocks, or selected ones.

    Args:
        places: [m] int64 positions in the model, or None if `values` is all of it.
        values: [m].
    """

    def __init__(self, places: Tensor | None, values: Tensor) -> None:
        self.places, self.values = places, values

    def add_to(self, target: Tensor, weight: float) -> None:
        """target += weight · message; each product is rounded first, so that dense and sparse give the same bits."""
        scaled = self.values * weight
        if self.places is None:
            target.add_(scaled)
        else:
            target.index_add_(0, self.places, scaled)


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


class Mixture(NamedTuple):
    """What a mixing did.

    Args:
        sent_bytes: that were published.
        copies: sketches of what all know of the members' models.
        models: of the models afterwards.
        changes: of what was made and not sent, and is part of the models now.
    """

    sent_bytes: int
    copies: tuple[Mass, ...] = ()
    models: tuple[Mass, ...] = ()
    changes: tuple[Mass, ...] = ()


class Vectors:
    """The vectors of one run.

    Args:
        problem: what is minimised.
        descent: how.
        worker_count: n.
        seed: of random selectors.

    Raises:
        ValueError: grid mode with a model that is not float64.
    """

    def __init__(self, problem: Problem, descent: Descent, *, worker_count: int, seed: int = 0) -> None:
        self.problem, self.descent = problem, descent
        self.shared = self._rounded(problem.initial.clone())
        if descent.is_on_grid and self.shared.dtype != torch.float64:
            raise ValueError(f"grid mode needs a float64 model, got {self.shared.dtype}")
        self.base = [self.shared.clone() for _ in range(worker_count)]
        self.change = [torch.zeros_like(self.shared) for _ in range(worker_count)]
        """made and not sent, part of the worker's own model"""
        self.public = [self.shared.clone() for _ in range(worker_count)]
        """what others know of each worker's model, where models are mixed"""
        self.residual = [torch.zeros_like(self.shared) for _ in range(worker_count)]
        self._last_step = [torch.zeros_like(self.shared) for _ in range(worker_count)]
        """what of the change the last step made"""
        self._velocity = [torch.zeros_like(self.shared) for _ in range(worker_count)] if descent.momentum else []
        self._streams = [random_stream(seed, "selection", worker) for worker in range(worker_count)]
        self._selectors: list[dict[tuple[int, ...] | None, Selector]] = [{} for _ in range(worker_count)]
        """of each worker, by the blocks of a message"""
        self._shipments: dict[int, Shipment] = {}
        self._senders: dict[int, int] = {}
        self._edges = [0]
        for size in problem.block_sizes:
            self._edges.append(self._edges[-1] + size)
        if self._edges[-1] != len(self.shared):
            raise ValueError(f"blocks of {self._edges[-1]} entries do not make up a model of {len(self.shared)}")
        self._known_places: dict[tuple[int, ...], Tensor] = {}
        drawn = torch.randint(
            0, (LARGEST_SKETCH_WEIGHT + 1) // 2, (SKETCH_COUNT, len(self.shared)), generator=random_stream(0, "sketch")
        )
        signs = torch.randint(0, 2, drawn.shape, generator=random_stream(0, "signs")) * 2 - 1
        self._combinations = ((2 * drawn + 1) * signs).double()

    @property
    def block_bytes(self) -> tuple[int, ...]:
        """Dense size of each block."""
        return tuple(size * self.shared.element_size() for size in self.problem.block_sizes)

    @property
    def arithmetic(self) -> Arithmetic:
        """In what vectors are added; exact on the grid."""
        numbers = "exact" if self.descent.is_on_grid else str(self.shared.dtype).removeprefix("torch.")
        return Arithmetic(numbers, len(self.shared))

    def sketch(self, *vectors: Tensor) -> Mass:
        """The sketch of the sum of the vectors.

        Raises:
            OverflowError: on the grid, and too large to be exact.
        """
        sums, size = torch.zeros(SKETCH_COUNT, dtype=torch.float64), 0.0
        for vector in vectors:
            wide = vector.double()
            sums += self._combinations @ wide
            size += LARGEST_SKETCH_WEIGHT * float(wide.abs().sum())
        return self._mass(sums, size)

    def step(self, worker: int, index: int, plan: Plan) -> tuple[StepStatistics, Mass]:
        """The worker's step number `index` (from 0), at its own model.

        Raises:
            FloatingPointError: loss or gradient is not finite.
        """
        model = self.base[worker] + self.change[worker]
        loss, gradient = self.problem.loss_and_gradient(worker, index, model, plan.batch)
        block_norms = tuple(
            float(torch.linalg.vector_norm(part, dtype=torch.float64)) for part in self._parts(gradient)
        )
        norm = math.hypot(*block_norms)
        if not (math.isfinite(norm) and math.isfinite(loss)):
            raise FloatingPointError(f"step {index} of worker {worker}: loss {loss}, gradient norm {norm}")
        statistics = StepStatistics(
            loss,
            norm,
            block_norms,
            tuple(float(part.sum()) for part in self._parts((gradient * model).abs())),
        )
        direction = gradient
        if self._velocity:
            direction = self._velocity[worker].mul_(self.descent.momentum).add_(gradient)
        created = self._rounded(direction * (-self.descent.step_size * plan.step_scale))
        self.change[worker] += created
        self._last_step[worker] = created
        return statistics, self.sketch(created)

    def send(
        self, worker: int, message: int, blocks: Sequence[int] | None, *, spares_last_step: bool = False
    ) -> Dispatch:
        """Ship the change and residual of some blocks, or what the selector takes of them."""
        places = self._places(blocks)
        here = slice(None) if places is None else places
        change, residual, last = self.change[worker][here], self.residual[worker][here], self._last_step[worker][here]
        if spares_last_step:
            change = change - last
        corrected, change_norm = change + residual, _norm(change)
        if self.descent.selector is None:
            shipment, rest = Shipment(places, corrected), torch.zeros_like(corrected)
            sent_bytes = corrected.numel() * corrected.element_size()
        else:
            shipment, rest, sent_bytes = self._selected(worker, corrected, blocks)
        forgotten = rest if self.descent.feedback == "none" else torch.zeros_like(rest)
        kept = rest - forgotten
        if spares_last_step:
            self.change[worker][here] = last
        else:
            self.change[worker][here] = self._last_step[worker][here] = 0.0
        self.residual[worker][here] = kept
        self._shipments[message], self._senders[message] = shipment, worker
        mass = self._sketch_of(shipment)
        lost = self._sketch_of(Shipment(places, forgotten)) if self.descent.feedback == "none" else self.sketch()
        is_all = places is None and not spares_last_step
        left = (self.residual[worker],) if is_all else (self.change[worker], self.residual[worker])
        return Dispatch(sent_bytes, mass, self.sketch(*left), lost, change_norm, _norm(corrected), _norm(kept))

    def apply(self, messages: Sequence[int], weights: Sequence[float]) -> Mass:
        """Shared model += Σ weight · message, in this order; the sketch of it afterwards.

        Raises:
            ValueError: on the grid, a weight that is no multiple of 2⁻¹⁰.
        """
        for message, weight in zip(messages, weights, strict=True):
            if self.descent.is_on_grid and (weight / WEIGHT_GRID) % 1:
                raise ValueError(f"grid mode needs weights that are multiples of 2^-10, got {weight}")
            self._shipments.pop(message).add_to(self.shared, weight)
            del self._senders[message]
        return self.sketch(self.shared)

    def drop(self, messages: Iterable[int]) -> None:
        """Forget messages."""
        for message in messages:
            del self._shipments[message], self._senders[message]

    def read(self, worker: int, pull: Pull) -> tuple[Mass, tuple[int, ...]]:
        """Give the worker the model that it goes on from; its sketch, and which messages it was corrected by."""
        corrections: tuple[int, ...] = ()
        if pull.shared:
            self.base[worker].copy_(self.shared)
            if pull.local_correction:
                corrections = tuple(uid for uid, sender in self._senders.items() if sender == worker)
                for uid in corrections:
                    self._shipments[uid].add_to(self.base[worker], 1.0)
        return self.sketch(self.base[worker]), corrections

    def mix(self, members: Sequence[int], weights: Sequence[Sequence[float]]) -> Mixture:
        """Members move towards weighted means of their models, of which they know public copies.

        Each publishes C(model − copy), which all add to its copy; then model_i += γ Σ_j w_ij (copy_j − copy_i). Without
        a selector copies are models, and with γ = 1 the models become their weighted means. Doubly stochastic weights
        keep the sum of the models, whatever the compression. One alone has nobody to publish anything to. Source:
        Koloskova, Stich, Jaggi 2019, CHOCO-SGD.

        Raises:
            ValueError: on the grid, a weight other than 0 and 1.
        """
        if self.descent.is_on_grid and any(weight not in (0.0, 1.0) for row in weights for weight in row):
            raise ValueError(f"grid mode cannot average models, weights {tuple(map(tuple, weights))}")
        sent_bytes, models = 0, [self.model_of(member) for member in members]
        changes = tuple(self.sketch(self.change[member]) for member in members)
        for member, model in zip(members, models, strict=True) if len(members) > 1 else ():
            corrected = model - self.public[member]
            if self.descent.selector is None:
                self.public[member].copy_(model)
                sent_bytes += sum(self.block_bytes)
            else:
                shipment, _, size = self._selected(member, corrected, None)
                shipment.add_to(self.public[member], 1.0)
                sent_bytes += size
        for member, model, row in zip(members, models, weights, strict=True):
            moved = torch.zeros_like(model)
            for weight, other in zip(row, members, strict=True):
                if weight and other != member:
                    moved.add_(self.public[other] - self.public[member], alpha=weight)
            self.base[member].copy_(model.add_(moved, alpha=self.descent.consensus_step))
            self.change[member].zero_()
            self._last_step[member].zero_()
        copies = tuple(self.sketch(self.public[member]) for member in members)
        return Mixture(sent_bytes, copies, tuple(self.sketch(self.base[member]) for member in members), changes)

    def depart(self, worker: int) -> Mass:
        """Forget what the worker has not sent, and what its selector learnt; its sketch."""
        abandoned = self.sketch(self.change[worker], self.residual[worker])
        for parts in (self.change, self.residual, self._last_step):
            parts[worker].zero_()
        if self._velocity:
            self._velocity[worker].zero_()
        self._selectors[worker].clear()
        return abandoned

    def model_of(self, worker: int) -> Tensor:
        """The worker's own model [d]: what it goes on from, and its change since."""
        return self.base[worker] + self.change[worker]

    def mean_model(self, workers: Iterable[int]) -> Tensor:
        """The mean [d] of the workers' own models."""
        return torch.stack([self.model_of(worker) for worker in workers]).mean(dim=0)

    def _selected(self, worker: int, corrected: Tensor, blocks: Sequence[int] | None) -> tuple[Shipment, Tensor, int]:
        assert self.descent.selector is not None
        selectors, key = self._selectors[worker], None if blocks is None else tuple(blocks)
        if key not in selectors:
            selectors[key] = new_selector(self.descent.selector)
        places, k = self._places(blocks), target_count(self.descent.density, corrected.numel())
        payload = selectors[key](corrected, k, self._streams[worker])
        indices = payload.indices.long()
        shipment = Shipment(indices if places is None else places[indices], payload.values)
        # Whatever is dense travels without indices.
        sent_bytes = min(payload.size_bytes, corrected.numel() * corrected.element_size())
        return shipment, payload.remainder(corrected), sent_bytes

    def _places(self, blocks: Sequence[int] | None) -> Tensor | None:
        if blocks is None:
            return None
        key = tuple(blocks)
        if key not in self._known_places:
            ranges = [torch.arange(self._edges[block], self._edges[block + 1]) for block in key]
            self._known_places[key] = torch.cat(ranges) if ranges else torch.empty(0, dtype=torch.int64)
        return self._known_places[key]

    def _parts(self, vector: Tensor) -> tuple[Tensor, ...]:
        return torch.split(vector, list(self.problem.block_sizes))

    def _sketch_of(self, shipment: Shipment) -> Mass:
        wide, places = shipment.values.double(), shipment.places
        combinations = self._combinations if places is None else self._combinations[:, places]
        return self._mass(combinations @ wide, LARGEST_SKETCH_WEIGHT * float(wide.abs().sum()))

    def _mass(self, sums: Tensor, size: float) -> Mass:
        if self.descent.is_on_grid and size >= 2.0**53 * GRID * WEIGHT_GRID:
            raise OverflowError(f"a sketch of size {size:.3g} is too large to be exact on the grid")
        return Mass(tuple(sums.tolist()), size)

    def _rounded(self, vector: Tensor) -> Tensor:
        return (vector / GRID).round() * GRID if self.descent.is_on_grid else vector


def _norm(vector: Tensor) -> float:
    return float(torch.linalg.vector_norm(vector, dtype=torch.float64))
