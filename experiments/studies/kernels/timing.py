"""How long does a call take? All contenders of a case in turn, in one process, each from the same residuals.

Residuals are put back before every call, outside the measured time. Contenders take turns, so that a busy machine or a
falling clock rate meets all of them; slow ones leave the rounds earlier. Every round has an order of its own: who comes
first finds a gradient that no cache holds, and who follows a slow one finds idle threads asleep.
"""

from __future__ import annotations

import functools
import gc
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from sparsync.experiments.studies.kernels.checks import WARM_UP_COUNT, Expectation, Quality, check
from sparsync.experiments.studies.kernels.contenders import Contender, Result, pass_counts
from sparsync.experiments.studies.kernels.laws import Case

_FLUSHING_BYTES = 2**27
"""More than twice the L2 cache of an H200, 50 MB, or of an A100, 40 MB."""


@dataclass(frozen=True)
class Effort:
    """How often a contender is timed: until `seconds` are spent on it, but between `fewest` and `most` times."""

    seconds: float
    fewest: int
    most: int


@dataclass(frozen=True)
class Timing:
    """Seconds of each call of a contender, and the streaming passes of each selection in each call."""

    seconds: list[float] = field(default_factory=list)
    pass_counts: list[int] = field(default_factory=list)

    def is_enough(self, effort: Effort) -> bool:
        """Has the contender been timed as often as it should?"""
        count = len(self.seconds)
        return count >= effort.most or (count >= effort.fewest and sum(self.seconds) >= effort.seconds)


def check_and_time(
    expected: Expectation, contenders: Sequence[Contender], effort: Effort
) -> dict[str, tuple[Quality | None, Timing]]:
    """Check every contender on the call after its warm-up, then time all of them in turn.

    Raises:
        RuntimeError: a contender's result is wrong.
    """
    case = expected.case
    # The same ones for every call: a recorded call knows no others.
    residuals = [torch.empty_like(residual) for residual in case.step(0)[0]]
    quality = {}
    for contender in contenders:
        for index in range(WARM_UP_COUNT if contender.remembers else 0):
            _run(contender, case, index, residuals)
        _, result = _run(contender, case, WARM_UP_COUNT, residuals)
        quality[contender.name] = check(contender, expected, residuals, result)
    timings = _time_in_turn(case, contenders, effort, residuals)
    return {name: (quality[name], timings[name]) for name in quality}


def _time_in_turn(
    case: Case, contenders: Sequence[Contender], effort: Effort, residuals: list[Tensor]
) -> dict[str, Timing]:
    timings = {contender.name: Timing() for contender in contenders}
    gc.collect()
    gc.disable()
    try:
        for index in range(effort.most):
            # Seeded by the round: the same order in every run.
            for contender in random.Random(index).sample(contenders, len(contenders)):
                timing = timings[contender.name]
                if not timing.is_enough(effort):
                    seconds, result = _run(contender, case, WARM_UP_COUNT + 1 + index, residuals)
                    timing.seconds.append(seconds)
                    timing.pass_counts.extend(pass_counts(result))
                    # The next call must not find the memory of this result taken.
                    del result
    finally:
        gc.enable()
    return timings


def _run(contender: Contender, case: Case, index: int, residuals: list[Tensor]) -> tuple[float, Result]:
    before, gradients = case.step(index)
    for residual, start in zip(residuals, before, strict=True):
        residual.copy_(start)
    if contender.prepare is not None:
        contender.prepare(gradients, residuals)
    timed = _timed_on_gpu if residuals[0].is_cuda else _timed
    return timed(lambda: contender.call(gradients, residuals))


def _timed(action: Callable[[], Result]) -> tuple[float, Result]:
    started = time.perf_counter()
    result = action()
    return time.perf_counter() - started, result


@functools.cache
def _more_than_caches_hold() -> Tensor:
    return torch.zeros(_FLUSHING_BYTES // 4, device="cuda")


def _timed_on_gpu(action: Callable[[], Result]) -> tuple[float, Result]:
    """Between two events on the current stream, so that launches and waits inside the call count.

    Before the first, something else is read: what the caches hold of earlier writes is not written back in this time.
    """
    _more_than_caches_hold().sum()
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    torch.cuda.synchronize()
    begin.record()
    result = action()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) / 1e3, result
