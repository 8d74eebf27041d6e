"""Bytes of an outer step travel where the process group serves, and are those of the codec."""

from __future__ import annotations

import pytest
import torch
import torch.distributed as dist
from torch import Tensor, nn

from sparsync.experiments.averaging.envelope import ENVELOPE_BYTES
from sparsync.experiments.local import OuterStep
from sparsync.experiments.local_messages import served_device
from sparsync.kernels.chunks import CHUNK_SIZE, chunk_shares
from sparsync.kernels.codec import HEADER_BYTES, Indices
from tests.support.hooks.local_steps import anchor_of
from tests.support.workers import run_workers

WHOLE = 100 * CHUNK_SIZE
CASES = ((9 * CHUNK_SIZE - 64, 700), (WHOLE, 300), (WHOLE, 200))
"""d and k: 2 % where the last chunk is short, then three and two entries of every chunk."""
CODES: tuple[Indices, ...] = ("rice", "int32", "int12")


@pytest.mark.parametrize(
    ("configuration", "near", "served"),
    [
        ("cpu:gloo", "cpu", "cpu"),
        ("cpu:gloo,cuda:gloo", "cuda:1", "cpu"),
        ("cpu:gloo,cuda:nccl", "cuda:1", "cpu"),
        ("cuda:nccl", "cuda:1", "cuda:1"),
        ("cuda:nccl", "cpu", "cuda"),
    ],
)
def test_bytes_travel_on_a_device_that_the_group_serves(configuration: str, near: str, served: str) -> None:
    assert served_device(configuration, torch.device(near)) == torch.device(served)


def sent_with(positions: Indices, dimension: int, k: int) -> tuple[int, Tensor]:
    """The bytes that one outer step sends, and θ after it."""
    torch.manual_seed(0)
    model = nn.Linear(64, dimension // 64, bias=False)
    outer = OuterStep(model, inner_steps=1, density=k / dimension, values="int8", positions=positions)
    model.weight.data += torch.randn(model.weight.shape)
    outer.step()
    return outer.sent_bytes, anchor_of(outer)


def sent_by_code() -> tuple[str, list[dict[str, int]], bool]:
    """Where gloo wants the bytes of a model on a GPU, how many there are for each code, and is θ the same with all?"""
    sent = [{positions: sent_with(positions, *case) for positions in CODES} for case in CASES]
    same = all(torch.equal(theta, by_code["rice"][1]) for by_code in sent for _, theta in by_code.values())
    counts = [{str(positions): count for positions, (count, _) in by_code.items()} for by_code in sent]
    return str(served_device(dist.get_backend_config(), torch.device("cuda"))), counts, same


def test_positions_of_twelve_bits_take_the_bytes_that_the_codec_promises() -> None:
    ((device, counts, same),) = run_workers(sent_by_code, 1)
    assert device == "cpu"
    assert same
    for (dimension, k), sent in zip(CASES, counts, strict=True):
        shares = chunk_shares(k, dimension)
        width = int(shares.max() - shares.min()).bit_length()
        # Headers go first and last. Values are a scale for each 1024 of them, and a byte each.
        before = ENVELOPE_BYTES + HEADER_BYTES + -(-k // 1024) + k
        assert sent["int32"] == before + 4 * k
        assert sent["int12"] == before + 3 + -(-width * len(shares) // 8) + -(-12 * k // 8)
    two_percent, three_each, two_each = counts
    assert two_percent["rice"] < two_percent["int12"]
    assert three_each["rice"] < three_each["int12"]
    assert two_each["int12"] < two_each["rice"]
