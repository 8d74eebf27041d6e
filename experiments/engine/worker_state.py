"""What does the engine keep of each worker besides the view? Its life, its plan, its unfinished exchanges."""

from __future__ import annotations

from sparsync.experiments.engine.effects import USUAL_PLAN


class WorkerState:
    """What the engine knows of a worker and policies do not."""

    __slots__ = (
        "batch",
        "earlier_batch",
        "has_sent",
        "has_stepped",
        "is_leaving",
        "life",
        "plan",
        "sent_at",
        "spared_batch",
        "started_at",
    )

    def __init__(self) -> None:
        self.life = -1
        """counts departures: what was due in an earlier life does not happen"""
        self.end_life()

    def end_life(self) -> None:
        """Only messages outlive a departure."""
        self.life += 1
        self.plan = USUAL_PLAN
        self.is_leaving = False
        self.has_stepped = False
        """in this life"""
        self.started_at = 0.0
        self.sent_at = -1.0
        """when it sent, until the reply is there; else negative"""
        self.batch = 0.0
        """examples of the steps that the next message covers"""
        self.earlier_batch = 0.0
        """without those of the last step"""
        self.spared_batch = 0.0
        """of a step that the last message left out"""
        self.has_sent = False
