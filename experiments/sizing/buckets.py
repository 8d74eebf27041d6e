"""Which operators travel together? Neighbours of a model, until a bucket holds enough, as in data-parallel training.

Ours; buckets filled in the order of the backward pass are those of Li et al. 2020, arXiv 2006.15704.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import Tensor, nn

from sparsync.experiments.own_code import own_object
from sparsync.experiments.sizing.networks import NETWORKS
from sparsync.experiments.sizing.operators import Inputs, Operator, operators_of


def named_operators(name: str) -> list[Operator]:
    """Of a network that is known by name, or of `file.py:factory`, which returns a module and what it is called with.

    The file is run, as a module of its own: name only files that you trust as you trust a program that you start.

    Raises:
        ValueError: there is no such network, file or factory, the file cannot be run, it does not return a module and
            tensors, or see `operators_of`.
        RuntimeError: see `operators_of`.
    """
    if name in NETWORKS:
        return operators_of(*NETWORKS[name]())
    found = own_object(name)
    if found is None:
        raise ValueError(f"unknown model {name!r}; known: {', '.join(NETWORKS)}; or name your own: file.py:factory")
    path, factory_name, factory = found
    if not callable(factory):
        raise ValueError(f"{path} has no function {factory_name!r}")
    return operators_of(*_model_of(factory(), f"{factory_name} in {path}"))


def _model_of(made: Any, where: str) -> tuple[nn.Module, Inputs]:
    if isinstance(made, tuple) and len(made) == 2 and isinstance(made[0], nn.Module):
        inputs = [made[1]] if isinstance(made[1], Tensor) else made[1]
        if isinstance(inputs, Sequence) and all(isinstance(one, Tensor) for one in inputs):
            return made[0], list(inputs)
    raise ValueError(f"{where} must return a torch.nn.Module and a tensor or tensors of examples, got {made!r}")


def bucketed(operators: Sequence[Operator], parameter_count: int) -> list[Operator]:
    """Neighbours joined, from the last to the first, as long as a bucket stays within so many parameters.

    An operator with more is a bucket of its own. What owns no parameters joins the one before it, or the first that
    does; so a bucket keeps all that is computed from its first operator to its last.

    Args:
        operators: in the order of the forward pass.
        parameter_count: of a bucket, at least 1.

    Raises:
        ValueError: the count is below 1, or nothing has parameters.
    """
    if parameter_count < 1:
        raise ValueError(f"a bucket must hold at least 1 parameter, got {parameter_count}")
    if not any(one.parameter_count for one in operators):
        raise ValueError(f"none of {len(operators)} operators has parameters")
    buckets: list[list[Operator]] = [[]]
    for one in reversed(operators):
        held = sum(other.parameter_count for other in buckets[-1])
        if held and one.parameter_count and held + one.parameter_count > parameter_count:
            buckets.append([])
        buckets[-1].append(one)
    return [_joined(list(reversed(bucket))) for bucket in reversed(buckets)]


def _joined(bucket: Sequence[Operator]) -> Operator:
    owners = [one.name for one in bucket if one.parameter_count]
    return Operator(
        name=owners[0] if len(owners) == 1 else f"{owners[0]} … {owners[-1]}",
        parameter_count=sum(one.parameter_count for one in bucket),
        forward_flops=sum(one.forward_flops for one in bucket),
        activation_bytes=sum(one.activation_bytes for one in bucket),
    )
