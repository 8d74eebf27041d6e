"""Where means are formed of what all ranks have sent: on a GPU in a stream of its own, beside that of backward.

A future of NCCL is complete as soon as its work is handed over, and what follows it runs at once, in the thread of
backward. So that must not ask the device for anything; and its kernels have to wait for those of NCCL themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

Arrival = torch.futures.Future[list[Tensor]]
"""Of a collective."""
Arrivals = torch.futures.Future[list[Arrival]]


class Side:
    """A stream of one device; of a CPU there is none, and work is done where it is asked for.

    Args:
        device: with its index.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._module: Any = None if device.type == "cpu" else torch.get_device_module(device)
        self._stream: Any = None if self._module is None else self._module.Stream(device)

    def after(
        self, arrivals: Sequence[Arrival], work: Callable[[Arrivals], None], *, of: Sequence[Tensor], result: Tensor
    ) -> torch.futures.Future[Tensor]:
        """Do the work, here, once the others have sent theirs.

        Args:
            arrivals: to be waited for.
            work: of them together, once all have arrived or one has failed; raises what the future shall raise.
            of: the tensors of this step that it reads, which may have no other holder.
            result: of the future; whose stream waits for that, waits for the work.
        """
        ended = self.future()

        def go_on(arrived: Arrivals) -> None:
            try:
                with self.entered(of):
                    work(arrived)
                    ended.set_result(result)
            except Exception as error:
                ended.set_exception(error)  # type: ignore[arg-type]  # PyTorch's annotation is that of a result

        torch.futures.collect_all(list(arrivals)).then(go_on)
        return ended

    def future(self) -> torch.futures.Future[Tensor]:
        """Of a tensor on the device."""
        return torch.futures.Future(devices=None if self._stream is None else [self._device])

    @contextmanager
    def entered(self, used: Sequence[Tensor]) -> Iterator[None]:
        """Here work follows all that the current stream has been given; until it ends, nothing else gets the memory."""
        if self._stream is None:
            yield
            return
        self._stream.wait_stream(self._module.current_stream(self._device))
        for tensor in used:
            tensor.record_stream(self._stream)
        with self._module.stream(self._stream):
            yield

    def mark(self) -> Any:
        """An event after all work so far; None on a CPU, which has done it."""
        return None if self._stream is None else self._stream.record_event()

    def room(self, shape: Sequence[int]) -> Tensor:
        """int32 on the host, where the device writes while the host goes on."""
        return torch.empty(tuple(shape), dtype=torch.int32, pin_memory=self._stream is not None)


def side_for(device: torch.device) -> Side | None:
    """None on a CPU, where whoever asks has the answer at once."""
    return None if device.type == "cpu" else Side(device)


def placed(numbers: Sequence[int], *, device: torch.device) -> Tensor:
    """int64 on a device, for which the host does not wait."""
    is_pinned = device.type == "cuda" and torch.cuda.is_available()
    return torch.tensor(numbers, dtype=torch.int64, pin_memory=is_pinned).to(device, non_blocking=True)
