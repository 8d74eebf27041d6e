"""Process groups: the one that is meant, and how long it must live where something is sent in the background."""

from __future__ import annotations

import atexit

import torch.distributed as dist

_KEPT: list[dist.ProcessGroup] = []
"""Groups in which something was sent in the background; see `kept`."""
atexit.register(_KEPT.clear)


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
