"""One policy on one cluster with real gradients: what does it reach, when, and for how many bytes?

`experiments/race.py` is its command line, the studies call it directly.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

import torch

from sparsync.experiments.engine.clusters import BatchCost, Cluster, Link
from sparsync.experiments.engine.core import Engine
from sparsync.experiments.engine.descent import Descent, Feedback
from sparsync.experiments.engine.examples import Injection, Partition
from sparsync.experiments.engine.horizon import Horizon
from sparsync.experiments.engine.layout import Layout, split_layers
from sparsync.experiments.engine.presets import CLUSTERS
from sparsync.experiments.engine.problems import Problem, Quadratics, Training
from sparsync.experiments.engine.shared_model import Download
from sparsync.experiments.engine.simulation import Simulation
from sparsync.experiments.engine.vectors import Vectors
from sparsync.experiments.engine.view import View
from sparsync.experiments.engine.vocabularies import Vocabularies
from sparsync.experiments.racing.entries import Parameter, label, make_policy, parameters_of
from sparsync.experiments.training.data import Dataset, load_dataset
from sparsync.experiments.training.record import readable_size
from sparsync.verify.monitors.guarantee import Guarantee
from sparsync.verify.monitors.judge import Judge, Report
from sparsync.verify.monitors.trace import Event, Header, Started, Stepped, trace_hash

QUADRATIC, VOCABULARIES = "quadratic", "vocabularies"
CURVATURES = tuple(1.2**-place for place in range(32))
"""Of the problem "quadratic": condition number 285."""


@dataclass(frozen=True)
class Race:
    """The conditions that all contestants share.

    Raises:
        ValueError: a field out of its range, named with its value.
    """

    workers: int = 8
    """number of workers"""
    cluster: str = "one_slow"
    """key of CLUSTERS"""
    fixed_share: float = 0.0
    """share of a usual step's time that passes whatever the batch is"""
    flat_until: float = 0.0
    """up to which share of a usual batch all cost the same"""
    seconds: float = 120.0
    """simulated"""
    data: str = "embedded"
    """"quadratic", "vocabularies" (a table of words, of whose blocks, one for each worker, a worker reads two), or a
    data source of experiments/training/data.py, on which a network is trained"""
    model: str = "fnn3"
    """key of MODELS"""
    batch_size: int = 32
    """examples per worker and step"""
    partition: Partition = "none"
    """workers draw from all examples ("none"), or each from its own part of them, sorted by label ("labels")"""
    injecting: float = 0.0
    """share of the workers that pass examples to all others in a step, others in every step"""
    injected: float = 0.0
    """share of its batch that such a worker passes; all batches stay as large"""
    step_size: float = 0.1
    """of every worker's gradients"""
    momentum: float = 0.0
    """of every worker"""
    selector: str = "none"
    """key of SELECTORS or ADAPTIVE_SELECTORS, or "none": everything is sent"""
    density: float = 0.01
    """k/d of a selection"""
    feedback: Feedback = "memory"
    """keep what a selector leaves out ("memory"), or forget it ("none")"""
    consensus_step: float = 1.0
    """of policies without a shared model; below 1 when they compress"""
    grid: bool = False
    """exact sums, of the problem "quadratic" alone: changes are rounded to multiples of 2⁻²⁰"""
    largest_block: int | None = None
    """most entries of the model in a block that is sent apart; larger layers are split, though measured whole too"""
    download: Download = "dense"
    """a worker reads the shared model whole, or what of it has changed since it read last ("sparse"): the same model"""
    bandwidth: float = math.inf
    """bytes per second of each line between a worker and the shared model, in each direction"""
    latency: float = 0.0
    """seconds of each transfer, in addition"""
    shared_link: bool = False
    """one line for all workers instead of one for each"""
    rack_size: int | None = None
    """workers of a rack, from the first worker on; usually all are in one"""
    rack_bandwidth: float = math.inf
    """bytes per second out of each rack, for models that workers of several racks mix"""
    points: int = 24
    """how often quality is measured, at equal distances"""
    seed: int = 0
    """names every random stream"""

    def __post_init__(self) -> None:
        for name in ("workers", "batch_size", "points"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if self.rack_size is not None and self.rack_size < 1:
            raise ValueError(f"rack_size must be at least 1, got {self.rack_size}")
        if not self.rack_bandwidth > 0:
            raise ValueError(f"rack_bandwidth must be positive, got {self.rack_bandwidth}")
        if not 0 < self.seconds < math.inf:
            raise ValueError(f"seconds must be positive and finite, got {self.seconds}")
        if self.grid and self.data != QUADRATIC:
            raise ValueError(f"exact sums need float64, which {QUADRATIC!r} computes in; data is {self.data!r}")
        if self.cluster not in CLUSTERS:
            raise ValueError(f"unknown cluster {self.cluster!r}; known: {', '.join(CLUSTERS)}")
        BatchCost(self.fixed_share, self.flat_until)
        for name in ("injecting", "injected"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} must lie in [0, 1], got {getattr(self, name)}")
        is_usual = self.partition == "none" and not (self.injecting and self.injected)
        if self.data in (QUADRATIC, VOCABULARIES) and not is_usual:
            raise ValueError(f"partition and injection are of examples, of which {self.data!r} has none to share")

    @property
    def measure(self) -> str:
        """What the quality of a model is; of the problem "quadratic" less is better."""
        return "f − min f" if self.data == QUADRATIC else "test accuracy"

    def said(self, quality: float) -> str:
        """A quality as a person reads it."""
        return f"{quality:.3g}" if self.data == QUADRATIC else f"{quality:.1%}"

    def load_data(self) -> Dataset | None:
        """The examples, None where they are drawn as they are needed.

        Raises:
            ValueError: no such source, or one that is not here.
        """
        return None if self.data in (QUADRATIC, VOCABULARIES) else load_dataset(self.data)

    def times(self) -> list[float]:
        """When quality is measured; the last time is the horizon itself, not its rounded multiple."""
        return [self.seconds * (place / self.points) for place in range(self.points + 1)]

    def descent(self) -> Descent:
        """How workers turn gradients into messages."""
        return Descent(
            step_size=self.step_size,
            momentum=self.momentum,
            selector=None if self.selector == "none" else self.selector,
            density=self.density,
            feedback=self.feedback,
            consensus_step=self.consensus_step,
            is_on_grid=self.grid,
            largest_block=self.largest_block,
        )

    @property
    def batch_cost(self) -> BatchCost:
        """How long steps on other than usual batches take."""
        return BatchCost(self.fixed_share, self.flat_until)

    def make_cluster(self) -> Cluster:
        """The cluster with its links."""
        link = Link(latency_seconds=self.latency, bytes_per_second=self.bandwidth, is_shared=self.shared_link)
        return replace(
            CLUSTERS[self.cluster](self.workers, self.seed),
            batch_costs=(self.batch_cost,),
            upload=link,
            download=link,
            rack_size=self.rack_size,
            between=Link(bytes_per_second=self.rack_bandwidth),
        )

    def make_problem(self, data: Dataset | None = None, device: torch.device | str = "cpu") -> Problem:
        """What is minimised; `data` spares loading it again. Gradients of networks are computed on the device."""
        if self.data == QUADRATIC:
            return Quadratics(
                CURVATURES, worker_count=self.workers, spread=0.5, noise=0.5, block_count=4, seed=self.seed
            )
        if self.data == VOCABULARIES:
            return Vocabularies(self.workers, batch_size=self.batch_size, seed=self.seed)
        loaded = self.load_data() if data is None else data
        assert loaded is not None
        return Training(
            loaded,
            worker_count=self.workers,
            model=self.model,
            batch_size=self.batch_size,
            seed=self.seed,
            partition=self.partition,
            injection=Injection(self.injecting, self.injected),
            device=device,
        )


@dataclass(frozen=True)
class Point:
    """How far a run was at a time."""

    seconds: float
    """simulated"""
    sent_bytes: int
    """by all workers, until then"""
    pulled_bytes: int
    """read by all workers, until then"""
    step_count: int
    """finished by all workers together"""
    version: int
    """of the shared model"""
    quality: float
    """see `Race.measure`"""


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a contestant did.

    Args:
        policy: its name.
        parameters: of the policy.
        points: its curve.
        pulled_bytes: read by all workers: of the shared model, or of what others published for mixing.
        worker_steps: finished, by worker.
        event_count: of the simulation.
        example_bytes: of examples that workers passed to each other, for steps that are finished; nothing waits for
            them, as it is known before which they will be. On real processes each draws them itself.
        rack_bytes: that models which were mixed took out of a rack, simulated.
        report: what the monitors counted.
        header: what they knew of the run.
        guarantee: what they held it to.
        layout: of the model.
        remark: of the policy, see `Policy.remark`.
        trace: every event.
    """

    policy: str
    parameters: dict[str, Any]
    points: list[Point]
    pulled_bytes: int
    worker_steps: list[int]
    event_count: int
    example_bytes: int
    rack_bytes: int
    report: Report
    header: Header
    guarantee: Guarantee
    layout: Layout
    remark: str
    trace: list[Event] = field(repr=False)

    @property
    def label(self) -> str:
        """The policy with those of its parameters that are not as usual, as the command line takes them."""
        return label(self.policy, self.parameters)

    def as_row(self) -> dict[str, Any]:
        """For a results file; the trace by its hash."""
        elsewhere = ("points", "header", "guarantee", "layout", "trace")
        row = {item.name: getattr(self, item.name) for item in fields(self) if item.name not in elsewhere}
        row["report"] = asdict(self.report) | {"waiting_share": self.report.waiting_share}
        return row | {"points": [asdict(point) for point in self.points], "trace_sha256": trace_hash(self.trace)}


def outcome_line(race: Race, outcome: Outcome, *, kind: str = "simulated") -> str:
    """What a person wants to know first: quality, steps, bytes of both directions, and the share of time waited."""
    last = outcome.points[-1]
    sizes = f"{readable_size(last.sent_bytes)} sent and {readable_size(last.pulled_bytes)} read"
    return (
        f"{outcome.label}: {race.measure} {race.said(last.quality)} after {last.seconds:.4g} {kind} s and "
        f"{last.step_count} steps of {race.workers} workers, {sizes}, {outcome.report.waiting_share:.0%} of the time "
        "waiting"
    )


def remark_lines(outcomes: Iterable[Outcome]) -> list[str]:
    """What policies have to say of their runs, a line for each that has."""
    return [f"{outcome.label}: {outcome.remark}" for outcome in outcomes if outcome.remark]


def require_fitting(race: Race, name: str, parameters: dict[str, Parameter], *, data: Dataset | None = None) -> None:
    """The policy takes these parameters, with the workers and the blocks of the race.

    Raises:
        ValueError: see `make_policy`, or the parameters do not fit the race.
    """
    sizes = split_layers(race.make_problem(data).block_sizes, race.largest_block)
    view = View(race.workers, block_bytes=sizes, seed=race.seed)
    view.alive.update(range(race.workers))
    for _ in make_policy(name, parameters).attach(view):
        pass


def run_contestant(
    race: Race,
    name: str,
    parameters: Mapping[str, Parameter] | None = None,
    *,
    data: Dataset | None = None,
    cluster: Cluster | None = None,
    is_held_to_bounds: bool = True,
    is_over: Callable[[Point], bool] | None = None,
    advance: Callable[[], None] = lambda: None,
) -> Outcome:
    """Simulate one policy under the conditions of a race, judged by its monitors.

    Args:
        race: the conditions.
        name: key of `POLICIES`.
        parameters: of the policy, besides their defaults.
        data: the examples of `race.data`, if they are loaded already.
        cluster: another than the race's own.
        is_held_to_bounds: a lead, staleness or deferral beyond what the policy promises is a violation; without, only
            the ledgers are kept.
        is_over: ends the race early; called at every measurement, as is `advance`.
        advance: see there.

    Raises:
        ValueError: see `make_policy`, `Race`, `load_dataset` and `Simulation.run`.
        Violation: the policy broke its guarantee.
        FloatingPointError: a gradient is not finite.
    """
    torch.set_num_threads(1)
    problem, descent = race.make_problem(data), race.descent()
    vectors = Vectors(problem, descent, worker_count=race.workers, seed=race.seed, download=race.download)
    simulation = Simulation(
        make_policy(name, dict(parameters or {})),
        race.make_cluster() if cluster is None else cluster,
        Horizon(seconds=race.seconds),
        vectors=vectors,
        make_judge=Judge if is_held_to_bounds else judge_of_ledgers,
        seed=race.seed,
    )
    points: list[Point] = []
    for seconds in race.times():
        simulation.advance(seconds)
        points.append(_point(simulation, vectors))
        advance()
        if is_over is not None and is_over(points[-1]):
            break
    simulation.finish()
    found, passed = outcome_of(name, simulation, points, vectors.layout), _example_bytes(problem, simulation.trace)
    return replace(found, example_bytes=passed, rack_bytes=simulation.rack_bytes)


def _example_bytes(problem: Problem, trace: Iterable[Event]) -> int:
    """Of examples that were passed for the steps that a trace says to be finished."""
    if not isinstance(problem, Training):
        return 0
    batch_of: dict[int, float] = {}
    total = 0
    for event in trace:
        if isinstance(event, Started):
            batch_of[event.worker] = event.batch
        elif isinstance(event, Stepped):
            total += problem.received_bytes(event.worker, event.clock - 1, batch_of[event.worker])
    return total


def outcome_of(name: str, engine: Engine, points: list[Point], layout: Layout) -> Outcome:
    """What a finished and judged run of the policy of this name says."""
    judge = engine.judge
    assert judge is not None
    return Outcome(
        policy=name,
        parameters=parameters_of(name, engine.policy),
        points=points,
        pulled_bytes=engine.pulled_bytes,
        worker_steps=list(engine.view.clock),
        event_count=engine.event_count,
        example_bytes=0,
        rack_bytes=0,
        report=judge.report(),
        header=judge.header,
        guarantee=judge.guarantee,
        layout=layout,
        remark=engine.policy.remark(),
        trace=engine.trace,
    )


def judge_of_ledgers(header: Header, guarantee: Guarantee) -> Judge:
    """Monitors that let leads, staleness and deferral be what they are."""
    return Judge(header, replace(guarantee, gap=math.inf, staleness=math.inf, deferral=math.inf))


def _point(simulation: Simulation, vectors: Vectors) -> Point:
    """Where a run is now; without a shared model the mean of those who are there counts."""
    view = simulation.view
    alive = sorted(view.alive) if simulation.policy.is_decentralised else []
    quality = vectors.problem.quality(vectors.mean_model(alive) if alive else vectors.shared)
    return Point(view.now, simulation.sent_bytes, simulation.pulled_bytes, sum(view.clock), view.version, quality)
