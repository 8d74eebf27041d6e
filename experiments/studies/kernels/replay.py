"""What does a step cost where the host only starts it? Contenders whose calls are recorded as CUDA graphs.

To hand over the hundreds of tensors of a model costs the host some hundred microseconds, however fast the GPU. A graph
repeats recorded launches on the same tensors; gradients come into their place before the measured time begins.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar, overload

import torch
from torch import Tensor

from sparsync.experiments.studies.kernels.contenders import FLOOR, Call, Contender, Result, Selection, contenders
from sparsync.experiments.studies.kernels.laws import Case
from sparsync.kernels.payload import SparsePayload

SUFFIX = ", replayed"
"""What the names of replayed contenders end with."""
_RULES = ("gaussian_k", "top_k")
Outputs = TypeVar("Outputs")
Recorder = Callable[[Callable[[], Result]], tuple[Callable[[], None], Result]]
"""Makes a call and records it; returns what repeats it, and the result that each repetition fills anew."""


def recorded(call: Callable[[], Outputs]) -> tuple[Callable[[], None], Outputs]:
    """A call as a CUDA graph, recorded after one on a stream of its own, as torch asks for; what each replay fills."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        call()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        outputs = call()
    return graph.replay, outputs


def replayed_contenders(case: Case, *, record: Recorder = recorded) -> list[Contender]:
    """The floor and our kernel's calls, recorded; a cold call's memory is made within it, so each replay is cold."""
    found = [one for one in contenders(case, threshold=0.0) if one.name == FLOOR or (one.ours and one.rule in _RULES)]
    return [replayed(one, record) for one in found]


def replayed(contender: Contender, record: Recorder) -> Contender:
    """The contender with calls that repeat the recorded one."""
    replay = _Replay(contender.call, record)
    return replace(contender, name=contender.name + SUFFIX, call=replay.call, prepare=replay.prepare)


class _Replay:
    """One call, recorded when the first gradients are there."""

    def __init__(self, call: Call, record: Recorder) -> None:
        self._call, self._record = call, record
        self._start: Callable[[], None] | None = None
        self._gradients: list[Tensor] = []
        self._residuals: list[Tensor] = []
        self._result: Result = []

    def prepare(self, gradients: list[Tensor], residuals: list[Tensor]) -> None:
        """Put the gradients where the recorded call reads them."""
        if self._start is None:
            # Of zeros, as no step's are: a result that is left from the recording fails its check.
            self._gradients, self._residuals = [torch.zeros_like(gradient) for gradient in gradients], residuals
            before = [residual.clone() for residual in residuals]
            self._start, self._result = self._record(lambda: self._call(self._gradients, residuals))
            for residual, start in zip(residuals, before, strict=True):
                residual.copy_(start)
        for mine, given in zip(self._gradients, gradients, strict=True):
            mine.copy_(given)

    def call(self, _gradients: list[Tensor], residuals: list[Tensor]) -> Result:
        """Repeat the recorded call.

        Raises:
            RuntimeError: it was recorded for other residuals, or not at all.
        """
        if self._start is None or residuals is not self._residuals:
            raise RuntimeError("a recorded call was asked for with residuals that it was not recorded for")
        self._start()
        return _Filled(self._result)


class _Filled(Sequence[SparsePayload | Selection]):
    """What a replay filled; payloads are made anew when someone asks, outside the measured time."""

    def __init__(self, result: Result) -> None:
        self._result = result

    @overload
    def __getitem__(self, index: int) -> SparsePayload | Selection: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[SparsePayload | Selection]: ...
    def __getitem__(self, index: int | slice) -> SparsePayload | Selection | Sequence[SparsePayload | Selection]:
        if isinstance(index, slice):
            return _Filled(self._result[index])
        item = self._result[index]
        return item.reread() if isinstance(item, SparsePayload) else item

    def __len__(self) -> int:
        return len(self._result)
