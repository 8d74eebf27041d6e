"""The arithmetic of a process is named, and where its code path is another, so is its digest."""

from __future__ import annotations

import json

import pytest
import torch

from sparsync.verify.tools.arithmetic import arithmetic
from tests.support.stand_ins.forked import run_forked

PROGRAM = "import json; from sparsync.verify.tools.arithmetic import arithmetic; print(json.dumps(arithmetic()))"


def facts_with(**environment: str) -> dict[str, str | None]:
    finished = run_forked("-c", PROGRAM, environment=environment)
    assert finished.returncode == 0, finished.stderr
    # What the library says of itself goes elsewhere: the line is all that is printed.
    facts: dict[str, str | None] = json.loads(finished.stdout)
    return facts


def test_a_process_says_what_another_like_it_says() -> None:
    here, there = arithmetic(), facts_with()
    assert here == there
    assert here["cpu_capability"] == torch.backends.cpu.get_cpu_capability()
    assert here["blas"]


@pytest.mark.skipif(
    "AVX" not in torch.backends.cpu.get_cpu_capability(), reason="PyTorch has one code for this processor"
)
def test_another_instruction_set_of_pytorch_is_another_arithmetic() -> None:
    other = facts_with(ATEN_CPU_CAPABILITY="default")
    assert other["cpu_capability"] == "DEFAULT"
    assert other["arithmetic_sha256"] != arithmetic()["arithmetic_sha256"]


@pytest.mark.skipif("MKL" not in str(arithmetic()["blas"]), reason="matrix products are not MKL's here")
def test_another_code_path_of_the_matrix_products_is_another_arithmetic() -> None:
    other = facts_with(MKL_CBWR="COMPATIBLE")
    assert str(other["blas_code_path"]).endswith("MKL_CBWR=COMPATIBLE")
    assert other["arithmetic_sha256"] != arithmetic()["arithmetic_sha256"]
