"""What server and worker say to each other, as typed values, and as the fields of a parcel and back.

Who reads a field checks it as the row of a trace is checked, so that a peer that errs is named and nothing is done.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from sparsync.experiments.engine.layout import Layout, Shipment
from sparsync.experiments.engine.real.wire import Kind, Parcel, ParcelError
from sparsync.kernels.codec import decode, encode
from sparsync.kernels.payload import SparsePayload
from sparsync.verify.monitors.rows import Reader, flag, integer, optional, real, several, sketch, statistics, text
from sparsync.verify.monitors.trace import Mass, StepStatistics

_COUNT, _NORM, _POSITIVE = integer(0), real(0), real(0, above=True)


class Read(NamedTuple):
    """The body are these blocks (None: all) of the shared model; go on from it, corrected by these of your messages.

    Sparse are only the entries that differ from what you were given of them before, or had at the beginning. Forget all
    messages but the unsettled ones. A body that all workers are sent alike may come to all at once.
    """

    blocks: tuple[int, ...] | None
    corrections: tuple[int, ...]
    unsettled: tuple[int, ...]
    is_sparse: bool
    is_broadcast: bool = False


class Fetch(NamedTuple):
    """The body are these blocks of the shared model of this version, as in `Read`: you will go on from them later."""

    version: int
    blocks: tuple[int, ...]
    is_sparse: bool


class Keep(NamedTuple):
    """Go on from your own model."""


class Compute(NamedTuple):
    """Take your step of this number, from 0."""

    step: int
    batch: float
    step_scale: float


class Ship(NamedTuple):
    """Send what you have on these blocks (None: on all) as this message."""

    message: int
    blocks: tuple[int, ...] | None
    spares_last_step: bool


class Exchange(NamedTuple):
    """Mix with these members, each in this life of it; your row of weights."""

    number: int
    members: tuple[int, ...]
    incarnations: tuple[int, ...]
    weights: tuple[float, ...]


class Show(NamedTuple):
    """Send your own model."""

    number: int


class Finish(NamedTuple):
    """The run is over."""


class Ready(NamedTuple):
    """I have the model that I go on from."""

    base: Mass


class Fetched(NamedTuple):
    """I have what you let me fetch."""

    version: int
    blocks: tuple[int, ...]


class Finished(NamedTuple):
    """I have taken a step."""

    created: Mass
    statistics: StepStatistics


class Sending(NamedTuple):
    """The message is the body."""

    message: int
    mass: Mass
    kept: Mass
    lost: Mass
    change_norm: float
    corrected_norm: float
    kept_norm: float
    is_sparse: bool


class Exchanged(NamedTuple):
    """I have mixed."""

    number: int
    sent_bytes: int
    copy: Mass
    model: Mass
    change: Mass


class Shown(NamedTuple):
    """My own model is the body."""

    number: int


class Failed(NamedTuple):
    """I cannot go on; if `misses_another`, because one is gone with whom I was to mix."""

    reason: str
    misses_another: bool = False


Letter = Read | Fetch | Keep | Compute | Ship | Exchange | Show | Finish
Report = Ready | Fetched | Finished | Sending | Exchanged | Shown | Failed
_FORMS: dict[Kind, tuple[Callable[..., Any], tuple[Reader, ...]]] = {
    Kind.READ: (Read, (optional(several(_COUNT)), several(_COUNT), several(_COUNT), flag, flag)),
    Kind.FETCH: (Fetch, (_COUNT, several(_COUNT), flag)),
    Kind.FETCHED: (Fetched, (_COUNT, several(_COUNT))),
    Kind.KEEP: (Keep, ()),
    Kind.COMPUTE: (Compute, (_COUNT, _POSITIVE, _POSITIVE)),
    Kind.SHIP: (Ship, (_COUNT, optional(several(_COUNT)), flag)),
    Kind.EXCHANGE: (Exchange, (_COUNT, several(_COUNT), several(_COUNT), several(_NORM))),
    Kind.SHOW: (Show, (_COUNT,)),
    Kind.FINISH: (Finish, ()),
    Kind.READY: (Ready, (sketch,)),
    Kind.STEPPED: (Finished, (sketch, statistics)),
    Kind.MESSAGE: (Sending, (_COUNT, sketch, sketch, sketch, _NORM, _NORM, _NORM, flag)),
    Kind.EXCHANGED: (Exchanged, (_COUNT, _COUNT, sketch, sketch, sketch)),
    Kind.SHOWN: (Shown, (_COUNT,)),
    Kind.FAILED: (Failed, (text(), flag)),
}
_KINDS = {form: kind for kind, (form, _) in _FORMS.items()}


def kind_of(letter: Letter | Report) -> Kind:
    """The parcel's kind."""
    return _KINDS[type(letter)]


def read_letter(parcel: Parcel) -> Any:
    """What a parcel says.

    Raises:
        ParcelError: a field is missing, too many, or not what it must be.
    """
    form, readers = _FORMS[parcel.kind]
    names = form._fields  # type: ignore[attr-defined]
    if len(parcel.fields) != len(readers):
        raise ParcelError(f"{parcel.kind.name} needs {len(readers)} fields, got {len(parcel.fields)}")
    values = []
    for name, reader, value in zip(names, readers, parcel.fields, strict=True):
        try:
            values.append(reader(value))
        except ValueError as error:
            raise ParcelError(f"{parcel.kind.name}: {name} must be {error}") from None
    return form(*values)


def as_bytes(vector: Tensor) -> Tensor:
    """The bytes [n] uint8 of a vector."""
    return vector.contiguous().view(torch.uint8)


def as_vector(body: Tensor, dtype: torch.dtype, length: int) -> Tensor:
    """The vector [length] that `as_bytes` made bytes of.

    Raises:
        ParcelError: it has another length.
    """
    if body.numel() != length * dtype.itemsize:
        raise ParcelError(f"a vector of {length} entries has {length * dtype.itemsize} bytes, got {body.numel()}")
    return body.view(dtype)


def coded(payload: SparsePayload) -> Tensor:
    """A payload in the sparse code [n] uint8, bit by bit."""
    return torch.frombuffer(bytearray(encode(payload, values="exact")), dtype=torch.uint8)


def shipment_bytes(shipment: Shipment) -> tuple[Tensor, bool]:
    """The body of a message, and whether it is in the sparse code; dense is shorter for what is nearly dense."""
    payload = shipment.payload
    if payload is None:
        return as_bytes(shipment.values), False
    sparse = coded(payload)
    if sparse.numel() < payload.dimension * payload.values.element_size():
        return sparse, True
    return as_bytes(payload.dense()), False


def read_shipment(body: Tensor, *, is_sparse: bool, blocks: tuple[int, ...] | None, layout: Layout) -> Shipment:
    """The message of a body.

    Raises:
        ParcelError: it is none on these blocks.
    """
    places = layout.places(blocks)
    length = layout.dimension if places is None else len(places)
    if not is_sparse:
        return Shipment(places, as_vector(body, layout.dtype, length))
    try:
        payload = decode(body)
    except ValueError as error:
        raise ParcelError(f"a message that cannot be decoded: {error}") from None
    if payload.dimension != length or payload.values.dtype != layout.dtype:
        raise ParcelError(
            f"a message of {payload.dimension} entries of {payload.values.dtype}, expected are {length} of "
            f"{layout.dtype}"
        )
    indices = payload.indices.long()
    return Shipment(indices if places is None else places[indices], payload.values, payload)
