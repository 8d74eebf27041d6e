"""What may a policy order? Effects: values that the engine carries out, since policies never touch a vector."""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple


class Send(NamedTuple):
    """The worker sends its local change, compressed, on some blocks of the model or on all of it (None).

    Who spares the last step sends what it had made before, and keeps the change of that step as its own.
    """

    worker: int
    blocks: tuple[int, ...] | None = None
    tag: str = ""
    spares_last_step: bool = False


class Add(NamedTuple):
    """Shared model += Σ weight · message, in this order, as one new version; the messages leave the inbox."""

    messages: tuple[int, ...]
    weights: tuple[float, ...]


class Drop(NamedTuple):
    """The messages leave the inbox and are never applied; only for a policy whose guarantee is not lossless."""

    messages: tuple[int, ...]


class Mix(NamedTuple):
    """Members, all of them waiting, replace their models by weighted means: row i belongs to members[i]."""

    members: tuple[int, ...]
    weights: tuple[tuple[float, ...], ...]


class Fetch(NamedTuple):
    """The worker reads these blocks of the shared model, as they are now, while it does something else.

    When they are there it has left `View.fetching`, and a later `Pull` may leave them out.
    """

    worker: int
    blocks: tuple[int, ...]


class Alarm(NamedTuple):
    """`Policy.on_alarm(key)` is called at this time; after all else that is due then, if `is_last`."""

    time: float
    key: Hashable
    is_last: bool = False


class Look(NamedTuple):
    """Something that only the policy counts may have opened the gates of these workers, or of all (None)."""

    workers: tuple[int, ...] | None = None


Effect = Send | Add | Drop | Mix | Fetch | Alarm | Look


class Plan(NamedTuple):
    """How a worker takes its next step.

    Args:
        batch: examples, as a multiple of the usual number.
        step_scale: factor of the step size.
    """

    batch: float = 1.0
    step_scale: float = 1.0


class Pull(NamedTuple):
    """What a released worker goes on from.

    Args:
        shared: the shared model as of now, which travels to it; else its own model, at once.
        local_correction: add those of its messages that are not applied yet.
        blocks: those that travel to it now; None is all. It must have read all others since they changed last.
    """

    shared: bool = True
    local_correction: bool = False
    blocks: tuple[int, ...] | None = None


PULL = Pull()
KEEP = Pull(shared=False)
USUAL_PLAN = Plan()
