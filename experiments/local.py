"""Local steps with a sparse outer update: ranks train alone for H steps, then send the largest of what they changed.

    outer = OuterStep(model, inner_steps=30, density=0.02)
    for …:
        loss.backward(); optimiser.step(); outer.step()

Δ = θ − θ_local after H steps of any optimiser is the pseudo-gradient; u = βe + Δ; C(u) is sent, in few bits if asked
for; e ← u − what was sent; θ ← the outer optimiser's step along the mean; every rank goes on from θ. The form is that
of SparseLoCo (Sarfi et al. 2025); β = 1 and SGD inside is Qsparse-local-SGD (Basu et al. 2019). Where all entries are
sent it is DiLoCo (Douillard et al. 2023), with Nesterov's momentum outside. Written from their descriptions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from sparsync.experiments.hooks.agreement import require_agreement
from sparsync.experiments.hooks.naming import named_parameters
from sparsync.experiments.hooks.treatments import require_density
from sparsync.experiments.local_messages import encoded, gathered, mean_of
from sparsync.experiments.training.arrivals import TIMEOUT_SECONDS, require_timeout
from sparsync.experiments.training.seeding import random_stream
from sparsync.kernels.call_plan import Rule
from sparsync.kernels.codec import Indices, Values, keep_error
from sparsync.kernels.codec_indices import INDEX_CODES
from sparsync.kernels.codec_values import VALUE_CODES
from sparsync.kernels.native import KERNEL_RULES, SelectionState, feedback_select
from sparsync.kernels.payload import SparsePayload
from sparsync.kernels.selection import SELECTORS, target_count

OuterOptimiser = Callable[[list[Tensor]], torch.optim.Optimizer]


def plain_step(parameters: list[Tensor]) -> torch.optim.Optimizer:
    """θ ← θ − mean: with all entries sent, the mean of the ranks' parameters."""
    return torch.optim.SGD(parameters, lr=1.0)


class OuterStep:
    """What one rank keeps between outer steps: where all ranks began, and what it has not sent.

    θ, e and the selection are on the model's device, and in float32 where parameters have fewer bits. Of a model on a
    GPU the entries that are sent come to the CPU for the codec, and travel on a device that the process group serves:
    the CPU with gloo, a GPU with NCCL. An outer step waits for all of that; nothing of it overlaps with inner steps.

    Args:
        model: with the same parameters on every rank, all on one device; those that need a gradient are trained.
        inner_steps: H, steps of the rank's own optimiser between two exchanges.
        selector: a key of `SELECTORS`; "keep_all" is dense.
        density: k/d of the whole model.
        decay: β in [0, 1], of the residual before the pseudo-gradient is added. Theory prefers 1 where ranks differ, as
            less loses what it forgets. On small networks 0.95 and 1 ended alike, and less ended worse.
        values: how values are sent: "exact", "fp32", "bf16", "int8" or "int2"; what they lose stays in the residual.
        positions: how positions are sent: "rice"; "int12", which is SparseLoCo's form and the shorter one only where
            a chunk of "chunked_top_k" sends few entries; or "int32".
        outer_optimiser: from [θ] to the optimiser of the outer step. θ is one vector of all parameters, which gets the
            mean as its gradient: there are no groups of parameters, and no shapes.
        seed: names the draws of a random selector.
        process_group: None is the default one.
        timeout_seconds: how long ranks wait for each other: the slowest for H inner steps longer than the fastest.

    Raises:
        ValueError: an argument is not as said; or, on every rank alike, ranks have other settings or parameters.
    """

    def __init__(
        self,
        model: nn.Module,
        *,
        inner_steps: int,
        selector: str = "chunked_top_k",
        density: float = 0.02,
        decay: float = 0.95,
        values: Values = "exact",
        positions: Indices = "rice",
        outer_optimiser: OuterOptimiser = plain_step,
        seed: int = 0,
        process_group: dist.ProcessGroup | None = None,
        timeout_seconds: float = TIMEOUT_SECONDS,
    ) -> None:
        _require_steps(inner_steps, decay)
        require_timeout(timeout_seconds)
        _require_known("selector", selector, SELECTORS)
        _require_known("value code", values, VALUE_CODES)
        _require_known("position code", positions, INDEX_CODES)
        require_density(density, "density")
        self.process_group, self.timeout_seconds = process_group, timeout_seconds
        self._parameters = named_parameters(model)
        self._device = next(iter(self._parameters.values())).device
        self._inner_steps, self._selector, self._decay = inner_steps, selector, decay
        self._values, self._positions, self._seed = values, positions, seed
        self._rank, self._world_size = dist.get_rank(process_group), dist.get_world_size(process_group)
        self._anchor = self._flat()
        self._dimension = self._anchor.numel()
        self._residual = torch.zeros_like(self._anchor)
        self._selection = SelectionState()
        self._k = self._dimension if selector == "keep_all" else target_count(density, self._dimension)
        self._outer = outer_optimiser([self._anchor])
        self.step_count = 0
        """Inner steps so far."""
        self.sent_bytes = 0
        """What this rank has handed to collectives so far."""
        names = [(name, tuple(p.shape), p.dtype) for name, p in self._parameters.items()]
        settings = (inner_steps, selector, self._k, decay, values, positions, seed, repr(self._outer))
        parts = {"the parameters": names, "the settings": settings, "the values of the parameters": self._digest()}
        require_agreement(parts, what="before the first step", group=process_group, timeout_seconds=timeout_seconds)

    def step(self) -> bool:
        """Count an inner step; at every H-th exchange, and put θ into the model. True iff it did.

        Raises:
            ValueError: the parameters have moved to another device.
            ExchangeError: on every rank alike, if ranks are at other steps, one of them does not come in time, or what
                arrives is not what was sent.
            FloatingPointError: on every rank alike, if what a rank would send is not finite. θ and e have not changed
                in any of these cases.
        """
        self.step_count += 1
        if self.step_count % self._inner_steps:
            return False
        self._anchor.grad = self._mean(self._change())
        self._outer.step()
        self._anchor.grad = None
        self._fill()
        return True

    @property
    def pending(self) -> Tensor:
        """A copy of e [d]."""
        return self._residual.clone()

    def state_dict(self) -> dict[str, Any]:
        """This rank's: θ and e by the parameter's name, the outer optimiser's state and the count; tensors are copies.

        Every rank saves its own, and with it its model and its own optimiser: between two outer steps they differ.
        """
        return {
            "step": self.step_count,
            "rank": self._rank,
            "world_size": self._world_size,
            "inner_steps": self._inner_steps,
            "anchor": self._shaped(self._anchor),
            "residuals": self._shaped(self._residual),
            # What an optimiser returns are its own tensors, and it keeps those that it is given.
            "outer": deepcopy(self._outer.state_dict()),
        }

    def load_state_dict(self, saved: Mapping[str, Any]) -> None:
        """Go on from what `state_dict` returned on this rank; nothing changes if that cannot be.

        The model's parameters are loaded by whoever saved them.

        Args:
            saved: of the same rank of as many ranks. Of another number of ranks: `resized` first.

        Raises:
            ValueError: another rank or number of ranks, other parameters or shapes, or the outer optimiser refuses.
        """
        place, now = (saved["rank"], saved["world_size"]), (self._rank, self._world_size)
        if place != now:
            raise ValueError(
                f"this outer step is of rank {place[0]} of {place[1]}, this is rank {now[0]} of {now[1]}; "
                "sparsync.experiments.local_states.resized carries those of all ranks to another number of ranks"
            )
        anchor, residual = self._joined(saved["anchor"], "θ"), self._joined(saved["residuals"], "the residual")
        self._outer.load_state_dict(deepcopy(saved["outer"]))
        self._anchor.copy_(anchor)
        self._residual.copy_(residual)
        self.step_count = int(saved["step"])

    def _change(self) -> Tensor:
        """Δ [d], against θ as the parameters could hold it: what they round is nobody's descent."""
        given = [part.to(p.dtype).to(part.dtype) for p, part in self._parts(self._anchor)]
        return torch.cat([part.flatten() for part in given]) - self._flat()

    def _mean(self, change: Tensor) -> Tensor:
        """The mean of all ranks' messages [d]; e becomes what this rank's lacks."""
        residual = self._residual * self._decay
        message = self._message(change, residual)
        messages, sent_bytes = gathered(
            message,
            self.step_count,
            dimension=self._dimension,
            group=self.process_group,
            near=change.device,
            timeout_seconds=self.timeout_seconds,
        )
        self._residual = residual
        self.sent_bytes += sent_bytes
        return mean_of(messages, change)

    def _message(self, change: Tensor, residual: Tensor) -> Tensor:
        """C(βe + Δ) in bytes, in none of them if that is not finite; βe becomes what they lack."""
        nothing = torch.empty(0, dtype=torch.uint8)
        # Both are finite where their sum is.
        if not torch.isfinite(residual + change).all():
            return nothing
        payload = self._selected(change, residual)
        try:
            message, sent = encoded(payload, values=self._values, positions=self._positions)
        except ValueError:
            # Finite, but not in the dtype that is sent.
            return nothing
        keep_error(residual, payload, sent)
        return message

    def _selected(self, change: Tensor, residual: Tensor) -> SparsePayload:
        """C(βe + Δ); the rest becomes the residual."""
        if self._selector in KERNEL_RULES:
            rule: Rule = self._selector  # type: ignore[assignment]
            return feedback_select(change, residual, self._k, rule=rule, state=self._selection)
        generator = random_stream(self._seed, f"outer selection in step {self.step_count}", self._rank)
        corrected = residual + change
        payload = SELECTORS[self._selector](corrected, self._k, generator)
        residual.copy_(payload.remainder(corrected))
        return payload

    def _flat(self) -> Tensor:
        """The parameters as one vector of float32, or of float64 where one of them is; a copy.

        Raises:
            ValueError: they are not on one device, that of θ.
        """
        devices = {str(device) for device in (self._device, *(p.device for p in self._parameters.values()))}
        if len(devices) > 1:
            raise ValueError(f"the parameters and θ must be on one device, got {', '.join(sorted(devices))}")
        dtype = torch.float32
        for parameter in self._parameters.values():
            dtype = torch.promote_types(dtype, parameter.dtype)
        return torch.cat([parameter.detach().to(dtype).flatten() for parameter in self._parameters.values()])

    @torch.no_grad()
    def _fill(self) -> None:
        for parameter, part in self._parts(self._anchor):
            parameter.copy_(part)

    def _parts(self, flat: Tensor) -> list[tuple[nn.Parameter, Tensor]]:
        """Each parameter with its part of a vector [d], in its shape."""
        parameters = list(self._parameters.values())
        parts = flat.split([parameter.numel() for parameter in parameters])
        return [(p, part.view(p.shape)) for p, part in zip(parameters, parts, strict=True)]

    def _shaped(self, flat: Tensor) -> dict[str, Tensor]:
        """Copies of the parts of a vector [d], by the parameters' names."""
        return {name: part.clone() for name, (_, part) in zip(self._parameters, self._parts(flat), strict=True)}

    def _joined(self, shaped: Mapping[str, Tensor], what: str) -> Tensor:
        """The vector [d] of parts by name, as `_shaped` makes them; none of the names or shapes may differ."""
        if differing := sorted(shaped.keys() ^ self._parameters.keys()):
            named = ", ".join(map(repr, differing))
            raise ValueError(f"{what} of {named} was saved, or is of the model, but not both")
        for name, parameter in self._parameters.items():
            if shaped[name].shape != parameter.shape:
                was, now = tuple(shaped[name].shape), tuple(parameter.shape)
                raise ValueError(f"{what} of {name!r} was saved with shape {was}, the parameter has {now}")
        return torch.cat([shaped[name].flatten() for name in self._parameters]).to(self._anchor)

    def _digest(self) -> tuple[int, int]:
        """Two numbers that other parameters would hardly give.

        They are of the bits: sums of integers are the same on every device, in whatever order it adds.
        """
        bits = self._anchor.double().view(torch.int64)
        places = torch.arange(1, 2 * self._dimension, 2, device=bits.device)
        return int(bits.sum()), int((bits * places).sum())


def _require_steps(inner_steps: object, decay: float) -> None:
    if isinstance(inner_steps, bool) or not isinstance(inner_steps, int) or inner_steps < 1:
        raise ValueError(f"inner_steps must be an int of at least 1, got {inner_steps!r}")
    if not 0 <= decay <= 1:
        raise ValueError(f"decay must lie in [0, 1], got {decay}")


def _require_known(what: str, name: str, known: Mapping[str, object]) -> None:
    if name not in known:
        raise ValueError(f"unknown {what} {name!r}; known: {', '.join(known)}")
