"""Process groups: how a rank that torchrun started joins, which one is meant, and how long it must live.

It outlives what is sent in the background.
"""

from __future__ import annotations

import atexit
import os
from datetime import timedelta

import torch
import torch.distributed as dist
from torch.distributed.distributed_c10d import PrefixStore, Store
from torch.distributed.rendezvous import rendezvous

from sparsync.experiments.averaging.header import ExchangeError

_KEPT: list[dist.ProcessGroup] = []
"""Groups in which something was sent in the background; see `kept`."""
atexit.register(_KEPT.clear)


def own_device() -> torch.device:
    """The GPU of this rank, or the CPU where there is none.

    Raises:
        ValueError: other ranks of this machine have a GPU, and this one has none.
    """
    if not torch.cuda.is_available():
        return torch.device("cpu")
    local_rank = int(os.environ.get("LOCAL_RANK", "0"))
    if local_rank >= torch.cuda.device_count():
        raise ValueError(
            f"local rank {local_rank} has no GPU, {torch.cuda.device_count()} present; "
            "an empty CUDA_VISIBLE_DEVICES trains on CPUs"
        )
    device = torch.device("cuda", local_rank)
    torch.cuda.set_device(device)
    return device


def join(process_count: int, device: torch.device, seconds: float) -> None:
    """Become a rank of the default group: NCCL for a GPU, gloo else.

    Raises:
        ExchangeError: not all ranks have come in time.
    """
    rank, timeout = int(os.environ["RANK"]), timedelta(seconds=seconds)
    backend = "nccl" if device.type == "cuda" else "gloo"
    try:
        dist.init_process_group(
            backend, store=open_store(timeout), rank=rank, world_size=process_count, timeout=timeout
        )
    except RuntimeError as error:
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        message = f"not all {process_count} ranks have come within {seconds:g} s (--join-seconds): {reason}"
        raise ExchangeError(message) from None


def open_store(timeout: timedelta) -> Store:
    """Where ranks leave their addresses, of which torchrun keeps those of ranks that it then starts anew.

    One node counts its restarts, several each their own, which may differ: there nothing tells old from new.
    """
    store, _, _ = next(rendezvous("env://", timeout=timeout))
    lone = os.environ.get("GROUP_WORLD_SIZE", "1") == "1"
    return PrefixStore(f"attempt {os.environ.get('TORCHELASTIC_RESTART_COUNT', 0) if lone else 0}", store)


def kept(group: dist.ProcessGroup | None) -> dist.ProcessGroup:
    """Keep a group from being freed by whoever holds Python's lock, as DistributedDataParallel's reducer does.

    To be freed, a gloo group joins its threads, and they need that lock to let go of what was sent in the background:
    the process would hang. Python itself frees a group without the lock.
    """
    group = present(group)
    if group not in _KEPT:
        # Time enough has passed for the threads of groups that were destroyed before this one was made.
        _KEPT[:] = [each for each in _KEPT if _is_in_use(each)]
        _KEPT.append(group)
    return group


def present(group: dist.ProcessGroup | None) -> dist.ProcessGroup:
    """The group itself.

    Raises:
        ValueError: there is none.
    """
    group = dist.group.WORLD if group is None else group
    if group is None:
        raise ValueError("there is no process group; call torch.distributed.init_process_group first")
    return group


def _is_in_use(group: dist.ProcessGroup) -> bool:
    try:
        dist.get_process_group_ranks(group)
    except KeyError:
        return False
    return True
