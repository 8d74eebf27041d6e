"""What two processes of a learning system say to each other: tensors by subject, and books of their bytes.

A party's part is a *talk*: a generator that gives and takes tensors and returns what the party found. `carry` lets it
talk to the ranks of a process group, `side_by_side` carries the talks of all parties in one process, so that a system
is written once and its simulation has the bits of the real run. Who gives waits until it is taken, here as there. A
wish is patient where the other may have much to do first, with third parties or alone; see `PATIENCE_SECONDS`.
"""

from __future__ import annotations

import struct
import zlib
from collections import defaultdict
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeAlias, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor

from sparsync.experiments.averaging.header import ExchangeError
from sparsync.experiments.averaging.messages import Swap
from sparsync.experiments.training.arrivals import TIMEOUT_SECONDS, Call
from sparsync.experiments.training.collectives import answer

HEAD_BYTES = 72
"""Before each tensor: its subject, dtype and shape, and a checksum."""
DTYPES = (
    *(torch.bfloat16, torch.float16, torch.float32, torch.float64),
    *(torch.bool, torch.uint8, torch.int32, torch.int64),
)
"""Of what can be given."""
PATIENCE_SECONDS = 86400.0
"""How long a patient wish waits for the other to come to it: a day. With gloo one that has ended, however it did, is
noticed at once by its closed connection, so that this is for one that has been stopped, or whose machine is gone. NCCL
itself ends what takes longer than its group may, and the process with it."""
_MOST_AXES = 6
_MAGIC = b"SPTK"
# Magic, dtype, number of axes, subject, checksum of the tensor, shape, of all of it.
_FORM = struct.Struct(f"<4sHHII{_MOST_AXES}qQ")
assert _FORM.size == HEAD_BYTES

Answer = TypeVar("Answer")


@dataclass(frozen=True, eq=False)
class Give:
    """A tensor for another party; answered by None once it is taken, or at a loss by the error, if that is wanted."""

    rank: int
    subject: str
    tensor: Tensor
    survives_loss: bool = False
    is_patient: bool = False


@dataclass(frozen=True, eq=False)
class Take:
    """Another party's tensor on a subject; answered by it, or at a loss by the error, if that is wanted."""

    rank: int
    subject: str
    survives_loss: bool = False
    is_patient: bool = False


Talk: TypeAlias = Generator[Give | Take, "Tensor | ExchangeError | None", Answer]


@dataclass
class Books:
    """Bytes and tensors that went from party to party, without heads.

    Args:
        bytes: by sender, receiver and subject.
        count: of tensors likewise; each also had a head of `HEAD_BYTES`.
    """

    bytes: dict[tuple[int, int, str], int] = field(default_factory=lambda: defaultdict(int))
    count: dict[tuple[int, int, str], int] = field(default_factory=lambda: defaultdict(int))

    def note(self, sender: int, receiver: int, subject: str, tensor: Tensor) -> None:
        """A tensor went its way."""
        self.bytes[sender, receiver, subject] += tensor.numel() * tensor.element_size()
        self.count[sender, receiver, subject] += 1

    def total(self, *, rank: int | None = None, subject: str | None = None) -> int:
        """Bytes that a rank (None: any) gave or took on a subject (None: any)."""
        return sum(
            size
            for (sender, receiver, about), size in self.bytes.items()
            if rank in (None, sender, receiver) and subject in (None, about)
        )

    def rows(self) -> list[dict[str, object]]:
        """As JSON, in a fixed order."""
        return [
            {"sender": sender, "receiver": receiver, "subject": subject, "bytes": size, "tensor_count": count}
            for ((sender, receiver, subject), size), count in zip(
                sorted(self.bytes.items()), (count for _, count in sorted(self.count.items())), strict=True
            )
        ]


def give(rank: int, subject: str, tensor: Tensor, *, is_patient: bool = False) -> Talk[None]:
    """Hand a tensor to another party.

    Raises:
        ExchangeError: it is lost, or does not take it in time.
    """
    yield Give(rank, subject, tensor, is_patient=is_patient)


def take(rank: int, subject: str, *, is_patient: bool = False) -> Talk[Tensor]:
    """Another party's tensor on a subject.

    Raises:
        ExchangeError: it is lost, does not give it in time, or gives something else.
    """
    found = yield Take(rank, subject, is_patient=is_patient)
    assert isinstance(found, Tensor)
    return found


def take_unless_lost(rank: int, subject: str, *, is_patient: bool = False) -> Talk[Tensor | ExchangeError]:
    """The same, or why it will not come."""
    found = yield Take(rank, subject, survives_loss=True, is_patient=is_patient)
    assert found is not None
    return found


def give_unless_lost(rank: int, subject: str, tensor: Tensor) -> Talk[ExchangeError | None]:
    """None once it is taken, or why it will not be."""
    found = yield Give(rank, subject, tensor, survives_loss=True)
    assert not isinstance(found, Tensor)
    return found


def carry(
    talk: Talk[Answer],
    books: Books,
    *,
    group: dist.ProcessGroup | None = None,
    device: torch.device | str = "cpu",
    timeout_seconds: float = TIMEOUT_SECONDS,
) -> Answer:
    """Carry this rank's talk to its end, with the other ranks of a process group; what it returns.

    Args:
        talk: of this rank.
        books: where what it gives and takes is noted.
        group: None is the default one.
        device: where tensors travel, the GPU for NCCL, and where what is taken arrives.
        timeout_seconds: how long it waits for another rank, unless a wish is patient.

    Raises:
        ExchangeError: another rank is lost, does not come in time, or says something else than it is asked.
        ValueError: a tensor that cannot be given, or a rank that is not there.
    """
    rank, device = dist.get_rank(group), torch.device(device)
    size = dist.get_world_size(group)

    def said(wish: Give | Take) -> Tensor | None:
        _require_other(wish, rank, size)
        about = f"rank {rank}, {_wish_in_words(wish)}"
        call = Call(about, group, timeout_seconds)
        # Once the head is there, so is the other.
        coming = Call(about, group, max(timeout_seconds, PATIENCE_SECONDS)) if wish.is_patient else call
        if isinstance(wish, Give):
            head = _head(wish)
            answer(Swap({wish.rank: head.to(device)}, {}, device), coming)
            answer(Swap({wish.rank: _as_bytes(wish.tensor).to(device)}, {}, device), call)
            books.note(rank, wish.rank, wish.subject, wish.tensor)
            return None
        (head,) = answer(Swap({}, {wish.rank: HEAD_BYTES}, device), coming)
        dtype, shape, checksum = _read_head(head.cpu(), wish)
        byte_count = torch.Size(shape).numel() * dtype.itemsize
        (body,) = answer(Swap({}, {wish.rank: byte_count}, device), call)
        if zlib.crc32(body.cpu().numpy().data) != checksum:
            raise ExchangeError(f"{about}: what arrived is not what was sent")
        found = body.view(dtype).view(shape) if body.numel() else torch.empty(shape, dtype=dtype, device=device)
        books.note(wish.rank, rank, wish.subject, found)
        return found

    return _carried(talk, said)


def _carried(talk: Talk[Answer], said: Callable[[Give | Take], Tensor | None]) -> Answer:
    found: Tensor | ExchangeError | None = None
    while True:
        try:
            wish = talk.send(found)
        except StopIteration as end:
            result: Answer = end.value
            return result
        try:
            found = said(wish)
        except ExchangeError as error:
            if not wish.survives_loss:
                talk.close()
                raise
            found = error


def side_by_side(talks: Sequence[Talk[Answer]], books: Books) -> list[Answer]:
    """Carry the talks of all parties, by rank, in this process; what each returns.

    A party whose talk has ended gives and takes nothing more: who still waits for it has lost it.

    Raises:
        ExchangeError: a party waits for one that has ended, says another subject, or all wait for each other.
    """
    return _Hall(talks, books).run()


class _Hall(Generic[Answer]):
    """All parties of a talk in one process.

    Args:
        talks: by rank.
        books: of what they give.
    """

    def __init__(self, talks: Sequence[Talk[Answer]], books: Books) -> None:
        self._talks, self._books = list(talks), books
        self._wishes: list[Give | Take | None] = [None] * len(talks)
        self._results: dict[int, Answer] = {}

    def run(self) -> list[Answer]:
        for rank in range(len(self._talks)):
            self._go_on(rank, None)
        while len(self._results) < len(self._talks):
            if not any(self._meet(rank) for rank in range(len(self._talks))):
                waiting = ", ".join(
                    f"rank {rank} {_wish_in_words(wish)}" for rank, wish in enumerate(self._wishes) if wish is not None
                )
                raise ExchangeError(f"all wait for each other: {waiting}")
        return [self._results[rank] for rank in range(len(self._talks))]

    def _meet(self, rank: int) -> bool:
        """Let a giver and its taker go on, or a party whose other has ended; whether anybody went on."""
        wish = self._wishes[rank]
        if wish is None:
            return False
        if wish.rank in self._results:
            self._lose(rank, wish)
            return True
        other = self._wishes[wish.rank]
        if not (isinstance(wish, Give) and isinstance(other, Take) and other.rank == rank):
            return False
        # As over a wire: what is taken is a tensor of its own.
        dtype, shape, _ = _read_head(_head(wish), other)
        taken = _as_bytes(wish.tensor).clone().view(dtype).view(shape) if wish.tensor.numel() else wish.tensor.clone()
        self._books.note(rank, wish.rank, wish.subject, wish.tensor)
        self._go_on(rank, None)
        self._go_on(wish.rank, taken)
        return True

    def _lose(self, rank: int, wish: Give | Take) -> None:
        error = ExchangeError(f"rank {rank}, {_wish_in_words(wish)}: rank {wish.rank} has ended")
        if not wish.survives_loss:
            raise error
        self._go_on(rank, error)

    def _go_on(self, rank: int, found: Tensor | ExchangeError | None) -> None:
        try:
            wish = self._talks[rank].send(found)
            _require_other(wish, rank, len(self._talks))
            self._wishes[rank] = wish
        except StopIteration as end:
            self._results[rank], self._wishes[rank] = end.value, None


def _require_other(wish: Give | Take, rank: int, size: int) -> None:
    if wish.rank == rank or not 0 <= wish.rank < size:
        raise ValueError(f"rank {rank} of {size} cannot talk to rank {wish.rank} ({wish.subject})")


def _wish_in_words(wish: Give | Take) -> str:
    verb, preposition = ("gives", "to") if isinstance(wish, Give) else ("takes", "from")
    return f"{verb} {wish.subject!r} {preposition} rank {wish.rank}"


def _as_bytes(tensor: Tensor) -> Tensor:
    return (
        tensor.detach().contiguous().view(-1).view(torch.uint8) if tensor.numel() else torch.empty(0, dtype=torch.uint8)
    )


def _head(given: Give) -> Tensor:
    """[72] uint8.

    Raises:
        ValueError: a dtype or a number of axes that cannot be said.
    """
    tensor = given.tensor
    if tensor.dtype not in DTYPES or tensor.dim() > _MOST_AXES:
        raise ValueError(f"{given.subject!r} cannot be given: {tensor.dtype} with {tensor.dim()} axes")
    shape = (*tensor.shape, *[0] * (_MOST_AXES - tensor.dim()))
    body = _as_bytes(tensor).cpu().numpy().data
    said = _FORM.pack(
        _MAGIC,
        DTYPES.index(tensor.dtype),
        tensor.dim(),
        zlib.crc32(given.subject.encode()),
        zlib.crc32(body),
        *shape,
        0,
    )
    said = said[:-8] + struct.pack("<Q", zlib.crc32(said[:-8]))
    return torch.frombuffer(bytearray(said), dtype=torch.uint8)


def _read_head(head: Tensor, wish: Take) -> tuple[torch.dtype, tuple[int, ...], int]:
    """Dtype, shape and checksum of what comes.

    Raises:
        ExchangeError: no head, or one of another subject.
    """
    said = head.numpy().tobytes()
    magic, dtype, axes, subject, checksum, *shape, check = _FORM.unpack(said)
    if magic != _MAGIC or check != zlib.crc32(said[:-8]):
        raise ExchangeError(f"rank {wish.rank} was asked for {wish.subject!r} and said what is no tensor")
    if subject != zlib.crc32(wish.subject.encode()):
        raise ExchangeError(f"rank {wish.rank} was asked for {wish.subject!r} and spoke of something else")
    return DTYPES[dtype], tuple(shape[:axes]), checksum
