"""OSP: wait for the important blocks, and send and read the others while the next step is computed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from sparsync.experiments.engine.addition import sum_in_order
from sparsync.experiments.engine.effects import Add, Effect, Fetch, Pull, Send
from sparsync.experiments.engine.policy import Policy, Wake
from sparsync.experiments.engine.view import Message, View
from sparsync.verify.monitors.guarantee import Guarantee

REGULAR = "RS"
"""Tag of messages that are waited for."""
DEFERRED = "ICS"
"""Tag of those that are not, with the number of their round behind it."""


@dataclass(eq=False)
class Osp(Policy):
    """A round waits for the important blocks of everybody alive; then all send the others, and go on without waiting.

    The least important blocks are deferred that fit into the share together; one at least is not. A block larger than
    the share is never deferred: `Descent.largest_block` splits it. All workers defer the
    same ones, by the importance that they measured in the round before. A stage of a round is added in worker order
    when all of it is there, with weight 1/(its messages). Important blocks are read at the barrier, deferred ones as
    soon as they are added. Until then a worker corrects the shared model by its own deferred change, and it does not go
    on twice before they are applied and read.

    The abstract has two stages and a correction by local gradients; the score, the correction's form and the adaptive
    share are recalled.

    Args:
        deferred_share: of the model's bytes, in [0, 1]; 0 is a single stage, BSP.
        importance: of a block: "score" is Σ |x_i g_i|, "norm" its gradient's norm, summed over the workers.
        adapts: the share is (1 − loss/first loss) times the given one, by the workers' mean loss.

    Source: Chen, Shi, Liu, Li, Liu, Xu 2023.
    """

    deferred_share: float = 0.5
    importance: Literal["score", "norm"] = "score"
    adapts: bool = False

    gate_opens_on: ClassVar[Wake] = "own_message"
    tolerates_loss: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not 0 <= self.deferred_share <= 1:
            raise ValueError(f"deferred_share must lie in [0, 1], got {self.deferred_share}")
        if self.importance not in ("score", "norm"):
            raise ValueError(f"importance must be 'score' or 'norm', got {self.importance!r}")

    def attach(self, view: View) -> Iterable[Effect]:
        """Nothing is known of the importance of blocks: the last ones are deferred."""
        effects = super().attach(view)
        self.round = 0
        self.deferred = () if self.adapts else self._least_important(self.deferred_share)
        self._waited_for: tuple[int, ...] | None = None
        """blocks of the last round's first stage; None is all"""
        self._first_loss = 0.0
        self._missing: dict[str, int] = {}
        self._deferring: set[int] = set()
        return effects

    def on_step(self, worker: int) -> Iterable[Effect]:
        """The important blocks."""
        self._deferring.discard(worker)
        return (Send(worker, self._important, REGULAR),)

    def on_arrive(self, message: Message) -> Iterable[Effect]:
        """The last message of a stage lets the stage be added."""
        if message.tag == REGULAR:
            return self._first_stage()
        self._missing[message.tag] -= 1
        if self._missing[message.tag]:
            return ()
        del self._missing[message.tag]
        stage = [other for other in self.view.inbox_by_worker() if other.tag == message.tag]
        assert message.blocks is not None
        return (_mean(stage), *(Fetch(worker, message.blocks) for worker in sorted(self.view.alive)))

    def on_membership(self, worker: int) -> Iterable[Effect]:
        """A round may have waited for one that is gone."""
        del worker
        return self._first_stage()

    def gate(self, worker: int) -> bool:
        """Everything is applied but the deferred blocks of the last step, and all that was deferred before is read."""
        view = self.view
        return worker not in view.fetching and view.sent[worker] - view.settled[worker] <= (worker in self._deferring)

    def refresh(self, worker: int) -> Pull:
        """The blocks that were waited for, and its own deferred change; it has read the others."""
        del worker
        return Pull(local_correction=True, blocks=self._waited_for)

    @property
    def _important(self) -> tuple[int, ...] | None:
        """The blocks that are not deferred; None is all."""
        if not self.deferred:
            return None
        return tuple(block for block in range(len(self.view.block_bytes)) if block not in self.deferred)

    def _first_stage(self) -> Iterable[Effect]:
        """If the round is complete: it is added, the deferred blocks leave, and the next ones are chosen."""
        view = self.view
        if not view.has_every_report():
            return ()
        reports = [message for message in view.inbox_by_worker() if message.tag == REGULAR]
        # Whoever crashed and came back since its report is not at the gate of that step.
        if not view.alive <= {message.worker for message in reports if view.is_awaited(message)}:
            return ()
        effects: list[Effect] = [_mean(reports)]
        self._waited_for = _covered(reports)
        if self.deferred:
            tag = f"{DEFERRED} {self.round}"
            effects += [Send(worker, self.deferred, tag) for worker in sorted(view.alive)]
            self._missing[tag] = view.alive_count
            self._deferring |= view.alive
        self.round += 1
        self.deferred = self._least_important(self._share())
        return effects

    def _share(self) -> float:
        if not self.adapts:
            return self.deferred_share
        losses = [self.view.statistics[worker].loss for worker in sorted(self.view.alive)]
        loss = sum_in_order(losses) / len(losses)
        self._first_loss = self._first_loss or loss
        return self.deferred_share * max(0.0, 1 - loss / self._first_loss) if self._first_loss > 0 else 0.0

    def _least_important(self, share: float) -> tuple[int, ...]:
        sizes = self.view.block_bytes
        importance = [0.0] * len(sizes)
        for worker in sorted(self.view.alive):
            statistics = self.view.statistics[worker]
            layers, pieces = (
                (statistics.block_scores, statistics.piece_scores)
                if self.importance == "score"
                else (statistics.block_norms, statistics.piece_norms)
            )
            measured = pieces or layers
            for block, value in enumerate(measured):
                importance[block] += value
        deferred: list[int] = []
        left = share * sum(sizes)
        for block in sorted(range(len(sizes)), key=lambda block: (importance[block], -block))[:-1]:
            left -= sizes[block]
            if left < 0:
                break
            deferred.append(block)
        return tuple(sorted(deferred))

    def guarantee(self) -> Guarantee:
        """Nobody is ahead, and deferred blocks are applied at most one step later."""
        return Guarantee(gap=1, deferral=1)


def _covered(messages: Sequence[Message]) -> tuple[int, ...] | None:
    """The blocks of all of them; one that was sent before its sender crashed may cover others than the rest."""
    blocks: set[int] = set()
    for message in messages:
        if message.blocks is None:
            return None
        blocks.update(message.blocks)
    return tuple(sorted(blocks))


def _mean(messages: Sequence[Message]) -> Add:
    return Add(tuple(message.uid for message in messages), (1 / len(messages),) * len(messages))
