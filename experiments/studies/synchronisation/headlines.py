"""What do the settings in which synchronisation models were published give here? Steps, waiting and leads.

Number of workers, parameters and what is said of speeds and links are those of each publication, as described to us;
what is not said is ours, and stands in `SETTINGS`. Time and messages alone are simulated, not training.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from statistics import pstdev
from typing import Any

from sparsync.experiments.engine.addition import sum_in_order
from sparsync.experiments.engine.clusters import Cluster, Constant, Drawn, Durations, Link, exponential
from sparsync.experiments.engine.descent import Descent
from sparsync.experiments.engine.horizon import Horizon
from sparsync.experiments.engine.problems import Quadratics
from sparsync.experiments.engine.simulation import Simulation
from sparsync.experiments.engine.vectors import Vectors
from sparsync.experiments.engine.vocabularies import Vocabularies
from sparsync.experiments.racing.contest import judge_of_ledgers
from sparsync.experiments.racing.entries import Parameter, make_policy
from sparsync.experiments.studies.profiles import ProfileName
from sparsync.verify.tools.pool import ALONE, Pool
from sparsync.verify.tools.provenance import provenance

Contestant = tuple[str, dict[str, Parameter]]
_MESSAGE_BYTES = 4096


@dataclass(frozen=True)
class Setting:
    """Workers, times, and who is compared.

    Args:
        workers: n.
        durations: of steps.
        seconds: simulated.
        contestants: by label.
        message_seconds: of a whole model on a line, in each direction.
        has_shared_line: one line carries the messages of all workers, and one in the other direction what they read.
        reads_at_once: the model is there at once, whatever its line.
        block_count: equal blocks of the model that can be sent apart.
        reads_sparsely: the model is a table of words, of which each worker has only some.
    """

    workers: int
    durations: Durations
    seconds: float
    contestants: dict[str, Contestant]
    message_seconds: float = 0.0
    has_shared_line: bool = False
    reads_at_once: bool = False
    block_count: int = 1
    reads_sparsely: bool = False

    def cluster(self) -> Cluster:
        """Workers with their lines."""
        if not self.message_seconds:
            return Cluster(self.workers, self.durations)
        line = Link(bytes_per_second=_MESSAGE_BYTES / self.message_seconds, is_shared=self.has_shared_line)
        return Cluster(self.workers, self.durations, upload=line, download=Link() if self.reads_at_once else line)

    def vectors(self) -> Vectors | None:
        """Only where parts of the model go apart."""
        if self.reads_sparsely:
            words = Vocabularies(self.workers, words_per_block=_MESSAGE_BYTES // (8 * 8 * self.workers))
            return Vectors(words, Descent(step_size=1.0), worker_count=self.workers)
        if self.block_count == 1:
            return None
        problem = Quadratics(
            (1.0,) * (_MESSAGE_BYTES // 8), worker_count=self.workers, block_count=self.block_count, seed=0
        )
        return Vectors(problem, Descent(step_size=0.01), worker_count=self.workers)


_NEIGHBOURS = Vocabularies(8).reads
_SHARED_LINE = Setting(
    workers=8,
    durations=Constant((1.0,)),
    seconds=200.0,
    message_seconds=1 / 8,
    has_shared_line=True,
    reads_at_once=True,
    block_count=16,
    contestants={
        "bsp": ("bsp", {}),
        "osp half": ("osp", {"deferred_share": 0.5}),
        "osp three quarters": ("osp", {"deferred_share": 0.75}),
        "osp most": ("osp", {"deferred_share": 15 / 16}),
    },
)
SETTINGS: dict[str, Setting] = {
    "two processors of fixed speeds": Setting(
        workers=2,
        durations=Constant((1.0, 3.0)),
        seconds=3000.0,
        contestants={
            "bsp": ("bsp", {}),
            "ssp 3": ("ssp", {"staleness": 3}),
            "ssp 15": ("ssp", {"staleness": 15}),
            "dssp": ("dssp", {"lower": 3, "upper": 15}),
            "dssp printed": ("dssp_printed", {"lower": 3, "upper": 15}),
            "asp": ("asp", {}),
        },
    ),
    "200 sampled workers": Setting(
        workers=200,
        durations=Drawn(exponential(2.0), seed=0),
        seconds=200.0,
        contestants={
            "bsp": ("bsp", {}),
            "ssp 4": ("ssp", {"staleness": 4}),
            "pbsp 4": ("pbsp", {"sample": 4}),
            "pbsp 10": ("pbsp", {"sample": 10}),
            "pssp 10": ("pssp", {"sample": 10, "staleness": 4}),
            "asp": ("asp", {}),
        },
    ),
    "three edge workers": Setting(
        workers=3,
        durations=Constant((1.0, 1.5, 3.0)),
        seconds=3000.0,
        message_seconds=8.0,
        contestants={
            "bsp": ("bsp", {}),
            "ssp 40": ("ssp", {"staleness": 40}),
            "adsp": ("adsp", {"period": 600.0, "commits": 2.0, "least_seconds": 10.0}),
        },
    ),
    "a shared line": _SHARED_LINE,
    "shared lines, both ways": replace(_SHARED_LINE, reads_at_once=False),
    "unequal processors": Setting(
        workers=4,
        durations=Constant((1.0, 1.0, 1.0, 2.0)),
        seconds=2000.0,
        contestants={"bsp": ("bsp", {}), "lb_bsp": ("lb_bsp", {})},
    ),
    "intervals of 1 to 1.5 s": Setting(
        workers=4,
        durations=Constant((1.0, 1.17, 1.31, 1.5)),
        seconds=3000.0,
        contestants={
            "bsp": ("bsp", {}),
            "ssp 3": ("ssp", {"staleness": 3}),
            "elastic 15": ("elastic_bsp", {"lookahead": 15}),
            "elastic 240": ("elastic_bsp", {"lookahead": 240}),
            "asp": ("asp", {}),
        },
    ),
    "workers of different words": Setting(
        workers=8,
        durations=Drawn(exponential(), seed=0),
        seconds=400.0,
        contestants={
            "bsp": ("bsp", {}),
            "parameter database": ("parameter_database", {"reads": _NEIGHBOURS, "writes": _NEIGHBOURS}),
        },
        reads_sparsely=True,
    ),
    "groups of four": Setting(
        workers=16,
        durations=Drawn(exponential(), seed=0),
        seconds=1000.0,
        message_seconds=0.5,
        contestants={"bsp": ("bsp", {}), "ds_sync": ("ds_sync", {}), "dybw": ("dybw", {})},
    ),
}


def headline_cases() -> list[tuple[str, str]]:
    """Every setting with every contestant."""
    return [(name, label) for name, setting in SETTINGS.items() for label in setting.contestants]


def case_count(profile_name: ProfileName) -> int:
    """How many simulations there are, in every profile."""
    del profile_name
    return len(headline_cases())


def run_headlines(profile_name: ProfileName, pool: Pool = ALONE) -> dict[str, Any]:
    """Simulate all settings; the study's JSON. It is small, and the same in every profile.

    Args:
        profile_name: noted only.
        pool: runs the cases.

    Returns:
        A row for each setting and contestant, see `run_contestant`.
    """
    rows = pool.run(run_contestant, headline_cases())
    return {"profile": profile_name, "rows": rows, "provenance": provenance(process_count=1)}


def run_contestant(case: tuple[str, str]) -> dict[str, Any]:
    """One contestant of one setting, its ledgers kept but its bounds not held against it.

    Returns:
        `mean_steps` and `step_deviation` of the workers, shares of their time spent `computing` and `waiting`, and
        the `largest_gap`.
    """
    name, label = case
    setting = SETTINGS[name]
    policy, parameters = setting.contestants[label]
    simulation = Simulation(
        make_policy(policy, parameters),
        setting.cluster(),
        Horizon(seconds=setting.seconds),
        vectors=setting.vectors(),
        make_judge=judge_of_ledgers,
        message_bytes=_MESSAGE_BYTES,
        records=False,
    )
    simulation.run()
    report, clock = simulation.report(), simulation.view.clock
    computing = sum_in_order(worker.computing_seconds for worker in report.workers)
    return {
        "setting": name,
        "contestant": label,
        "mean_steps": sum(clock) / len(clock),
        "step_deviation": pstdev(clock),
        "computing": computing / (setting.workers * setting.seconds),
        "waiting": report.waiting_share,
        "largest_gap": report.largest_gap,
    }
