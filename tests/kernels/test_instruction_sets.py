"""The library is compiled for several instruction sets: all give the same bits, and none gets into another's way."""

from __future__ import annotations

import hashlib
import platform
import shutil
import subprocess
from pathlib import Path

import pytest

from sparsync.kernels import native_build
from sparsync.kernels.native_build import HOST_STEPS, SOURCE_FOLDER, CompileStep
from tests.support.stand_ins.forked import run_forked

WIDE_STEPS = [step for step in HOST_STEPS if step.flags]
SELECTIONS = """
import hashlib, torch
from sparsync.kernels.native import SelectionState, backend, feedback_select
assert backend().startswith("native"), backend()
digest = hashlib.sha256()
for dtype in (torch.float32, torch.bfloat16, torch.float16):
    for rule in ("top_k", "gaussian_k", "gaussian_k_released", "threshold", "chunked_top_k"):
        for d in (1, 63, 64, 65, 4095, 20011):
            generator, state, residual = torch.Generator().manual_seed(d), SelectionState(), torch.zeros(d)
            for step in range(3):
                g = (torch.randn(d, generator=generator) * 10.0 ** (-2 * step)).to(dtype)
                least = 0.02 if rule == "threshold" else None
                payload = feedback_select(g, residual, max(1, d // 50), rule=rule, state=state, threshold=least)
                for tensor in (payload.values, payload.indices, residual):
                    digest.update(tensor.numpy().tobytes())
print(digest.hexdigest())
"""
MESSAGES = """
import hashlib
from sparsync.kernels.codec import decode, encode
from sparsync.kernels.codec_indices import INDEX_CODES
from sparsync.kernels.codec_values import VALUE_CODES
from sparsync.kernels.native import backend
from tests.support.codec.payloads import POSITIONS, payload_at
assert backend().startswith("native"), backend()
digest = hashlib.sha256()
for payload in map(payload_at, POSITIONS):
    for values in VALUE_CODES:
        for indices in INDEX_CODES:
            message = encode(payload, values=values, indices=indices)
            received = decode(message)
            for part in (message, received.values.numpy().tobytes(), received.indices.numpy().tobytes()):
                digest.update(part)
print(digest.hexdigest())
"""


def printed_with(instruction_set: str, code: str) -> str:
    """By a process of its own, where the choice is still open."""
    finished = run_forked("-c", code, environment={"SPARSYNC_INSTRUCTION_SET": instruction_set})
    assert finished.returncode == 0, finished.stderr
    return finished.stdout.strip()


@pytest.mark.skipif("cpu" not in native_build.library().devices, reason="the native library serves no CPU here")
@pytest.mark.parametrize("code", [SELECTIONS, MESSAGES], ids=["selections", "messages"])
def test_every_instruction_set_gives_the_same_bits(code: str) -> None:
    digests = {name: printed_with(name, code) for name in ("portable", "avx2", "avx512")}
    assert len(set(digests.values())) == 1, digests
    assert len(digests["portable"]) == hashlib.sha256().digest_size * 2


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("nm") is None, reason="nm lists the functions")
@pytest.mark.parametrize("step", WIDE_STEPS, ids=[f"{step.source}, {step.suffix}" for step in WIDE_STEPS])
def test_no_function_of_a_wide_instruction_set_is_one_that_others_may_get(step: CompileStep, tmp_path: Path) -> None:
    """A linker keeps one of all inline functions of a name: not one that older processors do not know."""
    machine = platform.machine()
    if step.machine != machine:
        pytest.skip(f"for {step.machine}")
    compiled = tmp_path / "wide.o"
    flags = [*native_build.host_flags(), *native_build._BASELINE_FLAGS[machine], *step.flags]
    source = str(SOURCE_FOLDER / step.source)
    native_build.run_compiler([*native_build.host_compiler(), *flags, "-c", source, "-o", str(compiled)])
    listed = subprocess.run(["nm", "-C", "--defined-only", compiled], capture_output=True, text=True, check=True)
    shared = [line.split(" ", 2)[2] for line in listed.stdout.splitlines() if line.split(" ", 2)[1] in "Wu"]
    assert [name for name in shared if f"sparsync::{step.suffix}::" not in name] == []
    assert f"sparsync::{step.suffix}::" in listed.stdout
