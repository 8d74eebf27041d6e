"""What happened in a run of parallel training, as a list of typed events: the common tongue of engine and monitors.

An engine, or a log of real processes, writes events; `verify/monitors/judge.py` judges them. Vectors enter as sketches,
a few fixed integer combinations of their entries, which add up exactly when the vectors do, and make a trace as long as
its events and not as its model. Sketches of numbers on a grid are exact; of floating-point numbers they carry a size,
from which the rounding that may have happened is bounded. Ours; a linear sketch of a stream is that of Alon, Matias,
Szegedy 1996.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import NamedTuple


class Mass(NamedTuple):
    """A sketch of one vector; empty where nobody computes vectors.

    Args:
        sums: combinations of the entries with integers, none of them 0.
        size: the sum of the magnitudes of the entries, times the largest magnitude of those integers: what bounds all
            terms of a combination together. Of a vector that is kept in parts, all parts together.
    """

    sums: tuple[float, ...] = ()
    size: float = 0.0


NOTHING = Mass()
"""The sketch of no vector."""


class StepStatistics(NamedTuple):
    """What a worker measured in its last step.

    Args:
        loss: on its batch, at the model the step started from.
        gradient_norm: Euclidean.
        block_norms: of the gradient, by layer.
        block_scores: Σ |x_i g_i| by layer, the first-order change of the loss were the layer removed.
        piece_norms: by block as it is sent, where layers are split into several; else empty.
        piece_scores: likewise.
    """

    loss: float = 0.0
    gradient_norm: float = 0.0
    block_norms: tuple[float, ...] = ()
    block_scores: tuple[float, ...] = ()
    piece_norms: tuple[float, ...] = ()
    piece_scores: tuple[float, ...] = ()


NOTHING_MEASURED = StepStatistics()
"""Of a worker that has not stepped, or that simulates time only."""


class Joined(NamedTuple):
    """A worker is there; it will start from `model`, the sketch of the shared model of that version.

    `version` −1: from its own model, as it was when it went, or from the initial one. `pulled_bytes` travel to it.
    """

    time: float
    worker: int
    version: int
    model: Mass = NOTHING
    pulled_bytes: int = 0


class Started(NamedTuple):
    """A worker begins a step on `batch` times the usual number of examples, `step_scale` times the usual step size."""

    time: float
    worker: int
    batch: float = 1.0
    step_scale: float = 1.0


class Stepped(NamedTuple):
    """A worker has finished its step number `clock` (from 1) and changed its own model by `created`."""

    time: float
    worker: int
    clock: int
    created: Mass = NOTHING
    statistics: StepStatistics = NOTHING_MEASURED


class Sent(NamedTuple):
    """A worker sends a message; `kept` is what it still has to send, residual included, and `lost` what it forgets.

    Euclidean norms on the blocks of the message, 0 where nobody computes them: of the change since the last message
    that covered them, of that and the residual together, and of the residual afterwards. It covers the `blocks`, or all
    of the model (None); who spares the last step keeps the change of that.
    """

    time: float
    worker: int
    message: int
    read_version: int
    sent_bytes: int
    mass: Mass = NOTHING
    kept: Mass = NOTHING
    lost: Mass = NOTHING
    tag: str = ""
    change_norm: float = 0.0
    corrected_norm: float = 0.0
    kept_norm: float = 0.0
    blocks: tuple[int, ...] | None = None
    spares_last_step: bool = False


class Arrived(NamedTuple):
    """A message has reached those who hold the shared model."""

    time: float
    message: int


class Applied(NamedTuple):
    """Messages were added to the shared model with these weights; `model` is its sketch afterwards."""

    time: float
    messages: tuple[int, ...]
    weights: tuple[float, ...]
    version: int
    model: Mass = NOTHING


class Dropped(NamedTuple):
    """Messages that arrived will never be applied."""

    time: float
    messages: tuple[int, ...]


class Lost(NamedTuple):
    """A message was on its way when its sender crashed, and will never arrive."""

    time: float
    message: int


class Mixed(NamedTuple):
    """Members moved towards weighted means: model_i += step · Σ_j weights[i][j] (copy_j − copy_i).

    By member: `sent_bytes` is what it published, which each of the others reads. `copies` are sketches of what all know
    of the members' models, `models` of the models themselves afterwards, and
    `changes` of what the members had made and not sent: it is in the models now, and nothing of it is left to send.
    """

    time: float
    members: tuple[int, ...]
    weights: tuple[tuple[float, ...], ...]
    step: float
    sent_bytes: tuple[int, ...]
    copies: tuple[Mass, ...] = ()
    models: tuple[Mass, ...] = ()
    changes: tuple[Mass, ...] = ()


class Released(NamedTuple):
    """A worker may go on; `base` is the sketch of the model it will go on from.

    It is the shared model of that version, to which the worker has added its messages `corrections`, which were not
    applied yet. `version` −1: it keeps its own model and has read nothing. `pulled_bytes` travel to it.
    """

    time: float
    worker: int
    version: int
    base: Mass = NOTHING
    corrections: tuple[int, ...] = ()
    pulled_bytes: int = 0


class Fetched(NamedTuple):
    """A worker has read these blocks of the shared model, as of that version, while it did something else."""

    time: float
    worker: int
    version: int
    blocks: tuple[int, ...]
    pulled_bytes: int = 0


class Departed(NamedTuple):
    """A worker is gone; `abandoned` is what it had not sent. `reason` is "left" (between steps) or "crashed"."""

    time: float
    worker: int
    reason: str
    abandoned: Mass = NOTHING


class AlarmSet(NamedTuple):
    """A policy wants to be called at the time `due`, in the same seconds."""

    time: float
    due: float
    key: str


class Rang(NamedTuple):
    """An alarm that a policy had set, not before it was due."""

    time: float
    key: str


Event = (
    Joined
    | Started
    | Stepped
    | Sent
    | Arrived
    | Applied
    | Dropped
    | Lost
    | Mixed
    | Released
    | Fetched
    | Departed
    | AlarmSet
    | Rang
)
"""Whatever a trace holds, in order of time; of equal times, in the order in which they happened."""
EVENTS: dict[str, type[Event]] = {
    kind.__name__: kind
    for kind in (
        Joined,
        Started,
        Stepped,
        Sent,
        Arrived,
        Applied,
        Dropped,
        Lost,
        Mixed,
        Released,
        Fetched,
        Departed,
        AlarmSet,
        Rang,
    )
}
"""The kinds of events by name."""


UNITS = {"exact": 0.0, "float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}
"""The distance from 1 to the next number, by format; exact is whatever adds without rounding."""
LARGEST_DIMENSION = 2**40


class Arithmetic(NamedTuple):
    """In what the vectors of a run are added.

    Args:
        numbers: a key of `UNITS`.
        dimension: d, entries of the model.
    """

    numbers: str = "exact"
    dimension: int = 0

    @property
    def unit_roundoff(self) -> float:
        """Of sums of entries and of their sketches together, relative to sketch sizes; 0 where both are exact."""
        unit = UNITS[self.numbers]
        # A sketch is a sum of d products in float64, whose relative error is below d 2⁻⁵².
        return unit + self.dimension * 2.0**-52 if unit else 0.0


EXACT = Arithmetic()
"""That of runs whose sums are exact, or that have none."""


class Header(NamedTuple):
    """What a monitor must know of a run besides its events.

    Args:
        worker_count: workers that may ever be there, numbered from 0.
        initial: sketch of the model that all start from.
        unit_roundoff: of the arithmetic in which vectors are added; 0 where every sum is exact.
    """

    worker_count: int
    initial: Mass = NOTHING
    unit_roundoff: float = 0.0


def trace_hash(events: Iterable[Event]) -> str:
    """SHA-256 over kinds and fields: equal for equal traces, in any process."""
    digest = hashlib.sha256()
    for event in events:
        digest.update(f"{type(event).__name__}{tuple(event)!r}\n".encode())
    return digest.hexdigest()
