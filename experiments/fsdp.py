"""Top-k with error feedback for FSDP2: shards are reduce-scattered as they are, replicas exchange few entries of them.

    mesh = init_device_mesh("cuda", (2, 4), mesh_dim_names=("replicate", "shard"))
    fully_shard(model, mesh=mesh["shard"])
    state = ShardedErrorFeedback(model, mesh, density=0.01)

Over both dimensions of the mesh (HSDP) PyTorch all-reduces every entry before it calls a hook; so `fully_shard` is told
of one, and the state is the exchange over the other. Save `state.state_dict()` with every rank's checkpoint.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any, Literal

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh

from sparsync.experiments.hooks.agreement import require_agreement
from sparsync.experiments.hooks.exchange import Exchange
from sparsync.experiments.hooks.options import (
    chosen_feedback,
    require_granularity,
    require_schedule,
    require_selector,
    require_updates,
)
from sparsync.experiments.hooks.pieces import Group, Piece, Rule, Scaling, averages_of
from sparsync.experiments.hooks.residuals import Foreign, Missing, Residuals
from sparsync.experiments.hooks.sharding import ShardGroup, shard_groups
from sparsync.experiments.hooks.side import side_for
from sparsync.experiments.hooks.treatments import Density, Rules, Treatment
from sparsync.experiments.hooks.unread import Unread, read_all
from sparsync.experiments.hooks.watching import Watch
from sparsync.experiments.training.arrivals import TIMEOUT_SECONDS, require_timeout

Granularity = Literal["tensor", "group"]
GRANULARITIES: tuple[Granularity, ...] = ("tensor", "group")


class ShardedErrorFeedback:
    """What one rank keeps of its shards: residuals by the parameter's name, and how they are sent to the replicas.

    The gradient g of each shard, the mean over the ranks of one replica, is added to its residual e; C(e + g) is sent
    to the ranks with the same shard, averaged over them and handed to the optimiser; e + g − C(e + g) is the next
    residual, bit for bit. Another `feedback` remembers and delivers what it says. The state registers itself; without
    it replicas would not exchange anything.

    Where a gradient is not finite, all ranks with that shard raise `FloatingPointError` in the same step; on GPUs,
    which are not waited for, in the next one, or as soon as `pending` or `state_dict` ask. What
    `set_requires_all_reduce(False)` holds back is added to the next gradient that is sent.

    Args:
        model: after `fully_shard` over the mesh's second dimension, with values.
        mesh: (replicate, shard).
        selector: a key of `SELECTORS`; "keep_all" is plain HSDP, in bits where there are two replicas.
        density: k/d of every shard without a rule, or a function of the step alone, from 0; the same on every rank.
            Where it says another density of a step than when ranks compared it, it is refused before that is sent.
        rules: regular expressions, searched for in parameters' names: "dense", "excluded" (each replica keeps its own
            gradient) or a density; the first that is found decides. Parameters of at most one dimension are dense
            unless a rule says otherwise.
        feedback: a key of `FEEDBACKS`, with the step size outside. Dense parameters have no memory and get plain means,
            unless the variant delivers updates, as "rmsprop": then they are sent by way of it, with density 1.
        feedback_settings: its hyperparameters by name, as {"decay": 0.9}; others have their defaults.
        granularity: one selection from each shard of a tensor, or from all shards of one call of `fully_shard`.
        dense_steps: so many steps at first send everything.
        seed: names the draws of a random selector.
        timeout_seconds: how long replicas wait for each other in an exchange, and so for one that evaluates or saves
            alone.
        telemetry: who watches what replicas exchange, see `sparsync.experiments.hooks.telemetry`; on some ranks, all or
            none.

    Raises:
        ValueError: an argument is not as said or does not go with another, a rule decides for no parameter, the model
            has a state already, or it is not sharded as said; nothing is registered then.
    """

    def __init__(
        self,
        model: nn.Module,
        mesh: DeviceMesh,
        *,
        selector: str = "top_k",
        density: float | Callable[[int], float] = 0.01,
        rules: Mapping[str, Treatment] | None = None,
        feedback: str = "ef14",
        feedback_settings: Mapping[str, float] | None = None,
        granularity: Granularity = "tensor",
        dense_steps: int = 0,
        seed: int = 0,
        timeout_seconds: float = TIMEOUT_SECONDS,
        telemetry: Watch | None = None,
    ) -> None:
        require_selector(selector)
        require_timeout(timeout_seconds)
        require_granularity(granularity, GRANULARITIES)
        require_schedule(density, dense_steps)
        variant = chosen_feedback(feedback, feedback_settings, selector=selector, values="exact")
        require_updates(variant, feedback, dense_steps=dense_steps, rules=rules or {})
        groups, shards = shard_groups(model, mesh)
        self._rules = Rules(dict(rules or {}))
        self._rules.check(shards.shapes)
        self._selector, self._density, self._granularity = selector, Density(density), granularity
        self._dense_steps, self._telemetry, self.timeout_seconds = dense_steps, telemetry, timeout_seconds
        self._rule = Rule(selector, variant, "exact", seed, is_joint=granularity == "group")
        self.process_group: dist.ProcessGroup = mesh.get_group(0)
        """The ranks with the same shards."""
        self._places = {group.name: place for place, group in enumerate(groups)}
        self._local = {name: shard for group in groups for name, shard in group.local().items()}
        self._residuals = Residuals(self._local, variant)
        self.shards = shards.renamed(self._residuals.owners(self._local))
        """By the keys of what is saved."""
        self._held: dict[str, Tensor] = {}
        self._agreed: set[str] = set()
        # All of them: the next gradient begins a step.
        self._in_step = set(self._places)
        self._refused, self._failure = list[tuple[str, int]](), ""
        self._exchanges: dict[str, tuple[object, Exchange | None]] = {}
        self._side, self._unread = cache(side_for), dict[str, Unread]()
        self.step = 0
        """Steps in which gradients were exchanged; one begins when a module's are exchanged again."""
        self.sent_bytes = 0
        """What this rank has handed to collectives between replicas so far."""
        for group in groups:
            group.require_free()
        for group in groups:
            group.module.set_all_reduce_hook(partial(self._communicate, group))

    def pending(self, name: str) -> Tensor:
        """A copy of what this rank has not yet sent of its shard, in the shard's shape; zeros for a dense parameter.

        Raises:
            ValueError: the model has no such parameter that needs a gradient.
        """
        if name not in self._local:
            raise ValueError(f"no parameter that needs a gradient is called {name!r}")
        self._read()
        return self._residuals.pending(name)

    def state_dict(self) -> dict[str, Any]:
        """This rank's residuals and step, to be saved by every rank between two steps; tensors are copies.

        Raises:
            ValueError: `set_requires_all_reduce(False)` holds gradients back, which belong to no checkpoint; or a step
                has failed and nothing was loaded since.
        """
        if self._held:
            raise ValueError(
                f"set_requires_all_reduce(False) holds gradients of modules {[*self._held]} back: send them"
            )
        self._read()
        if self._failure:
            raise ValueError(
                f"what was sent in a step that failed is in no residual; load a checkpoint: {self._failure}"
            )
        self._in_step = set(self._places)
        return {"step": self.step, **self.place(), "residuals": self._residuals.shaped()}

    def load_state_dict(
        self, saved: Mapping[str, Any], *, missing: Missing = "error", foreign: Foreign = "error"
    ) -> None:
        """Go on from what `state_dict` returned on this rank; nothing changes if that cannot be.

        Args:
            saved: of the same shard of the same replica. Of another mesh: `sparsync.experiments.hooks.checkpoint`.
            missing: "zero" begins anew where no residual was saved for a parameter; "error" refuses.
            foreign: "drop" leaves out what was saved of a parameter that is not there, or has no residual now.

        Raises:
            ValueError: another place in the mesh, or a residual is missing, foreign, or has another shape.
        """
        place, now = {key: saved.get(key) for key in self.place()}, self.place()
        if place != now:
            raise ValueError(
                f"these residuals are of {_described(place)}, this is {_described(now)}; "
                "sparsync.experiments.hooks.checkpoint carries them to another mesh"
            )
        residuals = saved["residuals"]
        expected = self._residuals.keys(self._expected())
        if saved["step"] <= self._dense_steps:
            expected &= residuals.keys()
        self._residuals.load(residuals, expected=expected, missing=missing, foreign=foreign)
        self._exchanges, self._held, self._in_step = {}, {}, set(self._places)
        self._unread, self._refused, self._failure = {}, [], ""
        self.step = int(saved["step"])

    def _communicate(self, group: ShardGroup, reduced: Tensor) -> None:
        """What the hook does: the means over the replicas take the place of this replica's gradients."""
        if group.name in self._in_step:
            self._read()
        if self._telemetry is not None and not group.holds_back():
            self._telemetry.ready(self.step, is_first=group.name in self._in_step)
        parts = group.parts(reduced)
        if self._rule.feedback.is_update and group.is_divided_later(reduced.dtype):
            raise ValueError(
                f"{group.title()}: FSDP2 divides sums of gradients after the exchange, and so would the updates of "
                f"{self._rule.feedback}; reduce in float32 or bfloat16 instead of {reduced.dtype}, and force no sums"
            )
        held = self._held.pop(group.name, None)
        if group.holds_back():
            self._held[group.name] = reduced.clone() if held is None else held.add_(reduced)
            reduced.zero_()
            return
        if held is not None:
            reduced += held
        step = self._begun(group)
        exchange = self._exchange_of(group, parts, step)
        if exchange is not None:
            self._send(group, exchange, parts, step)

    def _send(self, group: ShardGroup, exchange: Exchange, parts: Mapping[str, Tensor], step: int) -> None:
        """Means take the place of the gradients of one exchange."""
        given = [parts[piece.name] for piece in exchange.pieces]
        sent = [piece.gradient for piece in exchange.pieces]
        torch._foreach_copy_(sent, given)
        self.sent_bytes += exchange.sent_bytes
        passage = None
        if self._telemetry is not None:
            passage = self._telemetry.passage(exchange.content, [self._places[group.name]])
        exchange.passage = passage
        try:
            exchange.begin(step, Scaling(), self._refuse).wait()
            if exchange.unread is not None:
                self._unread[group.name] = exchange.unread
            self._require_finite(step)
        except Exception as error:
            self._failure = str(error)
            raise
        torch._foreach_copy_(given, sent)
        if passage is not None:
            passage.end("unpack")

    def _begun(self, group: ShardGroup) -> int:
        """The step that this group is in, from 0: the next one, if it was exchanged in this one or this one is over."""
        if group.name in self._in_step:
            self._in_step = set()
            self.step += 1
        self._in_step.add(group.name)
        return self.step - 1

    def _exchange_of(self, group: ShardGroup, parts: Mapping[str, Tensor], step: int) -> Exchange | None:
        """The exchange of these shards, made anew where what is sent has changed; None: nothing is sent."""
        treatments = {name: self._treatment(name, step) for name in group.names}
        key = tuple(treatments.values())
        known = self._exchanges.get(group.name)
        if known is not None and known[0] == key:
            return known[1]
        pieces, buffer = self._pieces(treatments, parts)
        exchange = None
        if pieces:
            self._require_agreement(group, pieces, step)
            exchange = Exchange(
                pieces,
                [buffer],
                group=self._replicas(),
                rule=self._rule,
                side=self._side(buffer.device),
            )
        self._exchanges[group.name] = (key, exchange)
        return exchange

    def _replicas(self) -> Group:
        group = self.process_group
        return Group(group, dist.get_rank(group), self.place()["world_size"], self.timeout_seconds)

    def _pieces(self, treatments: Mapping[str, Treatment], parts: Mapping[str, Tensor]) -> tuple[list[Piece], Tensor]:
        """The shards that are sent, as parts of a buffer that stays from step to step, without padding."""
        residuals = {
            name: None if isinstance(treatment, str) else self._residuals.memory(name)
            for name, treatment in treatments.items()
        }
        sent = {name: part for name, part in parts.items() if treatments[name] != "excluded" and part.numel()}
        buffer = next(iter(parts.values())).new_empty(sum(part.numel() for part in sent.values()))
        vectors = buffer.split([part.numel() for part in sent.values()])
        pieces = [
            Piece(name, vector, treatments[name], residuals[name]) for name, vector in zip(sent, vectors, strict=True)
        ]
        return pieces, buffer

    def _treatment(self, name: str, step: int) -> Treatment:
        treatment = self._rules.treatment(name, self._local[name], self._density.at(step))
        if treatment == "dense" and self._rule.feedback.is_update:
            # An update is made by way of the memory, though all of it is sent.
            return 1.0
        is_dense = self._selector == "keep_all" or step < self._dense_steps
        return "dense" if is_dense and treatment != "excluded" else treatment

    def _expected(self) -> set[str]:
        """The parameters that have a residual once they were exchanged."""
        if self._selector == "keep_all":
            return set()
        after = max(self.step, self._dense_steps)
        return {name for name in self._local if not isinstance(self._treatment(name, after), str)}

    def _refuse(self, _step: int, found: Sequence[tuple[str, int]]) -> None:
        self._refused.extend(found)

    def _require_finite(self, step: int) -> None:
        if self._refused:
            name, replica = self._refused[0]
            raise FloatingPointError(f"step {step}: the gradient of {name!r} is not finite in replica {replica}")

    def _read(self) -> None:
        """Learn what the exchanges of the last step have found on a GPU, which nobody has waited for."""
        unread, self._unread = [self._unread[name] for name in self._places if name in self._unread], {}
        if unread:
            self._refused += read_all(unread)
            self._require_finite(unread[0].step)

    def _require_agreement(self, group: ShardGroup, pieces: Sequence[Piece], step: int) -> None:
        if group.name in self._agreed:
            return
        local = group.local()
        parts = {
            "the parameters": [(piece.name, piece.gradient.numel(), piece.gradient.dtype) for piece in pieces],
            "the treatments": [piece.treatment for piece in pieces],
            "the densities": self._density.compared(),
            "the settings": (self._rule, self._granularity, self._dense_steps, step),
            # What a variant delivers is to be alike in all replicas.
            "the averages of estimates": averages_of(pieces),
            # Unlike DistributedDataParallel, FSDP2 does not start replicas from the same values.
            "the values of the parameters": [_digest(local[piece.name]) for piece in pieces],
        }
        what = f"step {step}, before the gradients of {group.title()} are sent"
        require_agreement(parts, what=what, group=self.process_group, timeout_seconds=self.timeout_seconds)
        self._agreed.add(group.name)

    def place(self) -> dict[str, int]:
        """Which shard of which replica this is, of how many, as `state_dict` says it."""
        mesh = self.shards.mesh
        rank, shard = mesh.get_local_rank(0), mesh.get_local_rank(1)
        return {"rank": rank, "world_size": mesh.size(0), "shard": shard, "shard_count": mesh.size(1)}


def _described(place: Mapping[str, int | None]) -> str:
    return f"replica {place['rank']} of {place['world_size']}, shard {place['shard']} of {place['shard_count']}"


def _digest(shard: Tensor) -> tuple[float, float]:
    """Two numbers that other values would hardly give."""
    return float(shard.sum(dtype=torch.float64)), float(torch.linalg.vector_norm(shard, dtype=torch.float64))
