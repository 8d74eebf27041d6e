"""The maps are those of the planner, and every κ* is a boundary of it."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from sparsync.experiments.planners.collective import crossover_map
from sparsync.experiments.studies.planning import crossovers
from sparsync.experiments.studies.planning.crossovers import FRESH_SHARES, NETWORKS, Sizes, crossover_pairs
from sparsync.experiments.studies.profiles import PROFILES, ProfileName, sized
from sparsync.verify.tools.pool import Pool

CASES = [(network, share) for network in NETWORKS for share in FRESH_SHARES]


@pytest.fixture(scope="module")
def study() -> dict[str, Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(crossovers.SIZES, "smoke", Sizes(12.0))
        advanced = []
        found = crossovers.run_crossovers("smoke", Pool(advance=lambda: advanced.append(1)))
        assert len(advanced) == crossovers.case_count("smoke") == len(CASES)
    return found


@pytest.mark.parametrize(("network", "share"), CASES)
def test_a_map_is_the_planner_s_at_densities_within_its_stretches(
    network: str, share: float, study: dict[str, Any]
) -> None:
    (rows,) = [one["rows"] for one in study["maps"] if (one["network"], one["fresh_share"]) == (network, share)]
    for row in rows:
        ends = [1 / crossovers.DIMENSION, *(end for _, end in row["stretches"])]
        # Half-way between two ends, in logarithms, no rounding to whole entries reaches another stretch.
        places = [(name, start, end) for (name, _), (start, end) in zip(row["stretches"], pairwise(ends), strict=True)]
        wide = [(name, math.sqrt(start * end)) for name, start, end in places if end > 1.1 * start]
        question = NETWORKS[network].question(row["workers"], share)
        found = crossover_map(question, [density for _, density in wide], [row["workers"]])
        assert [[name] for name, _ in wide] == found


def test_every_stated_crossover_is_the_planner_s_boundary_to_the_last_digit(study: dict[str, Any]) -> None:
    compared = [row["compared"] for one in study["maps"] for row in one["rows"]]
    assert all(all(row.values()) for row in compared)
    assert {label for row in compared for label in row} == set(crossovers._PAIRS)


def test_another_latency_than_the_planner_s_would_be_noticed() -> None:
    question = NETWORKS["fast"].question(16, 1.0)
    other = replace(NETWORKS["fast"], latency_seconds=20.001e-6).question(16, 1.0)
    for label, pair, density in crossover_pairs(other):
        # Merging and owning take as many rounds as what they are compared with.
        depends = label in ("gather_crossover", "doubling_crossover", "global_top_k_crossover")
        assert (crossovers._boundary(question, pair) != density) == depends


def test_rings_cross_at_less_and_less_but_never_below_their_limit(study: dict[str, Any]) -> None:
    for name, limit in study["limits"].items():
        rows = next(one["rows"] for one in study["maps"] if one["network"] == name)
        found = [row["crossovers"]["gather_crossover"] for row in rows]
        assert found == sorted(found, reverse=True)
        assert limit < found[-1]


def test_doubling_leaves_nothing_to_rings_and_trees(study: dict[str, Any]) -> None:
    on_maps = {name for one in study["maps"] for row in one["rows"] for name, _ in row["stretches"]}
    assert not on_maps & {"ring_all_reduce", "ring_all_gather", "tree_all_reduce"}


def test_priced_exchanges_are_equally_long_at_the_crossover(study: dict[str, Any]) -> None:
    for row in study["priced"]:
        (rows,) = [
            one["rows"] for one in study["maps"] if (one["network"], one["fresh_share"]) == (row["network"], 1.0)
        ]
        (density,) = [one["crossovers"]["doubling_crossover"] for one in rows if one["workers"] == row["workers"]]
        sparse = row["empty_seconds"] + density * study["dimension"] * row["entry_seconds"]
        # A few roundings.
        assert sparse == pytest.approx(row["dense_seconds"], rel=1e-14)


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("network", NETWORKS)
def test_workers_fill_whole_nodes(network: str, profile: ProfileName) -> None:
    size = NETWORKS[network].node_size
    counts = NETWORKS[network].worker_counts(sized(crossovers.SIZES, profile).doublings)
    assert all(count % size == 0 for count in counts)
    assert counts[0] == max(4, 2 * size)
    assert set(crossovers.PRICED_WORKERS) <= set(counts)
