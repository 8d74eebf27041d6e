"""The address and undefined-behaviour sanitizers find nothing wrong with the wire format, on payloads and on noise."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.kernels.test_native_sanitized import require_sanitisers, sanitised
from tests.support.feedback_cases import Fault, faulty_sources
from tests.support.paths import ROOT

# Every message lies in memory of exactly its length, a tensor's own: that of a bytearray may be longer.
WORK = """
import random
from itertools import islice
from sparsync.kernels.codec import decode, encode
from sparsync.kernels.codec_indices import INDEX_CODES
from sparsync.kernels.codec_values import VALUE_CODES
from tests.support.codec.mutations import mutated
from tests.support.codec.payloads import POSITIONS, payload_at, payload_of
from tests.support.hard_vectors import HARD_VECTORS
payloads = [payload_at(name) for name in POSITIONS] + [payload_of(name, torch.float32) for name in HARD_VECTORS]
for payload in payloads:
    for values in VALUE_CODES:
        for indices in INDEX_CODES:
            decode(encode(payload, values=values, indices=indices))
refused = 0
for data in islice(filter(None, mutated(random.Random(9))), 100_000):
    try:
        decode(torch.frombuffer(bytearray(data), dtype=torch.uint8).clone())
    except ValueError:
        refused += 1
assert 30_000 < refused < 100_000, refused
print("all cases done")
"""
# Reads that change no result.
FAULTS: dict[str, Fault] = {
    "the bytes that are left": (
        "cpu/codec.h",
        "if (count > left()) return false;\n    if (count > 0) memcpy(target",
        "if (count > left() + 8) return false;\n    if (count > 0) memcpy(target",
    ),
    "the end of the unary part": (
        "cpu/codec_indices.cpp",
        "const int64_t most = std::min(reader.left(), bytes_for_bits(size * kUnaryBitsEach));",
        "const int64_t most = bytes_for_bits(size * kUnaryBitsEach);",
    ),
    "the largest parameter": (
        "cpu/codec_indices.cpp",
        "if (parameter > kLargestParameter) return Fault::kParameter;",
        "if (parameter > 200) return Fault::kParameter;",
    ),
    "the entries of the chunks": (
        "cpu/codec_indices.cpp",
        "if (here > count - filled) return Fault::kCounts;",
        "if (here > count - filled + 4096) return Fault::kCounts;",
    ),
}


@pytest.mark.slow
def test_payloads_and_mutated_messages_stay_within_their_memory(tmp_path: Path) -> None:
    require_sanitisers()
    finished = sanitised(ROOT / "kernels" / "csrc", tmp_path, work=WORK)
    assert finished.returncode == 0, finished.stderr
    assert finished.stdout == "all cases done\n"


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_a_check_that_is_missing_is_seen(fault: str, tmp_path: Path) -> None:
    require_sanitisers()
    sources = faulty_sources(tmp_path / "csrc", [FAULTS[fault]])
    finished = sanitised(sources, tmp_path / "cache", work=WORK)
    assert finished.returncode != 0
    assert re.search("buffer-overflow|runtime error|SEGV", finished.stderr), finished.stderr
