"""How long does a sample take where every operator is sharded? What planned mixtures are compared with. Ours."""

from __future__ import annotations

import math

from sparsync.experiments.planners import osdp
from sparsync.experiments.planners.osdp import Sharding


def sharded_seconds(question: Sharding) -> float:
    """The fewest seconds per sample of a plan that shards every operator, by the planner's model.

    For each size of the largest buffer, operators are cut into the fewest slices for it, and the largest batch is taken
    that fits. Infinite where none does.
    """
    menus = [
        [way for way in osdp.ways(question, operator.parameter_count) if way.kind == osdp.SHARDED]
        for operator in question.operators
    ]
    least = math.inf
    for buffer in sorted({way.buffer_bytes for menu in menus for way in menu}):
        fitting = [next((way for way in menu if way.buffer_bytes <= buffer), None) for menu in menus]
        taken = [way for way in fitting if way is not None]
        if len(taken) < len(menus):
            continue
        batch = _largest_batch(question, question.memory_bytes - buffer - sum(way.state_bytes for way in taken))
        if batch:
            exchange = math.fsum(way.seconds for way in taken)
            least = min(least, (exchange / batch + question.compute_seconds) / question.device_count)
    return least


def _largest_batch(question: Sharding, room: int) -> int:
    """0 where none fits; more samples in a batch never make one slower."""
    if not question.batches:
        return max(0, room // question.activation_bytes)
    return max((batch for batch in question.batches if batch * question.activation_bytes <= room), default=0)
