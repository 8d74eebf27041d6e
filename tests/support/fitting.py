"""Parameters of a policy for few workers."""

from __future__ import annotations

from sparsync.experiments.racing.entries import Parameter, policy_parameters


def usual_for(name: str, worker_count: int) -> dict[str, Parameter]:
    """The usual ones, but no more backup workers than can be spared and no larger samples than there are others."""
    usual = policy_parameters(name)
    return {key: min(usual[key], worker_count - 1) for key in ("backups", "sample") if key in usual}
