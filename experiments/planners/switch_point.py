"""When should a run change between synchronous and asynchronous updates, and in which order? By seconds and stability.

An update adds a report of each of n workers: at a barrier in the seconds of the slowest, without one in n over the sum
of the rates. Without one a report has the weight 1/n and is n − 1 reports late, and is stable while ηλ/n is below
2 sin(π/(2(2τ + 1))) (`delayed_descent_limit`), η the step size and λ the largest curvature. Each update is judged as if
its step size and curvature lasted. Those at a barrier are not judged: they have no delay.

Seconds are linear in the switch (`switch_saving`), so the earliest safe switch is best, or none. `SyncSwitch` runs the
order with synchronous updates first, with what is chosen here, and no policy the other; what an accuracy asks of the
synchronous share is found by runs, `switch_search.py`, and goes in as `least_fraction`. The setting is that of Li,
Mangoubi, Xu and Guo 2021, the model ours.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from sparsync.experiments.planners.plan import InfeasibleError, Plan
from sparsync.theory import calculator
from sparsync.theory.calculator import HEADER_BYTES, INDEX_BYTES, VALUE_BYTES
from sparsync.theory.statements import STATEMENTS

Order = Literal["synchronous_first", "asynchronous_first"]


@dataclass(frozen=True)
class Link:
    """What travels, and how fast.

    Args:
        dimension: d.
        bandwidth: bits per second of each worker's link, each way.
        latency_seconds: of one message.
        density: k/d; at 1 all values are sent without indices.
        hidden_seconds: of a worker's exchange that pass while it computes.
        server_bandwidth: bits per second of the server's link, each way; None is that of a worker.
    """

    dimension: int
    bandwidth: float
    latency_seconds: float = 0.0
    density: float = 1.0
    hidden_seconds: float = 0.0
    server_bandwidth: float | None = None

    def __post_init__(self) -> None:
        self.question(1)
        if not self.hidden_seconds >= 0:
            raise ValueError(f"hidden_seconds must be at least 0, got {self.hidden_seconds}")
        if self.server_bandwidth is not None and not 0 < self.server_bandwidth < math.inf:
            raise ValueError(f"server_bandwidth must be positive, got {self.server_bandwidth}")

    def question(self, workers: int) -> calculator.Question:
        """The calculator's question."""
        return calculator.Question(
            density=self.density,
            dimension=self.dimension,
            workers=workers,
            bandwidth=self.bandwidth,
            latency_seconds=self.latency_seconds,
        )

    @property
    def report_bits(self) -> int:
        """Of a report, or of an answer to it: all values, or k with their indices, whichever is less; and a header."""
        values = min(VALUE_BYTES * self.dimension, (VALUE_BYTES + INDEX_BYTES) * self.question(1).count)
        return 8 * (values + HEADER_BYTES)

    def barrier_seconds(self, workers: int) -> float:
        """Of the collective among all workers, that is quickest of those with float32 values, beyond what is hidden."""
        exact = [
            exchange for exchange in calculator.exchanges(self.question(workers)) if "bfloat16" not in exchange.name
        ]
        return max(0.0, min(exchange.seconds for exchange in exact) - self.hidden_seconds)

    def report_seconds(self) -> float:
        """Of a report to the server and its answer, beyond what is hidden."""
        return max(0.0, 2 * (self.report_bits / self.bandwidth + self.latency_seconds) - self.hidden_seconds)

    def server_seconds(self, workers: int) -> float:
        """For which a report of each worker keeps the server's link busy."""
        return workers * self.report_bits / (self.server_bandwidth or self.bandwidth)


@dataclass(frozen=True)
class Question:
    """What is asked.

    Args:
        step_sizes: η of each update.
        curvatures: bound on the largest eigenvalue of the Hessian during each update.
        worker_seconds: of a gradient, by worker.
        link: None if exchanges take no time.
        asynchronous_step_scale: factor of the step size of asynchronous updates.
        delay: τ, reports that are added between a worker's reading and its report; None is n − 1.
        least_fraction: share of the updates that has to be synchronous.
        restart_seconds: of the switch.
        target_seconds: within which the run has to be over; None is no limit.

    Raises:
        ValueError: a field out of range, named with its value.
    """

    step_sizes: tuple[float, ...]
    curvatures: tuple[float, ...]
    worker_seconds: tuple[float, ...]
    link: Link | None = None
    asynchronous_step_scale: float = 1.0
    delay: int | None = None
    least_fraction: float = 0.0
    restart_seconds: float = 0.0
    target_seconds: float | None = None

    def __post_init__(self) -> None:
        if not self.step_sizes or len(self.step_sizes) != len(self.curvatures):
            raise ValueError(f"each of {len(self.step_sizes)} updates needs a curvature, got {len(self.curvatures)}")
        for name in ("step_sizes", "curvatures"):
            _require_range(name, getattr(self, name), 0)
        if not self.worker_seconds or not all(0 < seconds < math.inf for seconds in self.worker_seconds):
            raise ValueError(f"worker_seconds must be positive, got {self.worker_seconds}")
        if not 0 < self.asynchronous_step_scale < math.inf:
            raise ValueError(f"asynchronous_step_scale must be positive, got {self.asynchronous_step_scale}")
        if self.delay is not None and self.delay < 0:
            raise ValueError(f"delay must be at least 0, got {self.delay}")
        if not 0 <= self.least_fraction <= 1:
            raise ValueError(f"least_fraction must lie in [0, 1], got {self.least_fraction}")
        _require_range("restart_seconds", (self.restart_seconds,), 0)
        _require_range("target_seconds", () if self.target_seconds is None else (self.target_seconds,), 0)

    @property
    def update_count(self) -> int:
        """T."""
        return len(self.step_sizes)

    @property
    def worker_count(self) -> int:
        """n."""
        return len(self.worker_seconds)

    @property
    def reports_late(self) -> int:
        """τ."""
        return self.worker_count - 1 if self.delay is None else self.delay

    @property
    def least_synchronous(self) -> int:
        """Updates that have to be synchronous."""
        return math.ceil(Fraction(self.least_fraction) * self.update_count)

    @property
    def synchronous_seconds(self) -> float:
        """Of an update at a barrier."""
        return max(self.worker_seconds) + (self.link.barrier_seconds(self.worker_count) if self.link else 0.0)

    @property
    def asynchronous_seconds(self) -> float:
        """Of as many reports as workers, without one: by the workers' rates, or the server's link if it is slower."""
        report = self.link.report_seconds() if self.link else 0.0
        by_workers = self.worker_count / math.fsum(1 / (seconds + report) for seconds in self.worker_seconds)
        return max(by_workers, self.link.server_seconds(self.worker_count) if self.link else 0.0)

    def step(self, update: int) -> float:
        """ηλ of one asynchronous report."""
        scaled = self.asynchronous_step_scale * self.step_sizes[update] / self.worker_count
        return scaled * self.curvatures[update]


@dataclass(frozen=True)
class Candidate:
    """One choice.

    Args:
        order: which mode comes first.
        synchronous_count: updates at a barrier.
        seconds: of the whole run.
    """

    order: Order
    synchronous_count: int
    seconds: float


def plan(question: Question) -> Plan:
    """The order and the switch of the least seconds; exact, by one scan of the updates from each end.

    Parts add up to the objective.

    Raises:
        InfeasibleError: the quickest run that is safe takes longer than the target.
    """
    limit = STATEMENTS["delayed_descent_limit"].evaluate(delay=question.reports_late)
    by_order: dict[Order, Candidate] = {order: best_of_order(question, order, limit) for order in _ORDERS}
    # Of equals that which the policy runs.
    best = min(by_order.values(), key=lambda candidate: candidate.seconds)
    if question.target_seconds is not None and best.seconds > question.target_seconds:
        raise InfeasibleError(
            f"target_seconds allows {question.target_seconds:.6g}, and the quickest safe run takes {best.seconds:.6g}"
        )
    updates, count = question.update_count, best.synchronous_count
    return Plan(
        planner="switch_point",
        choice={
            "order": best.order,
            "switch_update": count if best.order == "synchronous_first" else updates - count,
            "bsp_fraction": count / updates,
            "total_steps": updates,
            "asynchronous_step_scale": question.asynchronous_step_scale,
        },
        objective=best.seconds,
        parts={
            "synchronous": count * question.synchronous_seconds,
            "asynchronous": (updates - count) * question.asynchronous_seconds,
            "restart": question.restart_seconds if 0 < count < updates else 0.0,
        },
        binding=_binding(question, best, limit),
        remarks=_remarks(question, by_order, limit),
    )


_ORDERS: tuple[Order, ...] = ("synchronous_first", "asynchronous_first")


def best_of_order(question: Question, order: Order, limit: float) -> Candidate:
    """The quickest run of an order: as few synchronous updates as are safe and asked for, or none but those."""
    updates = question.update_count
    unsafe = [update for update in range(updates) if question.step(update) >= limit]
    # Before the first that is not safe, or from behind the last, updates may be asynchronous.
    needed = {
        "synchronous_first": max(unsafe, default=-1) + 1,
        "asynchronous_first": updates - min(unsafe, default=updates),
    }
    counts = (max(needed[order], question.least_synchronous), updates)
    candidates = [Candidate(order, count, run_seconds(question, count)) for count in counts]
    return min(candidates, key=lambda candidate: candidate.seconds)


def run_seconds(question: Question, synchronous_count: int) -> float:
    """Of a run with so many updates at a barrier, before or after the others."""
    others = question.update_count - synchronous_count
    restart = question.restart_seconds if synchronous_count and others else 0.0
    return synchronous_count * question.synchronous_seconds + others * question.asynchronous_seconds + restart


def _binding(question: Question, best: Candidate, limit: float) -> tuple[str, ...]:
    """What keeps the run from fewer synchronous updates, where they would be quicker."""
    if question.synchronous_seconds <= question.asynchronous_seconds or best.synchronous_count in (
        0,
        question.update_count,
    ):
        return ()
    if best.synchronous_count == question.least_synchronous:
        return (f"least_fraction: {question.least_fraction:g} of the updates",)
    return (f"stability: {limit:.6g} at a delay of {question.reports_late} reports",)


def _remarks(question: Question, by_order: dict[Order, Candidate], limit: float) -> tuple[str, ...]:
    remarks = [_order_remark(question, by_order)]
    rate = math.fsum(1 / seconds for seconds in question.worker_seconds)
    slowest = math.ceil(max(question.worker_seconds) * rate * (1 - 1e-12)) - 1
    if slowest > question.reports_late:
        strict = STATEMENTS["delayed_descent_limit"].evaluate(delay=slowest)
        later = best_of_order(question, "synchronous_first", strict)
        remarks.append(
            f"reports of the slowest worker are {slowest} others late: were all so late, the limit {strict:.4g} for "
            f"{limit:.4g} would ask for {later.synchronous_count} synchronous updates, {later.seconds:.6g} seconds"
        )
    if question.link is not None and question.link.density < 1:
        remarks.append("the limit is that of whole gradients: below density 1 it is not proved")
    return tuple(remarks)


def _order_remark(question: Question, by_order: dict[Order, Candidate]) -> str:
    first, other = (by_order[order] for order in _ORDERS)
    if question.asynchronous_seconds >= question.synchronous_seconds:
        return "an asynchronous update takes no less than a synchronous one: nothing is to be gained by a switch"
    return (
        f"synchronous first: {first.synchronous_count} synchronous updates, {first.seconds:.6g} seconds; asynchronous "
        f"first: {other.synchronous_count}, {other.seconds:.6g} seconds, since steps too large for the delay must lie "
        "in the synchronous part"
    )


def _require_range(name: str, numbers: Sequence[float], least: float) -> None:
    if not all(least <= number < math.inf for number in numbers):
        raise ValueError(f"{name} must be at least {least:g}, got {tuple(numbers)}")
