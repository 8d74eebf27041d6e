"""How far ahead does DSSP let a worker get? Its server algorithm as printed against the one whose grants end at s_U.

Two workers of constant speeds, and clusters by name; no gradients. Asynchronous workers, who never wait, show what
leads come to without any rule. The printed algorithm is run without monitors, since it does not keep its own promise;
the capped one is held to it. Rule: Zhao, An, Liu and Chen 2019, as `experiments/policies/dssp.py` reads it.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import accumulate
from typing import Any

from sparsync.experiments.engine.clusters import Cluster, Constant
from sparsync.experiments.engine.horizon import Horizon
from sparsync.experiments.engine.policy import Policy
from sparsync.experiments.engine.presets import CLUSTERS
from sparsync.experiments.engine.simulation import Simulation
from sparsync.experiments.policies.asp import Asp
from sparsync.experiments.policies.dssp import Dssp, DsspPrinted
from sparsync.experiments.studies.profiles import ProfileName, sized
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.monitors.judge import Judge
from sparsync.verify.monitors.trace import Departed, Event, Joined, Stepped
from sparsync.verify.tools.pool import ALONE, Pool
from sparsync.verify.tools.provenance import provenance

LOWER, UPPER = 3, 15
"""s_L and s_U."""
PAIR = "pair"
"""Two workers of constant speeds, whose ratio the case names."""

RULES: dict[str, Callable[[], Policy]] = {
    "printed": lambda: DsspPrinted(LOWER, UPPER),
    "capped": lambda: Dssp(LOWER, UPPER),
    "asynchronous": Asp,
}
"""Who may go on, by name."""
JUDGED = ("capped",)
"""Rules that are held to their guarantee."""

_ROUND = (1.0, 1.01, 1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 8.0, 16.0, 20.3, 32.0, 64.0)
_IRRATIONAL = (math.sqrt(2), (1 + math.sqrt(5)) / 2, math.e, math.pi, math.sqrt(50))


@dataclass(frozen=True)
class Sizes:
    """How much is run.

    Args:
        ratios: durations of the slow worker's steps, the fast one's being one.
        horizons: steps of each worker until which leads are looked at, ascending.
        clusters: keys of `CLUSTERS` where nobody comes or goes.
        workers: numbers of workers in them.
        repetitions: seeds of each cluster.
    """

    ratios: tuple[float, ...]
    horizons: tuple[int, ...]
    clusters: tuple[str, ...]
    workers: tuple[int, ...]
    repetitions: int


SIZES: dict[ProfileName, Sizes] = {
    "smoke": Sizes((1.0, math.sqrt(2), 3.0, 20.3), (100, 200), ("one_slow", "exponential", "pareto"), (4,), 1),
    "quick": Sizes(tuple(sorted((*_ROUND, *_IRRATIONAL))), (500, 2000), ("one_slow", "exponential", "pareto"), (6,), 1),
    "full": Sizes(
        tuple(sorted((*_ROUND, *_IRRATIONAL, *(2 ** (step / 8) for step in range(1, 48) if step % 8)))),
        (500, 2000, 8000),
        ("one_slow", "spread", "exponential", "pareto", "correlated"),
        (4, 8, 32),
        5,
    ),
}
"""By profile."""


@dataclass(frozen=True)
class LeadCase:
    """One run.

    Args:
        rule: key of `RULES`.
        cluster: key of `CLUSTERS`, or `PAIR`.
        workers: n.
        ratio: of the durations of a pair; 1 elsewhere.
        seed: of the cluster.
        horizons: see `Sizes`.
    """

    rule: str
    cluster: str
    workers: int
    ratio: float
    seed: int
    horizons: tuple[int, ...]

    def make_cluster(self) -> Cluster:
        """How long the steps take."""
        if self.cluster == PAIR:
            return Cluster(2, Constant((1.0, self.ratio)))
        return CLUSTERS[self.cluster](self.workers, self.seed)


def run_dssp_leads(profile_name: ProfileName, pool: Pool = ALONE, *, seed: int = 0) -> dict[str, Any]:
    """Run every rule on every pair and cluster; the study's JSON.

    Args:
        profile_name: key of `SIZES`.
        pool: runs the cases.
        seed: the first of the clusters' seeds.

    Returns:
        For each run its rule, cluster, `workers`, `ratio`, `seed` and the `largest_lead` until each of the `horizons`;
        the `guarantee` of both forms of DSSP; and `stated`, the bound of `dssp_lead` for r = s_U − s_L, with
        `stated_for_grants`, that for the grants of the capped form, which reach to s_U − 1 before a step.
    """
    sizes = sized(SIZES, profile_name)
    found = pool.run(run_case, cases(sizes, seed))
    return {
        "profile": profile_name,
        "seed": seed,
        "lower": LOWER,
        "upper": UPPER,
        "horizons": list(sizes.horizons),
        "guarantee": {
            "printed": DsspPrinted(LOWER, UPPER).guarantee().gap,
            "capped": Dssp(LOWER, UPPER).guarantee().gap,
        },
        "stated": STATEMENTS["dssp_lead"].evaluate(staleness=LOWER, extra_count=UPPER - LOWER),
        "stated_for_grants": STATEMENTS["dssp_lead"].evaluate(staleness=LOWER, extra_count=UPPER - 1 - LOWER),
        "runs": found,
        "provenance": provenance(process_count=1),
    }


def case_count(profile_name: ProfileName) -> int:
    """How many runs a profile has."""
    return len(cases(sized(SIZES, profile_name), seed=0))


def cases(sizes: Sizes, seed: int) -> list[LeadCase]:
    """Every run: pairs first, then clusters."""
    pairs = [LeadCase(rule, PAIR, 2, ratio, 0, sizes.horizons) for ratio in sizes.ratios for rule in RULES]
    clusters = [
        LeadCase(rule, cluster, workers, 1.0, seed + repetition, sizes.horizons)
        for cluster in sizes.clusters
        for workers in sizes.workers
        for repetition in range(sizes.repetitions)
        for rule in RULES
    ]
    return [*pairs, *clusters]


def run_case(case: LeadCase) -> dict[str, Any]:
    """The largest leads of one run.

    Raises:
        Violation: a rule that is held to its guarantee broke it.
    """
    simulation = Simulation(
        RULES[case.rule](),
        case.make_cluster(),
        Horizon(steps=case.horizons[-1]),
        make_judge=Judge if case.rule in JUDGED else None,
        seed=case.seed,
    )
    simulation.run()
    fields = asdict(case)
    del fields["horizons"]
    return {**fields, "largest_lead": largest_leads(simulation.trace, case.horizons)}


def largest_leads(trace: Iterable[Event], horizons: Sequence[int]) -> list[int]:
    """Most steps that a worker finishing its step number h or an earlier one was ahead of the slowest, for each h.

    Args:
        trace: of a run that nobody joins late.
        horizons: the h, ascending.
    """
    finished: dict[int, int] = {}
    largest = [0] * len(horizons)
    """between this horizon and the one before"""
    for event in trace:
        if isinstance(event, Joined):
            finished[event.worker] = 0
        elif isinstance(event, Departed):
            del finished[event.worker]
        elif isinstance(event, Stepped) and event.clock <= horizons[-1]:
            finished[event.worker] = event.clock
            place = bisect_left(horizons, event.clock)
            largest[place] = max(largest[place], event.clock - min(finished.values()))
    return list(accumulate(largest, max))
