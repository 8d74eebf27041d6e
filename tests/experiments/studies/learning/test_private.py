"""The study runs every case once, is small in quick runs, and what it says of bytes is what was sent."""

from __future__ import annotations

import json

import pytest

from sparsync.experiments.studies.learning.private import (
    NOISE_CLIENTS,
    SCHEMES,
    SIZES,
    case_count,
    crossover,
    map_rows,
    mask_row,
    noise_row,
    run_private,
    shard_row,
)
from sparsync.experiments.studies.profiles import PROFILES, ProfileName
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.tools.pool import Pool


def test_the_map_agrees_with_the_crossover_on_either_side_of_it() -> None:
    rows = map_rows(2, (640, 960, 1000), seed=0)
    assert [row["example_count"] for row in rows] == [640, 960]
    assert 640 < rows[0]["crossover"] == rows[1]["crossover"] == crossover(2) < 960
    assert rows[0]["split_bytes"] < rows[0]["federated_bytes"]
    assert rows[1]["split_bytes"] > rows[1]["federated_bytes"]
    assert all(
        row[f"{scheme}_bytes"] == row[f"{scheme}_stated_bytes"] for row in rows for scheme in ("split", "federated")
    )


def test_a_client_alone_hands_its_layers_to_nobody() -> None:
    (row,) = map_rows(1, (64,), seed=0)
    assert row["split_bytes"] == row["split_stated_bytes"] == 64 * (2 * 32 * 4 + 1)
    assert crossover(1) > crossover(2) / 2


@pytest.mark.parametrize("scheme", SCHEMES)
def test_schemes_share_the_shards_of_a_seed(scheme: str) -> None:
    row, other = (shard_row(name, 0.5, 3, 1, seed=1) for name in (scheme, "federated"))
    assert row["example_counts"] == other["example_counts"]
    assert sum(row["example_counts"]) == 12_000
    assert 0 <= row["accuracy"] <= 1


def test_noise_has_an_epsilon_and_clipping_alone_has_none() -> None:
    assert noise_row(None, 1.0, 1, seed=0)["epsilon"] is None
    assert noise_row(0.0, 1.0, 1, seed=0)["epsilon"] is None
    row = noise_row(2.0, 0.1, 1, seed=0)
    assert row["epsilon"] > 0
    assert row["attack_area_low"] <= row["attack_area"] <= row["attack_area_high"]
    assert NOISE_CLIENTS == 4


def test_masked_runs_lose_a_client_and_go_on() -> None:
    row = mask_row(3, 0.01, seed=0)
    assert row["lost"] == [{"rank": 2, "exchange": 1}]
    assert row["bytes"] == row["stated_bytes"]
    assert row["plain_bytes"] < row["masked_bytes"]
    assert row["selected_count"] <= row["union_count"] <= row["largest_union"]
    assert row["random_union"] == STATEMENTS["random_union"].evaluate(n=3, d=25_450, kappa=254 / 25_450)
    assert mask_row(3, 1.0, seed=0)["union_count"] == 25_450


@pytest.mark.slow
def test_the_study_runs_every_case_once_and_is_json() -> None:
    advanced: list[None] = []
    study = run_private("smoke", Pool(advance=lambda: advanced.append(None)))
    assert len(advanced) == case_count("smoke")
    sizes = SIZES["smoke"]
    assert len(study["noise"]) == sizes.noise_seeds * (len(sizes.noises) + 1) * 2
    assert len(study["shards"]) == sizes.shard_seeds * len(sizes.concentrations) * len(SCHEMES)
    assert len(study["masks"]) == len(sizes.mask_clients) * len(sizes.mask_densities)
    assert study["map"]
    json.dumps(study, allow_nan=False)


@pytest.mark.parametrize("profile", PROFILES)
def test_every_profile_has_cases(profile: ProfileName) -> None:
    assert case_count(profile) > 0
