"""Distributed K-FAC around any model: gradients become averaged, and preconditioned by Kronecker-factored curvature.

    preconditioner = Kfac(model, KfacSettings(damping=0.003, step_size=0.1))
    for images, labels in batches:
        optimizer.zero_grad()
        loss(model(images), labels).backward()
        preconditioner.step()
        optimizer.step()

All workers take the same steps, each on its own batch. `step` averages their gradients; every f₁ steps also their
factors, into running means; and every f₂ steps these are decomposed, each by one worker. In the scheme "everyone" all
workers get all decompositions and precondition by themselves; in the scheme "owners" a layer's owner preconditions its
gradient, at every step, and all get that. Source: Pauloski, Zhang, Huang, Xu and Foster 2020, arXiv 2007.00784, as its
released code describes it; written anew. Which layers: `kfac_layers.py`; the arithmetic: `kfac_factors.py`.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from sparsync.experiments.averaging.header import HEADER_BYTES, ExchangeError
from sparsync.experiments.learning.kfac_factors import (
    Curvature,
    basis_count,
    clipping,
    from_shares,
    largest_share,
    packed_triangles,
    share_of,
    share_vector,
    triangle_count,
    unpacked_basis,
)
from sparsync.experiments.learning.kfac_layers import Products, Recorder, factors_of, find_layers
from sparsync.experiments.learning.kfac_sending import NewAverager, Sender, group_averager
from sparsync.experiments.learning.kfac_settings import KfacSettings, Numbers


@dataclass(frozen=True, eq=False)
class _Taken:
    """What a worker has for a step.

    Args:
        gradient: of all trained parameters, [d].
        factors: of the layers that it used, by name.
        used: the parameters that have a gradient.
        problem: why the step cannot be made; empty if it can.
    """

    gradient: Tensor
    factors: dict[str, tuple[Tensor, Tensor]]
    used: tuple[int, ...]
    problem: str


class Kfac:
    """Averages the gradients of a model over all workers, and preconditions those of its layers.

    Works without a process group, and with the default one under torchrun. Several workers may live in a process: call
    `collect` after the backward pass of each, and `step` once. Several backward passes before a step are one batch,
    their gradients being what has gathered. Parameters in `plain` get the averaged gradient as it is.

    Args:
        model: the plain model, not one wrapped for data-parallel training; called as a whole. It stays as it is but
            for hooks.
        settings: what is done.
        new_averager: how workers meet; None is the default group, whose dense vectors are all-reduced.
        worker_count: over all processes; None is one a process.
        ranks: of the workers of this process, in the order in which they are collected; None is its own.

    Raises:
        ValueError: a wrapped model, one without trained parameters, or parameters of several dtypes or devices; ranks
            that do not ascend below `worker_count`.
    """

    def __init__(
        self,
        model: nn.Module,
        settings: KfacSettings | None = None,
        *,
        new_averager: NewAverager = group_averager,
        worker_count: int | None = None,
        ranks: Sequence[int] | None = None,
    ) -> None:
        if isinstance(model, DistributedDataParallel):
            raise ValueError("Kfac averages gradients itself; give it the module within DistributedDataParallel")
        self.settings = KfacSettings() if settings is None else settings
        joined = dist.is_available() and dist.is_initialized()
        self._ranks = list(ranks) if ranks is not None else [dist.get_rank() if joined else 0]
        self._worker_count = worker_count or (dist.get_world_size() if joined else len(self._ranks))
        if not self._ranks or max(self._ranks) >= self._worker_count or self._ranks != sorted(set(self._ranks)):
            raise ValueError(f"ranks must ascend below {self._worker_count}, got {self._ranks}")
        self._named = [(name, one) for name, one in model.named_parameters() if one.requires_grad]
        self._model = model
        kinds = {(one.dtype, one.device) for _, one in self._named}
        if len(kinds) != 1:
            raise ValueError(f"expected trained parameters of one dtype and device, got {sorted(map(str, kinds))}")
        self._layers, self.plain = find_layers(model)
        """`plain` says why, by the name of the parameter"""
        self._recorder = Recorder(model, self._layers, self._wants_factors)
        sent = self.settings
        self._gradients = Sender(
            sent.gradients, new_averager(sent.gradients.collective), "gradients", self._ranks, seed=sent.seed
        )
        self._factors = Sender(
            sent.factors, new_averager(sent.factors.collective), "factors", self._ranks, seed=sent.seed
        )
        self._sharing = new_averager("dense")
        self._taken: list[_Taken] = []
        self._index = 0
        self._numbers: Numbers | None = None
        self._curvature = Curvature([size for layer in self._layers for size in (layer.input_size, layer.output_size)])
        self.sent_bytes: dict[str, int] = defaultdict(int)
        """what all workers together handed to the others, headers included: "gradients", "factors", "decompositions",
        "preconditioned" and "agreement", since the beginning"""

    @property
    def layers(self) -> list[str]:
        """The names of the layers that are preconditioned."""
        return [layer.name for layer in self._layers]

    @property
    def layer_sizes(self) -> list[tuple[int, int]]:
        """Rows of A and of G of each layer."""
        return [(layer.input_size, layer.output_size) for layer in self._layers]

    @property
    def step_count(self) -> int:
        """How many steps were made."""
        return self._index

    def factors(self) -> dict[str, tuple[Tensor, Tensor]]:
        """The running means A and G of the layers that have been used, by name."""
        means = self._curvature.means
        pairs = zip(means[::2], means[1::2], strict=True)
        return {
            layer.name: (inputs, outputs)
            for layer, (inputs, outputs) in zip(self._layers, pairs, strict=True)
            if inputs is not None and outputs is not None
        }

    def remove(self) -> None:
        """Take the hooks off the model."""
        self._recorder.remove()

    def collect(self) -> None:
        """Take the gradients and products of one worker's batch, and set the gradients to zero for the next.

        Raises:
            ValueError: all workers of this process have been collected already.
        """
        if len(self._taken) == len(self._ranks):
            raise ValueError(f"all {len(self._ranks)} workers of this process have been collected already")
        vector = torch.cat(
            [(torch.zeros_like(one) if one.grad is None else one.grad).flatten() for _, one in self._named]
        )
        used = tuple(place for place, (_, one) in enumerate(self._named) if one.grad is not None)
        products = self._recorder.take()
        factors = {name: factors_of(found, self.settings.loss_reduction) for name, found in products.items()}
        self._taken.append(_Taken(vector, factors, used, self._problem(products)))
        for _, one in self._named:
            if one.grad is not None:
                one.grad.zero_()

    @torch.no_grad()
    def step(self) -> None:
        """Put averaged gradients, preconditioned where there are factors, in the place of the model's gradients.

        Where only one worker lives in this process, it need not be collected. A layer without any gradient, on all
        workers, keeps none.

        Raises:
            ValueError: a worker was not collected, was frozen, or has a layer without factors; the others hear of it.
            FloatingPointError: a gradient or factor of a worker is not finite; on all workers alike.
            ExchangeError: a worker is lost, does not come in time, or has used other layers.
        """
        if not self._taken and len(self._ranks) == 1:
            self.collect()
        if len(self._taken) != len(self._ranks):
            raise ValueError(f"{len(self._taken)} of {len(self._ranks)} workers of this process have been collected")
        taken, self._taken = self._taken, []
        self._agree(taken)
        average = self._gradients.mean([one.gradient for one in taken])
        self.sent_bytes["gradients"] += average.sent_bytes
        self._write(average.mean, taken[0].used)
        if self._wants_factors():
            self._average_factors(taken)
        if self._wants_decompositions():
            self._decompose()
        self._precondition()
        self._index, self._numbers = self._index + 1, None

    def state_dict(self) -> dict[str, Any]:
        """What a run needs to go on with the same bits: running means, those last decomposed, the workers' memories.

        Factors are alike on all processes; memories are those of the workers of this one.

        Raises:
            ValueError: between `collect` and `step`.
        """
        if self._taken:
            raise ValueError("workers have been collected, but the step was not made")
        return {
            "layers": [[layer.name, layer.input_size, layer.output_size] for layer in self._layers],
            "step_count": self._index,
            "means": list(self._curvature.means),
            "decomposed": list(self._curvature.decomposed),
            "gradients": self._gradients.state(),
            "factors": self._factors.state(),
            "sent_bytes": dict(self.sent_bytes),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on where `state_dict` was called.

        Decompositions are made again, from the same factors.

        Raises:
            ValueError: it is of other layers, or lacks a worker of this process.
        """
        layers = [[layer.name, layer.input_size, layer.output_size] for layer in self._layers]
        if state["layers"] != layers:
            raise ValueError(f"the state is of the layers {state['layers']}, the model has {layers}")
        like = self._named[0][1].detach()
        wide = like.new_empty(0, dtype=torch.promote_types(like.dtype, torch.float32))
        length = sum(map(triangle_count, self._curvature.sizes))
        self._gradients.restore(state["gradients"], like.new_empty(sum(one.numel() for _, one in self._named)))
        self._factors.restore(state["factors"], wide.new_empty(length))
        self._curvature.means = [None if one is None else one.to(wide).clone() for one in state["means"]]
        self._curvature.decomposed = [None if one is None else one.to(wide).clone() for one in state["decomposed"]]
        self._taken = []
        self._recorder.take()
        self._index, self._numbers = int(state["step_count"]), None
        self.sent_bytes = defaultdict(int, state["sent_bytes"])
        owned = self._owned_factors() if self.settings.scheme == "owners" else range(len(self._curvature.sizes))
        self._curvature.bases = self._curvature.bases_of(owned)

    @property
    def _now(self) -> Numbers:
        """The numbers of this step; a schedule is not asked before they are needed."""
        if self._numbers is None:
            self._numbers = self.settings.at(self._index)
        return self._numbers

    def _wants_factors(self) -> bool:
        return self._index % self._now.factor_period == 0

    def _wants_decompositions(self) -> bool:
        return self._curvature.is_lacking or self._index % self._now.decomposition_period == 0

    def _problem(self, products: Mapping[str, Products]) -> str:
        """Why this worker cannot take the step; empty if it can."""
        trained = {name for name, one in self._model.named_parameters() if one.requires_grad}
        if changed := sorted(trained ^ {name for name, _ in self._named}):
            return f"parameters were frozen or freed since Kfac was made: {', '.join(changed)}; make a new one"
        for place, layer in enumerate(self._layers):
            gradients = [one.grad for one in layer.parameters if one.grad is not None]
            if layer.name in products or not any(bool(one.any()) for one in gradients):
                continue
            if self._curvature.means[2 * place] is None:
                return (
                    f"layer {layer.name!r} has a gradient but no factors: since the last step that averages them it "
                    "was not used in training mode (see factor_period)"
                )
        missing = [layer.name for layer in self._layers if layer.name not in products]
        if missing and self._wants_factors() and not self.settings.factors.is_whole:
            return f"a selection of factors needs all layers in use, and {', '.join(missing)} are not"
        return ""

    def _first_unfit(self, taken: _Taken) -> int:
        """The first parameter, or behind them the first layer, where something is not finite; −1 if all is."""
        sizes = [one.numel() for _, one in self._named]
        for place, part in enumerate(taken.gradient.split(sizes)):
            if not bool(part.isfinite().all()):
                return place
        for place, layer in enumerate(self._layers):
            if not all(bool(one.isfinite().all()) for one in taken.factors.get(layer.name, ())):
                return len(sizes) + place
        return -1

    def _agree(self, taken: Sequence[_Taken]) -> None:
        """Make sure that all workers can take this step, and take the same.

        Raises:
            ValueError, FloatingPointError, ExchangeError: see `step`.
        """
        rows = []
        for one in taken:
            used = (one.used, sorted(one.factors), [name for name, _ in self._named], self._curvature.sizes)
            digest = hashlib.sha256(repr((self._index, self._now, used)).encode()).digest()
            # 48 bits, so that the number passes through a float64 unchanged.
            number = float(int.from_bytes(digest[:6], "little"))
            rows.append((number, float(self._first_unfit(one)), float(bool(one.problem))))
        self.sent_bytes["agreement"] += HEADER_BYTES * self._worker_count
        digests, unfit, problems = zip(*self._sharing.gather_rows(rows), strict=True)
        if own := next((one.problem for one in taken if one.problem), ""):
            raise ValueError(own)
        if ranks := [rank for rank, problem in enumerate(problems) if problem]:
            raise ValueError(f"workers {ranks} cannot take step {self._index}, and so none does; they say why")
        names = [f"gradient of {name}" for name, _ in self._named] + [f"factor of {name}" for name in self.layers]
        if said := [f"the {names[int(place)]} of worker {rank}" for rank, place in enumerate(unfit) if place >= 0]:
            raise FloatingPointError(f"step {self._index}: {', '.join(said)} is not finite; try a smaller step size")
        if ranks := [rank for rank, digest in enumerate(digests) if digest != digests[0]]:
            raise ExchangeError(
                f"step {self._index}: workers {ranks} have used other layers than worker 0, or have another model, "
                f"other settings or another number of steps; here: {self._now}, layers {sorted(taken[0].factors)}"
            )

    def _write(self, mean: Tensor, used: Sequence[int]) -> None:
        parts = mean.split([one.numel() for _, one in self._named])
        for place in used:
            parameter = self._named[place][1]
            assert parameter.grad is not None
            parameter.grad.copy_(parts[place].view_as(parameter))

    def _average_factors(self, taken: Sequence[_Taken]) -> None:
        """Move the running means of the layers that were used."""
        places = [place for place, layer in enumerate(self._layers) if layer.name in taken[0].factors]
        if not places:
            return
        names = [self._layers[place].name for place in places]
        average = self._factors.mean(
            [packed_triangles([matrix for name in names for matrix in one.factors[name]]) for one in taken]
        )
        self.sent_bytes["factors"] += average.sent_bytes
        both = [2 * place + side for place in places for side in (0, 1)]
        self._curvature.average(average.mean, both, self._now.decay)

    def _decompose(self) -> None:
        """Decompose the running means as they are now, each by its owner."""
        curvature = self._curvature
        curvature.decomposed = list(curvature.means)
        if self.settings.scheme == "owners":
            curvature.bases = curvature.bases_of(self._owned_factors())
            return
        counts = [0 if mean is None else basis_count(len(mean)) for mean in curvature.means]
        own = [curvature.bases_of(self._share(rank, len(counts))) for rank in self._ranks]
        parts = self._shared("decompositions", [[one.packed() for one in bases.values()] for bases in own], counts)
        curvature.bases = {
            place: unpacked_basis(part, curvature.sizes[place]) for place, part in enumerate(parts) if counts[place]
        }

    def _share(self, rank: int, count: int) -> range:
        return share_of(rank, self._worker_count, count)

    def _owned_factors(self) -> list[int]:
        """Both factors of the layers that workers of this process own."""
        layers = [layer for rank in self._ranks for layer in self._share(rank, len(self._layers))]
        return [2 * layer + side for layer in layers for side in (0, 1)]

    def _shared(self, subject: str, parts: Sequence[Sequence[Tensor]], counts: Sequence[int]) -> list[Tensor]:
        """All things in order, of which the local workers give their parts.

        Args:
            subject: of the bytes.
            parts: of each local worker.
            counts: numbers of each thing, 0 where there is none.
        """
        length = largest_share(counts, self._worker_count)
        if not length:
            return [torch.empty(0)] * len(counts)
        like = next(mean for mean in self._curvature.means if mean is not None)
        gathered = self._sharing.gather_vectors([share_vector(one, length, like) for one in parts])
        self.sent_bytes[subject] += gathered.sent_bytes
        return from_shares(gathered.vectors, counts)

    def _precondition(self) -> None:
        """Put preconditioned gradients in the place of the averaged ones, of the layers that have some."""
        active = [
            self._curvature.decomposed[2 * place] is not None and all(one.grad is not None for one in layer.parameters)
            for place, layer in enumerate(self._layers)
        ]
        old = {place: layer.matrix() for place, layer in enumerate(self._layers) if active[place]}
        solved, damping = self._curvature.solved, self._now.damping
        if self.settings.scheme == "owners":
            counts = [old[place].numel() if place in old else 0 for place in range(len(active))]
            shares = [[place for place in self._share(rank, len(active)) if active[place]] for rank in self._ranks]
            made = [[solved(place, old[place], damping) for place in one] for one in shares]
            parts = self._shared("preconditioned", made, counts)
            new = {place: parts[place].view_as(matrix) for place, matrix in old.items()}
        else:
            new = {place: solved(place, matrix, damping) for place, matrix in old.items()}
        scale = clipping([(new[place], old[place]) for place in old], self._now.step_size, self.settings.clip)
        for place, matrix in new.items():
            self._layers[place].set_gradient(matrix * scale)
