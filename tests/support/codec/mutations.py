"""What may arrive instead of a message? Messages of every code, each changed in a few places. Ours."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import product

import torch

from sparsync.kernels.codec import HEADER_BYTES, encode
from sparsync.kernels.codec_indices import INDEX_CODES
from sparsync.kernels.codec_values import VALUE_CODES
from sparsync.kernels.payload import SparsePayload
from tests.support.codec.payloads import generator, of_gaps, scattered

# Where a change may mean another message: dtype, codes, d, m, length.
_MEANINGFUL = (*range(4, HEADER_BYTES),)
_EDGES = (0, 1, 2, 0x7F, 0x80, 0xFE, 0xFF)
_EDGE_WORDS = (0, 1, 4096, 2**16, 2**31 - 1, 2**31, 2**32 - 1)


def seeds() -> list[bytes]:
    """A message of few, of some and of more than a block's entries, by every pair of codes."""
    positions = (
        (torch.zeros(0, dtype=torch.int32), 5),
        (torch.tensor([0, 4, 4096, 9000], dtype=torch.int32), 10_000),
        (of_gaps(torch.tensor([0] * 40 + [2**20] * 9)), 2**28),
        (scattered(1100, 60_000), 60_000),
    )
    made = []
    for (indices, dimension), values, code in product(positions, VALUE_CODES, INDEX_CODES):
        payload = SparsePayload(torch.randn(len(indices), generator=generator()), indices, dimension)
        made.append(encode(payload, values=values, indices=code))  # type: ignore[arg-type]
    return made


def mutated(draws: random.Random) -> Iterator[bytes]:
    """Without an end: messages with changed, missing, added and exchanged bytes."""
    messages = seeds()
    while True:
        data = bytearray(draws.choice(messages))
        for _ in range(draws.choice((1, 1, 1, 2, 4, 16))):
            draws.choice(_CHANGES)(data, draws)
        # Otherwise most would be refused for their length alone.
        if len(data) >= HEADER_BYTES and draws.random() < 0.7:
            data[16:HEADER_BYTES] = len(data).to_bytes(8, "little")
        yield bytes(data)


def _flip(data: bytearray, draws: random.Random) -> None:
    if data:
        data[draws.randrange(len(data))] ^= 1 << draws.randrange(8)


def _edge(data: bytearray, draws: random.Random) -> None:
    if data:
        data[draws.randrange(len(data))] = draws.choice(_EDGES)


def _header(data: bytearray, draws: random.Random) -> None:
    place = draws.choice(_MEANINGFUL)
    if place < len(data):
        data[place] = draws.choice((draws.randrange(5), draws.randrange(256)))


def _count(data: bytearray, draws: random.Random) -> None:
    """Another d or m: near what it was, or any."""
    place = draws.choice((8, 12))
    if len(data) >= HEADER_BYTES:
        held = int.from_bytes(data[place : place + 4], "little")
        number = draws.choice((held + draws.randint(-2, 2), draws.choice(_EDGE_WORDS), draws.randrange(2**16)))
        data[place : place + 4] = (number % 2**32).to_bytes(4, "little")


def _cut(data: bytearray, draws: random.Random) -> None:
    del data[draws.randrange(len(data) + 1) :]


def _remove(data: bytearray, draws: random.Random) -> None:
    place = draws.randrange(len(data) + 1)
    del data[place : place + draws.randint(1, 8)]


def _append(data: bytearray, draws: random.Random) -> None:
    place = draws.choice((len(data), draws.randrange(len(data) + 1)))
    data[place:place] = draws.randbytes(draws.randint(1, 16))


def _noise(data: bytearray, draws: random.Random) -> None:
    place = draws.randrange(len(data) + 1)
    length = len(data[place : place + draws.randint(1, 64)])
    data[place : place + length] = draws.choice((draws.randbytes(length), bytes(length), b"\xff" * length))


_CHANGES = (_flip, _edge, _header, _count, _cut, _remove, _append, _noise)
