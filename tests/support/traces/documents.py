"""Traces as plain JSON: what a file of them holds, runs that make one, and a seal put on whatever it holds."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sparsync.experiments.engine.clusters import Change, Cluster, Constant, Drawn, Link, exponential
from sparsync.experiments.engine.descent import Descent
from sparsync.experiments.engine.horizon import Horizon
from sparsync.experiments.engine.policy import Policy
from sparsync.experiments.engine.problems import Quadratics
from sparsync.experiments.engine.simulation import Simulation
from sparsync.experiments.engine.vectors import Vectors
from sparsync.experiments.policies.asp import Asp
from sparsync.experiments.policies.backup import Backup
from sparsync.experiments.policies.ds_sync import DsSync
from sparsync.experiments.policies.local_sgd import LocalSgd
from sparsync.experiments.policies.osp import Osp
from sparsync.experiments.policies.psp import Pssp
from sparsync.experiments.policies.ssp import Ssp
from sparsync.verify.monitors.files import Recording, write_trace

CURVATURES = (1.0, 2.0, 0.5, 0.1, 1.5, 0.7, 0.3, 1.1)
COUNT = 4
LINKED = Cluster(COUNT, Constant((1.0, 1.3, 1.7, 3.0)), upload=Link(0.05, 1e3), download=Link(0.05, 1e4))
CHURN = Cluster(
    COUNT,
    Drawn(exponential(), seed=3),
    upload=Link(0.3),
    changes=(Change(1.0, 2, "join"), Change(1.6, 0, "crash"), Change(2.5, 0, "join"), Change(3.2, 1, "leave")),
    absent=frozenset({2}),
)
TOP_K = Descent(selector="top_k", density=0.25)


@dataclass(frozen=True)
class Document:
    """What a trace file holds.

    Args:
        header: its first line.
        rows: one for each event.
        until: when the run ended.
    """

    header: dict[str, Any]
    rows: list[Any]
    until: float

    def seal(self, path: Path) -> Path:
        """Write it with a right end and a right digest, whatever it says."""
        text = "".join(f"{json.dumps(line)}\n" for line in (self.header, *self.rows))
        text += json.dumps(["End", self.until, len(self.rows), ""]).removesuffix('"]')
        path.write_text(f'{text}{hashlib.sha256(text.encode()).hexdigest()}"]\n', encoding="utf-8")
        return path


def document(path: Path) -> Document:
    """What a trace file holds."""
    header, *rows, end = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return Document(header, rows, end[1])


def run(policy: Policy, cluster: Cluster, descent: Descent | None, seconds: float = 5.0) -> Simulation:
    """A short run, judged while it went."""
    vectors = None
    if descent is not None:
        problem = Quadratics(CURVATURES, worker_count=COUNT, spread=1.0, noise=0.1, block_count=2, seed=1)
        vectors = Vectors(problem, descent, worker_count=COUNT)
    simulation = Simulation(policy, cluster, Horizon(seconds=seconds), vectors=vectors, message_bytes=8)
    simulation.run()
    return simulation


RUNS: dict[str, Callable[[], Simulation]] = {
    "a bound on the lead": lambda: run(Ssp(1), LINKED, TOP_K),
    "exact sums": lambda: run(Ssp(1), LINKED, replace(TOP_K, is_on_grid=True)),
    "coming and going": lambda: run(Asp(), CHURN, TOP_K),
    "steps between messages": lambda: run(LocalSgd(2), LINKED, Descent()),
    "no memory": lambda: run(Asp(), LINKED, replace(TOP_K, feedback="none")),
    "dropped messages": lambda: run(Backup(1), LINKED, TOP_K),
    "two stages": lambda: run(Osp(), LINKED, TOP_K),
    "mixed models": lambda: run(DsSync(), LINKED, replace(TOP_K, consensus_step=0.5)),
    "no vectors, but alarms": lambda: run(Pssp(1, staleness=0, redraw_seconds=0.3), LINKED, None),
}
"""Runs by what is special about them."""


def write_run(name: str, path: Path) -> None:
    """Let a run of `RUNS` write its trace."""
    simulation = RUNS[name]()
    judge, vectors = simulation.judge, simulation.vectors
    assert judge is not None
    recording = Recording({"name": name}, {"name": "four"}, judge.guarantee, COUNT, judge.header.initial)
    if vectors is not None:
        recording = replace(recording, arithmetic=vectors.arithmetic)
    write_trace(path, recording, simulation.trace, simulation.view.now)
