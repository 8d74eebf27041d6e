"""May a policy order this? Each check raises `PolicyError` for an effect that cannot be carried out."""

from __future__ import annotations

import math

from sparsync.experiments.engine.effects import Add, Alarm, Fetch, Mix, Plan, Send
from sparsync.experiments.engine.horizon import PolicyError
from sparsync.experiments.engine.view import View

ROW_SUM_TOLERANCE = 1e-12
"""Of rows of mixing weights: far above the rounding of a sum of a thousand weights, far below any weight."""


def check_send(effect: Send, view: View) -> None:
    """The worker is at the gate, and its blocks are there, each once."""
    worker, blocks = effect.worker, effect.blocks
    if worker not in view.waiting:
        raise PolicyError(f"worker {worker} cannot send: it is not at the gate")
    if blocks is None:
        return
    if not blocks:
        raise PolicyError(f"worker {worker} cannot send a message without blocks")
    check_blocks(blocks, view, f"worker {worker} cannot send")


def check_fetch(effect: Fetch, view: View) -> None:
    """The worker is there, and its blocks are, each once."""
    worker, blocks = effect.worker, effect.blocks
    if worker not in view.alive:
        raise PolicyError(f"worker {worker} cannot read: it is not there")
    if not blocks:
        raise PolicyError(f"worker {worker} cannot read no blocks")
    check_blocks(blocks, view, f"worker {worker} cannot read")


def check_blocks(blocks: tuple[int, ...], view: View, what: str) -> None:
    """All of them are blocks of the model, each once."""
    count = len(view.block_bytes)
    if blocks and (len(set(blocks)) != len(blocks) or min(blocks) < 0 or max(blocks) >= count):
        raise PolicyError(f"{what} blocks {blocks}: there are 0 to {count - 1}, each once")


def check_add(effect: Add) -> None:
    """Every message has a weight, a finite one. Whether it is in the inbox shows when it leaves it."""
    if len(effect.messages) != len(effect.weights):
        raise PolicyError(f"{len(effect.messages)} messages with {len(effect.weights)} weights")
    if not all(map(math.isfinite, effect.weights)):
        raise PolicyError(f"weights must be finite, got {effect.weights}")


def check_mix(effect: Mix, view: View) -> None:
    """Members are at the gate, each once, and have a row of weights each: non-negative, of sum 1."""
    members, weights = effect.members, effect.weights
    missing = [member for member in members if member not in view.waiting]
    if missing:
        raise PolicyError(f"cannot mix {members}: {missing} are not at the gate")
    if not members or len(set(members)) != len(members):
        raise PolicyError(f"cannot mix {members}: name members, each once")
    if len(weights) != len(members) or any(len(row) != len(members) for row in weights):
        raise PolicyError(f"{len(members)} members need as many rows of as many weights, got {weights}")
    if any(not min(row) >= 0 or not abs(sum(row) - 1) <= ROW_SUM_TOLERANCE for row in weights):
        raise PolicyError(f"rows of mixing weights must be non-negative and sum to 1, got {weights}")


def check_alarm(effect: Alarm, view: View) -> None:
    """It rings neither before now nor never."""
    if not view.now <= effect.time < math.inf:
        raise PolicyError(f"an alarm for {effect.time} at {view.now}")


def check_plan(plan: Plan, worker: int) -> None:
    """A step takes examples, and time."""
    if not (0 < plan.batch < math.inf and 0 < plan.step_scale < math.inf):
        raise PolicyError(f"worker {worker} cannot take a step planned as {plan}")
