"""Which collective is quickest, by density and number of workers? Maps of three networks beside the closed forms.

The planner `collective` says for every number of workers on a grid which collective is quickest at every density; ends
of its stretches are exact. Of each pair of a sparse and a dense collective the planner's boundary is compared, as a
fraction, with the κ* that a statement of `theory/cost/crossovers.py` gives. What selecting and coding cost is measured
elsewhere, and priced by `paper/studies/planning/crossovers.py`, which reads this.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from sparsync.experiments.averaging.link import Link
from sparsync.experiments.planners.collective import MOST_WORKERS, choices_by_count
from sparsync.experiments.planners.parts.collective_seconds import (
    COLLECTIVES,
    EXACT,
    Question,
    lines_of,
    seconds_of,
)
from sparsync.experiments.studies.kernels.model_shapes import resnet50
from sparsync.experiments.studies.profiles import ProfileName, sized
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.tools.pool import ALONE, Pool
from sparsync.verify.tools.provenance import provenance

DIMENSION = sum(math.prod(shape) for shape in resnet50())
"""That of ResNet-50."""
MERGE_SECONDS_PER_BYTE = 1e-11
"""100 GB/s are added."""
FRESH_SHARES = (1.0, 0.1)
"""Workers that select apart, and such that mostly select alike."""
PRICED_WORKERS = (16, 256)
"""Of which the seconds are given too."""
_GIGABIT = 1e9


@dataclass(frozen=True)
class Network:
    """Links between workers.

    Args:
        bits_per_second: of each worker's own link, each way; between nodes where there are nodes.
        latency_seconds: of a message on it.
        node_size: workers of a node; 1 where there are no nodes.
        inner_bits_per_second: of a link inside a node.
        inner_latency_seconds: of a message inside.
    """

    bits_per_second: float
    latency_seconds: float
    node_size: int = 1
    inner_bits_per_second: float | None = None
    inner_latency_seconds: float = 0.0

    @property
    def link(self) -> Link:
        """Between nodes, or any two workers."""
        return Link(self.latency_seconds, 8 / self.bits_per_second)

    @property
    def inner_link(self) -> Link | None:
        """Inside a node."""
        inside = self.inner_bits_per_second
        return None if inside is None else Link(self.inner_latency_seconds, 8 / inside)

    def question(self, workers: int, fresh_share: float) -> Question:
        """The planner's, of all exact collectives; its density is of no matter here."""
        return Question(
            workers,
            DIMENSION,
            1.0,
            self.link,
            MERGE_SECONDS_PER_BYTE,
            fresh_share=fresh_share,
            node_size=self.node_size,
            inner_link=self.inner_link,
        )

    def worker_counts(self, doublings: float) -> list[int]:
        """From four workers, or two nodes, to `MOST_WORKERS`, so many doublings apart, and the priced.

        Among two or three workers a ring and doubling are the same.
        """
        least, size = max(4, 2 * self.node_size), self.node_size
        places = range(math.floor(math.log2(MOST_WORKERS / least) / doublings) + 1)
        found = {size * round(least * 2 ** (doublings * place) / size) for place in places}
        return sorted(found.union(PRICED_WORKERS))


NETWORKS: dict[str, Network] = {
    "fast": Network(25 * _GIGABIT, 20e-6),
    "slow": Network(1 * _GIGABIT, 100e-6),
    "nodes": Network(
        25 * _GIGABIT, 20e-6, node_size=8, inner_bits_per_second=2400 * _GIGABIT, inner_latency_seconds=3e-6
    ),
}
"""By name; a round number each, none measured."""


@dataclass(frozen=True)
class Sizes:
    """How fine the maps are: by so many doublings the numbers of workers are apart."""

    doublings: float


SIZES: dict[ProfileName, Sizes] = {
    "smoke": Sizes(6.0),
    "quick": Sizes(1.0),
    "record": Sizes(0.25),
    "full": Sizes(0.125),
}


@dataclass(frozen=True)
class _Case:
    network: str
    fresh_share: float
    sizes: Sizes


def run_crossovers(profile_name: ProfileName, pool: Pool = ALONE) -> dict[str, Any]:
    """Draw all maps; the study's JSON.

    Args:
        profile_name: key of `SIZES`.
        pool: runs the cases.

    Returns:
        `networks`: what they are. `maps`: of each `network` and `fresh_share` the `rows`, one for each number of
        `workers`: the `stretches` of exact collectives, a name and the density up to which it is quickest each, and
        those `with_global_top_k`; `crossovers`: κ* by the label of its statement, and `compared`: by label whether the
        planner's boundary is that fraction. `limits`: of κ* of rings with many workers, by flat network. `priced`:
        seconds of a dense and of an empty sparse exchange by doubling, and of an entry of each worker.
    """
    cases = _cases(profile_name)
    flat = {name: network for name, network in NETWORKS.items() if network.node_size == 1}
    return {
        "profile": profile_name,
        "dimension": DIMENSION,
        "merge_seconds_per_byte": MERGE_SECONDS_PER_BYTE,
        "collectives": list(COLLECTIVES),
        "exact_collectives": list(EXACT),
        "networks": {name: dict(vars(network)) for name, network in NETWORKS.items()},
        "maps": pool.run(run_case, cases),
        "limits": {name: _ring_limit(network) for name, network in flat.items()},
        "priced": [_priced(name, workers) for name in flat for workers in PRICED_WORKERS],
        "provenance": provenance(process_count=1),
    }


def case_count(profile_name: ProfileName) -> int:
    """How often `run_crossovers` advances."""
    return len(_cases(profile_name))


def run_case(case: _Case) -> dict[str, Any]:
    """The map of one network and way of selecting."""
    network = NETWORKS[case.network]
    return {
        "network": case.network,
        "fresh_share": case.fresh_share,
        "rows": [
            _row(network.question(workers, case.fresh_share)) for workers in network.worker_counts(case.sizes.doublings)
        ],
    }


def crossover_pairs(question: Question) -> Iterator[tuple[str, tuple[str, str], Fraction]]:
    """Each statement that holds here: its label, its sparse and its dense collective, and κ*.

    Those whose sparse collective is faster up to the density at which everything is selected are left out.
    """
    for label, (pair, arguments) in _PAIRS.items():
        if pair[0] == "hierarchical_gather" and question.node_size == 1:
            continue
        density = STATEMENTS[label].fraction(**arguments(question))
        grows = _ratio(question, question.workers) if "balanced" in label or "hierarchical" in label else Fraction(1)
        if density * grows < 1:
            yield label, pair, density


def _cases(profile_name: ProfileName) -> list[_Case]:
    sizes = sized(SIZES, profile_name)
    return [_Case(network, share, sizes) for network in NETWORKS for share in FRESH_SHARES]


def _row(question: Question) -> dict[str, Any]:
    found = list(crossover_pairs(question))
    return {
        "workers": question.workers,
        "stretches": _stretches(question),
        "with_global_top_k": _stretches(replace(question, allowed=COLLECTIVES)),
        "crossovers": {label: float(density) for label, _, density in found},
        "compared": {label: _boundary(question, pair) == density for label, pair, density in found},
    }


def _stretches(question: Question) -> list[tuple[str, float]]:
    return [(one.collective, float(one.end / question.dimension)) for one in choices_by_count(question)]


def _boundary(question: Question, pair: tuple[str, str]) -> Fraction:
    """The density at which the planner changes from the sparse of two collectives to the dense one; 0 if it is first.

    Raises:
        ValueError: the sparse one is quicker up to density 1.
    """
    stretches = choices_by_count(replace(question, allowed=pair))
    if stretches[-1].collective == pair[0]:
        raise ValueError(f"{pair[0]} is never overtaken by {pair[1]} among {question.workers} workers")
    return stretches[-1].start / question.dimension


def _ring_limit(network: Network) -> float:
    return STATEMENTS["gather_crossover_limit"].evaluate(
        d=DIMENSION, message_seconds=Fraction(network.latency_seconds), **_prices(network.question(2, 1.0))
    )


def _priced(name: str, workers: int) -> dict[str, Any]:
    question = NETWORKS[name].question(workers, 1.0)
    ((empty, entry),) = lines_of(question, "doubling_all_gather")
    return {
        "network": name,
        "workers": workers,
        "dense_seconds": float(seconds_of(question, "doubling_all_reduce", workers, DIMENSION)),
        "empty_seconds": float(empty),
        "entry_seconds": float(entry),
    }


def _prices(question: Question) -> dict[str, Any]:
    """α apart, what all statements take."""
    return {
        "byte_seconds": Fraction(question.link.seconds_per_byte),
        "merge_seconds": Fraction(question.merge_seconds_per_byte),
        "value_bytes": question.value_bytes,
        "index_bytes": question.index_bytes,
    }


def _ratio(question: Question, workers: int) -> Fraction:
    return 1 + Fraction(question.fresh_share) * (workers - 1)


def _ring(question: Question) -> dict[str, Any]:
    return {
        **_prices(question),
        "d": question.dimension,
        "n": question.workers,
        "message_seconds": Fraction(question.link.latency_seconds),
    }


def _doubling(question: Question) -> dict[str, Any]:
    return {**_ring(question), "doubling_count": (question.workers - 1).bit_length()}


def _merging(question: Question) -> dict[str, Any]:
    given = _doubling(question)
    return {name: given[name] for name in ("n", "doubling_count", "value_bytes", "index_bytes")}


def _owning(question: Question) -> dict[str, Any]:
    return {**_prices(question), "n": question.workers, "union_ratio": _ratio(question, question.workers)}


def _in_nodes(question: Question) -> dict[str, Any]:
    inner = question.inner_link or question.link
    return {
        **{name: value for name, value in _ring(question).items() if name != "n"},
        "inner_byte_seconds": Fraction(inner.seconds_per_byte),
        "inner_message_seconds": Fraction(inner.latency_seconds),
        "node_count": question.workers // question.node_size,
        "node_workers": question.node_size,
        "node_union_ratio": _ratio(question, question.node_size),
        "union_ratio": _ratio(question, question.workers),
    }


_PAIRS: dict[str, tuple[tuple[str, str], Callable[[Question], dict[str, Any]]]] = {
    "gather_crossover": (("ring_all_gather", "ring_all_reduce"), _ring),
    "doubling_crossover": (("doubling_all_gather", "doubling_all_reduce"), _doubling),
    "global_top_k_crossover": (("global_top_k", "ring_all_reduce"), _doubling),
    "global_top_k_doubling_crossover": (("global_top_k", "doubling_all_reduce"), _merging),
    "balanced_crossover": (("balanced_all_reduce", "ring_all_reduce"), _owning),
    "hierarchical_crossover": (("hierarchical_gather", "ring_all_reduce"), _in_nodes),
}
"""By label: the sparse and the dense collective whose crossover it is, and what the statement takes."""
