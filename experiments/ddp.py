"""Top-k with error feedback for `DistributedDataParallel`: what a rank does not send is remembered and sent later.

    state = ErrorFeedbackState(model, density=0.01)
    model.register_comm_hook(state, error_feedback_hook)

`model` may be the module before or after it is wrapped. Save `state.state_dict()` with every rank's checkpoint.
PyTorch looks at the annotations of a hook, so this file has them as objects.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Literal, NamedTuple

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch._C._distributed_c10d import GradBucket

from sparsync.experiments.feedbacks.feedback import Memory
from sparsync.experiments.hooks.agreement import require_agreement
from sparsync.experiments.hooks.clipping import Clipping
from sparsync.experiments.hooks.exchange import Exchange
from sparsync.experiments.hooks.naming import named_parameters
from sparsync.experiments.hooks.options import (
    chosen_feedback,
    require_clipping,
    require_granularity,
    require_schedule,
    require_selector,
    require_updates,
)
from sparsync.experiments.hooks.pieces import Group, Piece, Rule, averages_of
from sparsync.experiments.hooks.residuals import Foreign, Missing, Residuals, copied
from sparsync.experiments.hooks.side import side_for
from sparsync.experiments.hooks.treatments import Density, Rules, Treatment
from sparsync.experiments.hooks.unread import Unread, read_all
from sparsync.experiments.hooks.watching import Watch
from sparsync.experiments.training.arrivals import TIMEOUT_SECONDS, require_timeout
from sparsync.kernels.codec import Values

Granularity = Literal["tensor", "bucket", "model"]
NonFinite = Literal["raise", "skip"]
GRANULARITIES: tuple[Granularity, ...] = ("tensor", "bucket", "model")


class Members(NamedTuple):
    """Which bucket, and of which parameters."""

    place: int
    names: tuple[str, ...]


Waiting = tuple[Members, Tensor, torch.futures.Future[Tensor]]
"""A bucket that is not sent yet, its buffer, and the future of its means."""


class ErrorFeedbackState:
    """What `error_feedback_hook` keeps on one rank: residuals by the parameter's name, and how they are sent.

    The gradient g of each parameter is added to its residual e; C(e + g) is sent, averaged over the ranks and handed
    to the optimiser; e + g − C(e + g) is the next residual, bit for bit. Another `feedback` remembers and delivers what
    it says.

    Args:
        model: before or after `DistributedDataParallel`. Parameters that need no gradient are left out.
        selector: a key of `SELECTORS`; "keep_all" is plain DDP.
        density: k/d of every parameter without a rule, or a function of the step alone, from 0; the same on every rank.
            Where it says another density of a step than when ranks compared it, it is refused before that is sent.
        rules: regular expressions, searched for in parameters' names: "dense", "excluded" (not sent, each rank keeps
            its own gradient) or a density; the first that is found decides. Biases and the scales of norms, that is
            parameters of at most one dimension, are dense unless a rule says otherwise.
        feedback: a key of `FEEDBACKS`, with the step size outside. Dense parameters have no memory and get plain means,
            unless the variant delivers updates, as "rmsprop": then they are sent by way of it, with density 1.
        feedback_settings: its hyperparameters by name, as {"decay": 0.9}; others have their defaults.
        values: how values of sparse parameters are sent: "exact", with positions in 32 bits; or "fp32", "bf16", "int8"
            or "int2", with positions in Rice code, in a buffer with room for the longest message that there can be.
            What values lose stays in the residual. The codec works on CPUs, so GPUs wait for their entries; of float64,
            what float32 cannot hold counts as not finite.
        granularity: one selection from each tensor; from all tensors of a bucket, whose members DDP changes after the
            first step; or from the whole model, once backward has ended.
        dense_steps: so many steps at first send everything, as plain DDP does.
        clip_norm: gradients are scaled down to this norm over the whole model, before the selection; sending begins
            once backward has ended, since only then the norm is known.
        clip: by each rank's own norm ("local"), or by the root mean square of all ranks' ("global").
        scaler: of the losses, if there is one, for one optimiser of all parameters. Residuals are kept unscaled;
            implies `non_finite="skip"`. One that is not enabled counts as none.
        non_finite: where a gradient is not finite on any rank, all ranks raise; or all get infinite gradients, for
            whoever skips the step (as `GradScaler` does), and residuals are what they were. That takes a second copy
            of the residuals. A GPU has that always, and is not waited for: gradients are infinite there in both cases,
            and it is the next backward that raises, or who asks for `skipped`, `pending` or `state_dict` before.
        seed: names the draws of a random selector.
        process_group: of the wrapped model; None is the default one.
        timeout_seconds: how long ranks wait for each other in an exchange, and for one that evaluates or saves alone.
        telemetry: who watches, see `sparsync.experiments.hooks.telemetry`; on some ranks, all or none.

    Raises:
        ValueError: an argument is not as said, or does not go with another; a rule decides for no parameter; or no
            parameter needs a gradient.
    """

    shards: None = None
    """Every rank has whole gradients; see `sparsync.experiments.hooks.checkpoint`."""

    def __init__(
        self,
        model: nn.Module,
        *,
        selector: str = "top_k",
        density: float | Callable[[int], float] = 0.01,
        rules: Mapping[str, Treatment] | None = None,
        feedback: str = "ef14",
        feedback_settings: Mapping[str, float] | None = None,
        values: Values = "exact",
        granularity: Granularity = "tensor",
        dense_steps: int = 0,
        clip_norm: float | None = None,
        clip: Clipping = "local",
        scaler: torch.amp.GradScaler | None = None,
        non_finite: NonFinite = "raise",
        seed: int = 0,
        process_group: dist.ProcessGroup | None = None,
        timeout_seconds: float = TIMEOUT_SECONDS,
        telemetry: Watch | None = None,
    ) -> None:
        parameters = named_parameters(model)
        require_selector(selector)
        require_clipping(clip_norm, clip, non_finite)
        require_timeout(timeout_seconds)
        variant = chosen_feedback(feedback, feedback_settings, selector=selector, values=values)
        require_granularity(granularity, GRANULARITIES)
        require_schedule(density, dense_steps)
        require_updates(variant, feedback, dense_steps=dense_steps, rules=rules or {})
        self._rules = Rules(dict(rules or {}))
        self._rules.check(parameters)
        self._rule = Rule(selector, variant, values, seed, is_joint=granularity != "tensor")
        self._density, self._granularity, self._dense_steps = Density(density), granularity, dense_steps
        self._clip_norm, self._clip, self.timeout_seconds = clip_norm, clip, timeout_seconds
        # One that is not enabled neither scales a loss nor skips a step.
        self._scaler = scaler if scaler is not None and scaler.is_enabled() else None
        self._skips = self._scaler is not None or non_finite == "skip"
        self.process_group, self._telemetry, self._side = process_group, telemetry, cache(side_for)
        self._names: dict[Tensor, str] = {parameter: name for name, parameter in parameters.items()}
        self._parameters, self._order = parameters, {name: place for place, name in enumerate(parameters)}
        self._residuals = Residuals(parameters, variant)
        self._agreed: set[tuple[str, ...]] = set()
        self._before, self._refused = list[tuple[Memory, Memory]](), list[tuple[str, int]]()
        self._waiting, self._failure = list[Waiting](), ""
        self._exchanges: dict[int, tuple[object, Exchange]] = {}
        self._unread: dict[int, Unread] = {}
        self.step = 0
        """Steps in which gradients were exchanged, from 0; it counts those that were skipped."""
        self.sent_bytes = 0
        """What this rank has handed to collectives so far."""

    @property
    def skipped(self) -> bool:
        """After backward: the step is to be skipped, for a gradient was not finite on some rank.

        On a GPU whoever asks waits for the exchange. `pending`, `state_dict` and the next backward ask too.

        Raises:
            FloatingPointError: on a GPU, once, if the state is to raise where a gradient is not finite.
        """
        self._read()
        return bool(self._refused)

    def pending(self, name: str) -> Tensor:
        """A copy of what this rank has not yet sent of a parameter, in the parameter's shape; zeros for a dense one.

        Of another variant than "ef14" it is what `Feedback.pending` says.

        Raises:
            ValueError: the model has no such parameter that needs a gradient.
        """
        if name not in self._parameters:
            raise ValueError(f"no parameter that needs a gradient is called {name!r}")
        self._restore()
        return self._residuals.pending(name)

    def state_dict(self) -> dict[str, Any]:
        """This rank's residuals and step, to be saved by every rank between two steps; tensors are copies.

        Residuals are by the parameter's name and in its shape; of another variant than "ef14" there is one for each
        vector that it remembers, as "name.velocity".

        Raises:
            ValueError: a step has failed and nothing was loaded since.
        """
        self._restore()
        if self._failure:
            raise ValueError(
                f"what was sent in a step that failed is in no residual; load a checkpoint: {self._failure}"
            )
        return {"step": self.step, **self.place(), "residuals": self._residuals.shaped()}

    def place(self) -> dict[str, int]:
        """Which rank this is, of how many, as `state_dict` says it."""
        group = self._group()
        return {"rank": group.rank, "world_size": group.size}

    def load_state_dict(
        self, saved: Mapping[str, Any], *, missing: Missing = "error", foreign: Foreign = "error"
    ) -> None:
        """Go on from what `state_dict` returned on this rank; nothing changes if that cannot be.

        Args:
            saved: of the same rank of as many ranks. Of another number of ranks: `resized` first.
            missing: "zero" begins anew where no residual was saved for a parameter; "error" refuses.
            foreign: "drop" leaves out what was saved of a parameter that is not there, or has no residual now.

        Raises:
            ValueError: another rank or number of ranks, or a residual is missing, foreign, or has another shape.
        """
        group = self._group()
        place, now = (saved["rank"], saved["world_size"]), (group.rank, group.size)
        if place != now:
            raise ValueError(
                f"these residuals are of rank {place[0]} of {place[1]}, this is rank {now[0]} of {now[1]}; "
                "sparsync.experiments.hooks.residuals.resized carries them to another number of ranks"
            )
        residuals, expected = saved["residuals"], self._residuals.keys(self._expected())
        if saved["step"] <= self._dense_steps:
            expected &= residuals.keys()
        self._residuals.load(residuals, expected=expected, missing=missing, foreign=foreign)
        self._exchanges, self._unread = {}, {}
        self._before, self._refused, self._failure = [], [], ""
        self.step = int(saved["step"])

    def communicate(self, bucket: GradBucket) -> torch.futures.Future[Tensor]:
        """What the hook does: select from a bucket, start sending, and return the future of the means."""
        if bucket.index() == 0:
            # Before the telemetry looks at what the last step has left.
            self._read()
        if self._telemetry is not None:
            self._telemetry.ready(self.step, is_first=bucket.index() == 0)
        if bucket.index() == 0:
            self._restore()
            self._waiting = []
        flat = bucket.buffer()
        on_cpu = flat.device.type == "cpu"
        future: torch.futures.Future[Tensor] = torch.futures.Future(devices=None if on_cpu else [flat.device])
        self._waiting.append((Members(bucket.index(), self._names_of(bucket)), flat, future))
        defers = self._granularity == "model" or self._clip_norm is not None
        if not defers or bucket.is_last():
            self._send(self._waiting)
            self._waiting = []
        self.step += bucket.is_last()
        return future

    def _names_of(self, bucket: GradBucket) -> tuple[str, ...]:
        try:
            return tuple([self._names[parameter] for parameter in bucket.parameters()])
        except KeyError:
            shapes = [tuple(p.shape) for p in bucket.parameters() if p not in self._names]
            raise ValueError(f"parameters of shapes {shapes} are none of the model of this state") from None

    def _send(self, waiting: Sequence[Waiting]) -> None:
        """One exchange of all that waits."""
        exchange = self._exchange_of(waiting)
        if self._skips and exchange.unread is None:
            memories = [piece.memory for piece in exchange.pieces if piece.memory is not None]
            self._before += [(memory, copied(memory, self._rule.feedback)) for memory in memories]
        self.sent_bytes += exchange.sent_bytes
        passage = None
        if self._telemetry is not None:
            passage = self._telemetry.passage(exchange.content, [members.place for members, _, _ in waiting])
        exchange.passage = passage

        def deliver(done: torch.futures.Future[Tensor]) -> None:
            try:
                done.value()
            except Exception as error:
                self._failure = str(error)
                for _, _, future in waiting:
                    future.set_exception(error)  # type: ignore[arg-type]  # PyTorch's annotation is that of a result
                return
            if exchange.unread is not None:
                self._unread[waiting[0][0].place] = exchange.unread
            if passage is not None:
                passage.end("unpack")
            for _, bucket, future in waiting:
                future.set_result(bucket)

        scaling = exchange.scaling(self._scaler, self._clip_norm, self._clip)
        exchange.begin(self.step, scaling, self._refuse).then(deliver)

    def _exchange_of(self, waiting: Sequence[Waiting]) -> Exchange:
        """The exchange of these buckets, made anew where they or what is sent have changed."""
        place = waiting[0][0].place
        buckets = [bucket for _, bucket, _ in waiting]
        facts = (self._is_dense_now(), self._density.at(self.step), *(bucket.data_ptr() for bucket in buckets))
        key = (facts, tuple(name for bucket, _, _ in waiting for name in bucket.names))
        known = self._exchanges.get(place)
        if known is not None and known[0] == key:
            return known[1]
        pieces = [piece for bucket, flat, _ in waiting for piece in self._pieces(bucket.names, flat)]
        if len(waiting) > 1:
            # In the order of the model, which stays when DDP forms its buckets anew.
            pieces.sort(key=lambda piece: self._order[piece.name])
        self._require_agreement(pieces)
        side = self._side(buckets[0].device)
        exchange = Exchange(pieces, buckets, group=self._group(), rule=self._rule, side=side)
        self._exchanges[place] = (key, exchange)
        return exchange

    def _pieces(self, names: Sequence[str], bucket: Tensor) -> list[Piece]:
        """The parameters of a bucket, as parts of it."""
        parts = bucket.split([self._parameters[name].numel() for name in names])
        dense, density = self._is_dense_now(), self._density.at(self.step)
        pieces = []
        for name, part in zip(names, parts, strict=True):
            treatment = self._treatment(name, density)
            treatment = "dense" if dense and treatment != "excluded" else treatment
            memory = None if isinstance(treatment, str) else self._residuals.memory(name)
            pieces.append(Piece(name, part, treatment, memory))
        return pieces

    def _treatment(self, name: str, density: float) -> Treatment:
        treatment = self._rules.treatment(name, self._parameters[name], density)
        # An update is made by way of the memory, though all of it is sent.
        return 1.0 if treatment == "dense" and self._rule.feedback.is_update else treatment

    def _is_dense_now(self) -> bool:
        return self._rule.selector == "keep_all" or self.step < self._dense_steps

    def _expected(self) -> set[str]:
        """The parameters that have a residual once they were exchanged."""
        density = self._density.at(self.step)
        if self._rule.selector == "keep_all":
            return set()
        treatments = {name: self._treatment(name, density) for name in self._parameters}
        return {name for name, treatment in treatments.items() if not isinstance(treatment, str)}

    def _refuse(self, step: int, found: Sequence[tuple[str, int]]) -> None:
        self._refused.extend(found)
        if not self._skips:
            name, rank = found[0]
            raise FloatingPointError(
                f"step {step}: the gradient of {name!r} is not finite on rank {rank}"
                + (f", nor are {len(found) - 1} others" if len(found) > 1 else "")
            )

    def _read(self) -> None:
        """Learn what the exchanges of the last step have found on a GPU, which nobody has waited for."""
        # In one order on all ranks, whatever arrived first.
        unread, self._unread = [self._unread[place] for place in sorted(self._unread)], {}
        if found := read_all(unread):
            self._refuse(unread[0].step, found)

    def _restore(self) -> None:
        """Put residuals back to what they were before a step that was refused."""
        self._read()
        if self._refused and self._skips:
            for memory, before in self._before:
                memory.update(before)
        self._before, self._refused = [], []

    def _require_agreement(self, pieces: Sequence[Piece]) -> None:
        names = tuple(piece.name for piece in pieces)
        if names in self._agreed:
            return
        parts = {
            "the parameters": [(piece.name, piece.gradient.numel(), piece.gradient.dtype) for piece in pieces],
            "the treatments": [piece.treatment for piece in pieces],
            "the densities": self._density.compared(),
            "the settings": (
                *(self._rule, self._granularity, self._dense_steps, self._skips),
                *(self._clip_norm, self._clip, self._scaler is None, self.step),
            ),
            # What a variant delivers is to be alike on all ranks.
            "the averages of estimates": averages_of(pieces),
        }
        what, limit = f"step {self.step}, before {names[0]!r} is sent", self.timeout_seconds
        require_agreement(parts, what=what, group=self.process_group, timeout_seconds=limit)
        self._agreed.add(names)

    def _group(self) -> Group:
        group = self.process_group
        return Group(group, dist.get_rank(group), dist.get_world_size(group), self.timeout_seconds)


def error_feedback_hook(state: ErrorFeedbackState, bucket: GradBucket) -> torch.futures.Future[torch.Tensor]:
    """The communication hook; `model.register_comm_hook(state, error_feedback_hook)`, once, before the first backward.

    Raises:
        ValueError: on every rank alike, if ranks have other parameters or settings than rank 0; or on one, if the
            density of a step has changed since ranks compared it.
        RuntimeError: on every rank alike and in the same step, if a gradient is not finite on one rank (unless the
            state skips such steps), or a rank was lost; the message names step, parameter and rank.
        FloatingPointError: likewise, in the next step, if it is not finite on a GPU.
    """
    return state.communicate(bucket)
