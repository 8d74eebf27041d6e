"""Cases run in processes of their own come back in their order; a failing one ends the whole."""

from __future__ import annotations

import math
import os

import pytest
import torch

from sparsync.experiments.studies.pool import run_cases


def test_results_come_in_the_order_of_the_cases() -> None:
    done: list[None] = []
    assert run_cases(math.isqrt, [81, 16, 49], job_count=2, advance=lambda: done.append(None)) == [9, 4, 7]
    assert len(done) == 3


def test_cases_compute_on_one_thread_apart_from_this_process() -> None:
    assert run_cases(_threads_and_process, [0], job_count=1)[0][0] == 1
    assert run_cases(_threads_and_process, [0], job_count=1)[0][1] != os.getpid()


def test_what_a_case_raises_is_raised() -> None:
    with pytest.raises(ValueError, match="nonnegative"):
        run_cases(math.isqrt, [4, -1], job_count=1)


def test_no_processes_are_refused() -> None:
    with pytest.raises(ValueError, match="jobs must be at least 1, got 0"):
        run_cases(math.isqrt, [4], job_count=0)


def _threads_and_process(_case: int) -> tuple[int, int]:
    return torch.get_num_threads(), os.getpid()
