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

from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from sparsync.experiments.averaging.header import HEADER_BYTES
from sparsync.experiments.learning.kfac_factors import (
    Curvature,
    Shares,
    basis_count,
    clipping,
    factor_shares,
    layer_shares,
    packed_triangles,
    triangle_count,
    unpacked_basis,
)
from sparsync.experiments.learning.kfac_layers import Products, Recorder, factors_of, find_layers
from sparsync.experiments.learning.kfac_sending import (
    Agreement,
    NewAverager,
    Sender,
    Taken,
    fitting_count,
    group_averager,
    shared,
)
from sparsync.experiments.learning.kfac_settings import KfacSettings, Numbers
from sparsync.experiments.training.collectives import LocalAverager


class Kfac:
    """Averages the gradients of a model over all workers, and preconditions those of its layers.

    Works without a process group, and with the default one under torchrun. Several workers may live in a process: call
    `collect` after the backward pass of each, and `step` once. Several backward passes before a step are one batch,
    their gradients being what has gathered; one that is no part of a step is made while `paused`, or followed by
    `discard`. Parameters in `plain` get the averaged gradient as it is.

    B, by which the curvature is scaled, is counted along the first axis of a layer's outputs. Where that is not the
    axis of examples, or tokens are flattened into it, say it: `step(example_count=B)`.

    Args:
        model: the plain model, not one wrapped for data-parallel training; called as a whole. It stays as it is but
            for hooks.
        settings: what is done.
        new_averager: how workers meet, and how long they wait; None is the default group, whose dense vectors are
            all-reduced, and its timeout.
        worker_count: over all processes; None is one a process.
        ranks: of the workers of this process, in the order in which they are collected; None is its own.
        excluded: names of layers that are to be left plain.

    Raises:
        ValueError: a wrapped model, one without trained parameters, or parameters of several dtypes or devices; no
            worker, ranks that do not ascend from 0 below `worker_count`, or fewer than it where this process is alone;
            a name of `excluded` that is not that of a layer with factors.
    """

    def __init__(
        self,
        model: nn.Module,
        settings: KfacSettings | None = None,
        *,
        new_averager: NewAverager = group_averager,
        worker_count: int | None = None,
        ranks: Sequence[int] | None = None,
        excluded: Sequence[str] = (),
    ) -> None:
        if isinstance(model, DistributedDataParallel):
            raise ValueError("Kfac averages gradients itself; give it the module within DistributedDataParallel")
        self.settings = KfacSettings() if settings is None else settings
        joined = dist.is_available() and dist.is_initialized()
        self._ranks = list(ranks) if ranks is not None else [dist.get_rank() if joined else 0]
        everybody = dist.get_world_size() if joined else len(self._ranks)
        self._worker_count = fitting_count(self._ranks, everybody if worker_count is None else worker_count)
        self._named = [(name, one) for name, one in model.named_parameters() if one.requires_grad]
        self._model = model
        kinds = {(one.dtype, one.device) for _, one in self._named}
        if len(kinds) != 1:
            raise ValueError(f"expected trained parameters of one dtype and device, got {sorted(map(str, kinds))}")
        self._layers, self.plain = find_layers(model, excluded)
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
        if isinstance(self._sharing, LocalAverager) and len(self._ranks) != self._worker_count:
            raise ValueError(f"this process is alone: expected all {self._worker_count} workers, got {self._ranks}")
        sizes = {name: one.numel() for name, one in self._named}
        self._agreement = Agreement(self._sharing, self._ranks, self._worker_count, sizes, self.layers)
        self._taken: list[Taken] = []
        self._index = 0
        self._numbers: Numbers | None = None
        self._curvature = Curvature([size for layer in self.layer_sizes for size in layer])
        self._factor_shares = factor_shares(self._curvature.sizes, self._worker_count)
        self._layer_shares = layer_shares(self.layer_sizes, self._worker_count)
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

    def discard(self) -> None:
        """Forget the backward passes since the last `collect` or `step`, of a batch that is not to count.

        Gradients are the caller's to set to zero. Workers that were collected stay so.
        """
        self._recorder.take()

    def paused(self) -> AbstractContextManager[None]:
        """Within it forward and backward passes are no part of a step, such as those of `torch.autograd.grad`.

        A model that was called within it has no factors of that pass, wherever it goes backward.
        """
        return self._recorder.paused()

    def collect(self, example_count: int | None = None) -> None:
        """Take the gradients and products of one worker's batch, and set the gradients to zero for the next.

        Args:
            example_count: B of all backward passes since the last; None counts the first axis of the outputs.

        Raises:
            ValueError: all workers of this process have been collected already, or an `example_count` below 1.
        """
        if len(self._taken) == len(self._ranks):
            raise ValueError(f"all {len(self._ranks)} workers of this process have been collected already")
        if example_count is not None and example_count < 1:
            raise ValueError(f"example_count must be at least 1, or None, got {example_count}")
        vector = torch.cat(
            [(torch.zeros_like(one) if one.grad is None else one.grad).flatten() for _, one in self._named]
        )
        used = tuple(place for place, (_, one) in enumerate(self._named) if one.grad is not None)
        products, reduction = self._recorder.take(), self.settings.loss_reduction
        factors = {name: factors_of(found, reduction, example_count) for name, found in products.items()}
        self._taken.append(Taken(vector, factors, used, self._problem(products)))
        for _, one in self._named:
            if one.grad is not None:
                one.grad.zero_()

    @torch.no_grad()
    def step(self, example_count: int | None = None) -> None:
        """Put averaged gradients, preconditioned where there are factors, in the place of the model's gradients.

        Where only one worker lives in this process, it need not be collected. A layer without any gradient, on all
        workers, keeps none. Workers first agree on the step. If they do not, nothing was changed: the gradients of a
        worker that is alone in its process are as they were, and what is known of its batch's factors is discarded.

        Args:
            example_count: as in `collect`, where that is left to this.

        Raises:
            ValueError: a worker was not collected, was frozen, has a layer without factors, or its rank does not fit
                the others'; the others hear of it. An `example_count` for workers that were collected.
            FloatingPointError: a gradient or factor of a worker is not finite; on all workers alike.
            ExchangeError: a worker is lost, does not come in time, has used other layers, or has other settings.
        """
        if not self._taken and len(self._ranks) == 1:
            self.collect(example_count)
        elif example_count is not None:
            raise ValueError(f"example_count {example_count} is for `collect` where that is called")
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
            "worker_count": self._worker_count,
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
            ValueError: it is of other layers, lacks a worker of this process, or is of another number of workers,
                who remember something. Nothing was changed then.
        """
        layers = [[layer.name, layer.input_size, layer.output_size] for layer in self._layers]
        if state["layers"] != layers:
            raise ValueError(f"the state is of the layers {state['layers']}, the model has {layers}")
        if (count := state["worker_count"]) != self._worker_count and (state["gradients"] or state["factors"]):
            raise ValueError(f"the state has memories of {count} workers, and there are {self._worker_count}")
        like = self._named[0][1].detach()
        wide = like.new_empty(0, dtype=torch.promote_types(like.dtype, torch.float32))
        length = sum(map(triangle_count, self._curvature.sizes))
        dimension = sum(one.numel() for _, one in self._named)
        gradients = self._gradients.restored(state["gradients"], like.new_empty(dimension))
        factors = self._factors.restored(state["factors"], wide.new_empty(length))
        self._gradients.go_on(gradients)
        self._factors.go_on(factors)
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
                    "was not used in training mode (see factor_period; a layer that is never called is to be excluded)"
                )
        missing = [layer.name for layer in self._layers if layer.name not in products]
        if missing and self._wants_factors() and not self.settings.factors.is_whole:
            return f"a selection of factors needs all layers in use, and {', '.join(missing)} are not"
        return ""

    def _agree(self, taken: Sequence[Taken]) -> None:
        """Make sure that all workers can take this step, and take the same; else the gradients are what they were.

        Raises:
            ValueError, FloatingPointError, ExchangeError: see `step`.
        """
        self.sent_bytes["agreement"] += HEADER_BYTES * self._worker_count
        try:
            self._agreement.require(taken, self._index, (self._now, self.settings.fixed(), self._curvature.sizes))
        except Exception:
            if len(taken) == 1:
                self._write(taken[0].gradient, taken[0].used)
            raise

    def _write(self, mean: Tensor, used: Sequence[int]) -> None:
        parts = mean.split([one.numel() for _, one in self._named])
        for place in used:
            parameter = self._named[place][1]
            assert parameter.grad is not None
            parameter.grad.copy_(parts[place].view_as(parameter))

    def _average_factors(self, taken: Sequence[Taken]) -> None:
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
        shares = self._factor_shares
        own = [curvature.bases_of(shares[rank]) for rank in self._ranks]
        packed = [[one.packed() for one in bases.values()] for bases in own]
        parts = self._shared("decompositions", packed, counts, shares)
        curvature.bases = {
            place: unpacked_basis(part, curvature.sizes[place]) for place, part in enumerate(parts) if counts[place]
        }

    def _owned_factors(self) -> list[int]:
        """Both factors of the layers that workers of this process own."""
        layers = [layer for rank in self._ranks for layer in self._layer_shares[rank]]
        return [2 * layer + side for layer in layers for side in (0, 1)]

    def _shared(
        self, subject: str, parts: Sequence[Sequence[Tensor]], counts: Sequence[int], shares: Shares
    ) -> list[Tensor]:
        """All things in order, see `shared`; their bytes are the subject's."""
        like = next((mean for mean in self._curvature.means if mean is not None), torch.empty(0))
        found, sent_bytes = shared(self._sharing, parts, counts, shares, like)
        self.sent_bytes[subject] += sent_bytes
        return found

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
            shares = self._layer_shares
            own = [[place for place in shares[rank] if active[place]] for rank in self._ranks]
            made = [[solved(place, old[place], damping) for place in one] for one in own]
            parts = self._shared("preconditioned", made, counts, shares)
            new = {place: parts[place].view_as(matrix) for place, matrix in old.items()}
        else:
            new = {place: solved(place, matrix, damping) for place, matrix in old.items()}
        scale = clipping([(new[place], old[place]) for place in old], self._now.step_size, self.settings.clip)
        for place, matrix in new.items():
            self._layers[place].set_gradient(matrix * scale)
