"""The shared model and the virtual iterate differ by what is kept back, under way and waiting, and by nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import pytest

from sparsync.experiments.engine.clusters import Cluster, Drawn, Link, exponential
from sparsync.experiments.engine.descent import Descent
from sparsync.experiments.engine.horizon import Horizon
from sparsync.experiments.engine.layout import SKETCH_COUNT
from sparsync.experiments.engine.problems import Quadratics
from sparsync.experiments.engine.simulation import Simulation
from sparsync.experiments.engine.vectors import Vectors
from sparsync.experiments.engine.worker_vectors import Dispatch
from sparsync.experiments.policies.registry import POLICIES
from sparsync.experiments.racing.entries import make_policy
from sparsync.verify.monitors.trace import Applied, Dropped, Mass, Sent, Stepped

WORKER_COUNT = 4
PAUSES = (0.3, 1.1, 2.6, 4.9, 9.7, 20.3)
SHARED = [name for name, policy in POLICIES.items() if not policy.is_decentralised]
COMPRESSIONS: dict[str, dict[str, Any]] = {
    "dense": {},
    "top_k": {"selector": "top_k", "density": 0.34},
    "gaussian_k": {"selector": "gaussian_k", "density": 0.34},
}
# With one backup the reports of three workers weigh a third each, which is on no binary grid.
PARAMETERS: dict[str, dict[str, Any]] = {"backup": {"backups": 2}}
# Where weights depend on batches or on how many reports are waiting.
VARYING = {"lb_bsp", "smooth_switch"}
# Its printed rule breaks its promise, as the monitors must say; mass it does not lose.
UNJUDGED = {"dssp_printed"}

Sums = tuple[Fraction, ...]


def total(masses: Iterable[Mass]) -> Sums:
    """Σ sums, exactly."""
    return weighted_total((mass, 1.0) for mass in masses)


def weighted_total(pairs: Iterable[tuple[Mass, float]]) -> Sums:
    """Σ weight · sums, exactly."""
    terms = [[Fraction(weight) * Fraction(entry) for entry in mass.sums] for mass, weight in pairs]
    return tuple(sum((term[place] for term in terms), Fraction(0)) for place in range(SKETCH_COUNT))


def plus(first: Sums, second: Sums, weight: Fraction = Fraction(1)) -> Sums:
    return tuple(left + weight * right for left, right in zip(first, second, strict=True))


def simulation(name: str, compression: str, *, is_judged: bool = True) -> Simulation:
    problem = Quadratics(
        (1.0, 0.5, 2.0, 0.25, 1.5, 0.75), worker_count=WORKER_COUNT, spread=1.0, noise=0.1, block_count=3, seed=5
    )
    descent = Descent(is_on_grid=True, **COMPRESSIONS[compression])
    link = Link(latency_seconds=0.05, bytes_per_second=2e3)
    durations = Drawn(exponential(), factors=(1.0, 1.5, 2.0, 2.5), seed=11)
    options: dict[str, Any] = {} if is_judged and name not in UNJUDGED else {"make_judge": None}
    return Simulation(
        make_policy(name, PARAMETERS.get(name, {})),
        Cluster(WORKER_COUNT, durations, upload=link, download=link),
        Horizon(seconds=1e6),
        vectors=Vectors(problem, descent, worker_count=WORKER_COUNT),
        **options,
    )


class Books:
    """What trace and vectors tell of a run that pauses: all sums are exact on the grid."""

    def __init__(self, run: Simulation) -> None:
        vectors = run.vectors
        assert vectors is not None
        sent = {event.message: event.mass for event in run.trace if isinstance(event, Sent)}
        weights = {
            message: weight
            for event in run.trace
            if isinstance(event, Applied)
            for message, weight in zip(event.messages, event.weights, strict=True)
        }
        dropped = {message for event in run.trace if isinstance(event, Dropped) for message in event.messages}
        self.weights = set(weights.values())
        self.created = total(event.created for event in run.trace if isinstance(event, Stepped))
        self.applied = total(sent[message] for message in weights)
        self.weighted = weighted_total((sent[message], weight) for message, weight in weights.items())
        self.dropped = total(sent[message] for message in dropped)
        self.under_way = total(mass for message, mass in sent.items() if message not in weights.keys() | dropped)
        self.kept = total(vectors.sketch(worker.change, worker.residual) for worker in vectors.workers)
        self.model = total([vectors.sketch(vectors.shared)])


def paused(name: str, compression: str, *, is_judged: bool = True) -> Iterator[tuple[Sums, Books]]:
    """The initial model, and the books at every pause."""
    run = simulation(name, compression, is_judged=is_judged)
    start = total([run.header.initial])
    for pause in PAUSES:
        run.advance(pause)
        yield start, Books(run)


@pytest.mark.parametrize("compression", COMPRESSIONS)
@pytest.mark.parametrize("name", SHARED)
def test_all_that_was_made_is_applied_dropped_under_way_or_kept(name: str, compression: str) -> None:
    for start, books in paused(name, compression):
        assert books.model == plus(start, books.weighted)
        assert books.created == plus(plus(books.applied, books.dropped), plus(books.under_way, books.kept))


@pytest.mark.parametrize("compression", COMPRESSIONS)
@pytest.mark.parametrize("name", [name for name in SHARED if name not in VARYING])
def test_the_virtual_iterate_differs_by_what_is_under_way_and_kept(name: str, compression: str) -> None:
    """x̃ = x_0 + weight · all that was made and not dropped; x̃ − x = weight · (unsent + residual + under way)."""
    *_, (start, books) = paused(name, compression)
    (weight,) = map(Fraction, books.weights)
    virtual = plus(start, plus(books.created, books.dropped, Fraction(-1)), weight)
    assert plus(virtual, books.model, Fraction(-1)) == plus(
        plus((Fraction(0),) * SKETCH_COUNT, books.kept, weight), books.under_way, weight
    )


@pytest.mark.parametrize(("compression", "keeps"), [("dense", False), ("top_k", True), ("gaussian_k", True)])
def test_a_selector_keeps_something_back_and_journeys_take_time(compression: str, keeps: bool) -> None:
    found = [books for _, books in paused("asp", compression)]
    assert any(any(books.under_way) for books in found)
    # What dense workers make is sent as it is made.
    assert any(any(books.kept) for books in found) == keeps


def test_lost_mass_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    send = Vectors.send

    def forgetful(self: Vectors, worker: int, message: int, blocks: Sequence[int] | None, **options: Any) -> Dispatch:
        dispatch = send(self, worker, message, blocks, **options)
        self.workers[worker].residual[0] = 0.0
        return dispatch

    monkeypatch.setattr(Vectors, "send", forgetful)
    *_, (_, books) = paused("asp", "top_k", is_judged=False)
    assert books.created != plus(plus(books.applied, books.dropped), plus(books.under_way, books.kept))
