"""How long a rank waits for the others, and what it says when they do not come: in which call, and who is missing.

A rank that has waited in vain leaves a note in the store of its group and looks for those of others: who left none is
not in that call. With gloo an operation ends by itself when its time is over, which also tells the other ranks; that of
NCCL is watched by the host. A connection that breaks as a peer dies becomes the same error at once.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch._C._distributed_c10d import AllgatherOptions, AllreduceOptions, Work

from sparsync.experiments.averaging.header import ExchangeError

TIMEOUT_SECONDS = 60.0
"""Of every exchange, unless another is asked for."""
_NOTES_SECONDS, _POLL_SECONDS = 1.0, 0.02
"""How long notes of other ranks are waited for."""
_MARGIN_SECONDS = 1.0
"""So much later than the operation itself, who waits for it gives up."""
_LOOK_SECONDS = 2e-5


def require_timeout(seconds: float, name: str = "timeout_seconds") -> None:
    """Refuse what is no time to wait.

    Raises:
        ValueError: not a positive number, or more than a million seconds.
    """
    if not 0 < seconds <= 1e6:
        raise ValueError(f"{name} must be positive and at most 1e6, got {seconds}")


@dataclass(frozen=True, eq=False)
class Call:
    """What a rank is in, and waits for others in.

    Args:
        title: of an error, as "sparse, step 3".
        group: the ranks; None is the default group.
        timeout_seconds: how long it waits in one operation.
        is_background: the host does not wait, so that NCCL has to end what takes too long; it ends the process too.
    """

    title: str
    group: dist.ProcessGroup | None
    timeout_seconds: float = TIMEOUT_SECONDS
    is_background: bool = False

    def finish(self, work: Work | None, device: torch.device) -> None:
        """Wait for an operation on tensors of a device.

        Raises:
            ExchangeError: it did not end in time, or a connection was lost.
        """
        if work is None:
            return
        began = time.monotonic()
        try:
            if self._backend(device) == "nccl":
                self._look_on(work)
                work.wait()
            else:
                work.wait(timedelta(seconds=self.timeout_seconds + _MARGIN_SECONDS))
        except RuntimeError as error:
            raise self.lost(error, seconds=time.monotonic() - began) from None

    def lost(self, error: Exception, *, seconds: float | None = None) -> ExchangeError:
        """What to raise when an operation has failed.

        Args:
            error: of PyTorch.
            seconds: for how long the operation had been waited for; None if that is not known.
        """
        words = _first_line(error)
        # Gloo says that something timed out, or that a timeout closed the connection.
        has_timed_out = re.search("timed out|timeout", words, flags=re.IGNORECASE) is not None
        is_late = has_timed_out if seconds is None else seconds >= self.timeout_seconds
        what = f"not all ranks came within {self.timeout_seconds:g} s" if is_late else "a connection was lost"
        return ExchangeError(f"{self.title}: {what}; {missing_ranks(self.group)} ({words})")

    def gather_options(self, device: torch.device) -> AllgatherOptions:
        """Of an all-gather of tensors of a device, which ends by itself when its time is over."""
        options = AllgatherOptions()
        self._limit(options, device)
        return options

    def reduce_options(self, device: torch.device) -> AllreduceOptions:
        """Of a sum likewise."""
        options = AllreduceOptions()
        self._limit(options, device)
        return options

    def _limit(self, options: Any, device: torch.device) -> None:
        options.asyncOp = True
        if self.is_background or self._backend(device) != "nccl":
            options.timeout = timedelta(seconds=self.timeout_seconds)

    def _look_on(self, work: Work) -> None:
        end = time.monotonic() + self.timeout_seconds
        while not work.is_completed():
            if time.monotonic() > end:
                raise RuntimeError("timed out")
            time.sleep(_LOOK_SECONDS)

    def _backend(self, device: torch.device) -> str:
        pairs = dict(pair.split(":") for pair in dist.get_backend_config(self.group).split(","))
        return pairs.get(device.type, "")


def missing_ranks(group: dist.ProcessGroup | None) -> str:
    """Leave a note, look for those of the others, and say whose is missing."""
    group = dist.group.WORLD if group is None else group
    if group is None:
        return "the group is gone, and nobody knows who is missing"
    found: list[object] = []
    # A store whose host has stopped never answers.
    asking = threading.Thread(target=_exchange_notes, args=(group, found), daemon=True)
    asking.start()
    asking.join(2 * _NOTES_SECONDS)
    match found:
        case [[*missing]]:
            return f"missing: ranks {missing}" if missing else "all ranks are there"
        case [Exception() as error]:
            return f"the store that would tell who is missing is gone, it says {_first_line(error)!r}"
    return "the store that would tell who is missing does not answer"


def _exchange_notes(group: dist.ProcessGroup, found: list[object]) -> None:
    """Put the ranks that left no note into `found`, or why that is not known."""
    try:
        store: Any = group.get_group_store()
        store.set(_note(dist.get_rank(group)), "waited")
        missing: Sequence[int] = range(dist.get_world_size(group))
        end = time.monotonic() + _NOTES_SECONDS
        while missing and time.monotonic() < end:
            missing = [rank for rank in missing if not store.check([_note(rank)])]
            if missing:
                time.sleep(_POLL_SECONDS)
        found.append([*missing])
    except Exception as error:
        found.append(error)


def _note(rank: int) -> str:
    return f"sparsync/waited/{rank}"


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]
