"""A replayed contender repeats a recorded call on the gradients of each step, and is checked like every other.

Without a GPU a call is repeated by calling it again and putting what it returned where the first call had it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import pytest
import torch

from sparsync.experiments.studies.kernels import checks, study
from sparsync.experiments.studies.kernels.contenders import FLOOR, Result, contenders
from sparsync.experiments.studies.kernels.laws import Case, model_cases
from sparsync.experiments.studies.kernels.replay import Recorder, recorded, replayed_contenders
from sparsync.experiments.studies.kernels.timing import Effort, check_and_time
from sparsync.kernels.payload import SparsePayload
from tests.support.native_backends import cuda_backend

SHAPES = ((5,), (64, 65), (1,), (30, 301))
MODES = [f"{rule}, {mode}" for rule in ("gaussian_k", "top_k") for mode in ("cold", "warm")]
NAMES = [f"{name}, replayed" for name in (FLOOR, *MODES)]
EFFORT = Effort(seconds=0.0, fewest=2, most=3)
GRANULARITIES = {"tensors": 0, "whole": 1}


def small_case(granularity: str, *, device: str = "cpu") -> Case:
    return model_cases("small", SHAPES, 0.01, device=torch.device(device))[GRANULARITIES[granularity]]


def repeated(call: Callable[[], Result]) -> tuple[Callable[[], None], Result]:
    result = call()

    def start() -> None:
        for place, found in zip(result, call(), strict=True):
            place, found = cast(SparsePayload, place), cast(SparsePayload, found)
            assert place._report is not None
            assert found._report is not None
            place._report.table.copy_(found._report.table)
            for old, new in zip(place.padded(), found.padded(), strict=True):
                old.copy_(new)

    return start, result


def forgotten(call: Callable[[], Result]) -> tuple[Callable[[], None], Result]:
    return lambda: None, call()


def half_forgotten(call: Callable[[], Result]) -> tuple[Callable[[], None], Result]:
    return lambda: cast(None, call()), call()


@pytest.mark.parametrize("granularity", GRANULARITIES)
def test_a_recorded_call_selects_what_the_call_itself_does(granularity: str) -> None:
    expected = checks.expect(small_case(granularity))
    replays = check_and_time(expected, replayed_contenders(expected.case, record=repeated), EFFORT)
    assert list(replays) == NAMES
    direct = check_and_time(expected, contenders(expected.case, threshold=0.0), EFFORT)
    for name, (quality, timing) in replays.items():
        assert quality == direct[name.removesuffix(", replayed")][0]
        assert len(timing.seconds) == EFFORT.fewest
        selection_count = 0 if quality is None else EFFORT.fewest * len(expected.case.target_counts)
        assert len(timing.pass_counts) == selection_count


@pytest.mark.parametrize(
    ("record", "name", "message"),
    [
        (forgotten, NAMES[0], "another sum"),
        (forgotten, NAMES[1], "sent and kept are not the whole"),
        (half_forgotten, NAMES[1], "sent and kept are not the whole"),
        (half_forgotten, NAMES[2], "sent and kept are not the whole"),
        (half_forgotten, NAMES[4], "sent and kept are not the whole"),
    ],
)
def test_a_replay_that_does_nothing_or_fills_nothing_is_caught(record: Recorder, name: str, message: str) -> None:
    expected = checks.expect(small_case("tensors"))
    (wrong,) = (one for one in replayed_contenders(expected.case, record=record) if one.name == name)
    with pytest.raises(RuntimeError, match=f"{name} on small, tensors.*{message}"):
        check_and_time(expected, [wrong], EFFORT)


def test_a_recorded_call_knows_only_the_residuals_that_it_was_recorded_for() -> None:
    case = small_case("whole")
    residuals, gradients = case.step(0)
    floor = replayed_contenders(case, record=repeated)[0]
    working = [residual.clone() for residual in residuals]
    with pytest.raises(RuntimeError, match="not recorded for"):
        floor.call(gradients, working)
    assert floor.prepare is not None
    floor.prepare(gradients, working)
    assert all(map(torch.equal, working, residuals))
    floor.call(gradients, working)
    with pytest.raises(RuntimeError, match="not recorded for"):
        floor.call(gradients, list(working))


@pytest.mark.parametrize("granularity", GRANULARITIES)
def test_the_rows_of_a_recorded_case_have_a_floor_of_their_own(granularity: str) -> None:
    rows = study.case_rows(
        small_case(granularity), EFFORT, lambda expected: replayed_contenders(expected.case, record=repeated)
    )
    assert [row["contender"] for row in rows] == NAMES
    assert [row["ratio_to_add"] for row in rows] == [row["best_seconds"] / rows[0]["best_seconds"] for row in rows]


@pytest.mark.parametrize("granularity", GRANULARITIES)
def test_a_cuda_graph_selects_what_the_call_itself_does(granularity: str) -> None:
    expected = checks.expect(small_case(granularity, device=cuda_backend().device))
    measured = check_and_time(expected, replayed_contenders(expected.case, record=recorded), EFFORT)
    assert list(measured) == NAMES
