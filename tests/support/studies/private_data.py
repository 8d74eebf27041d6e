"""A small `private_learning.json` with numbers that can be checked by hand."""

from __future__ import annotations

from typing import Any

SCHEMES = ("federated", "selected", "large_batch", "split", "split, own layers")
NOISES = (None, 0.0, 1.0, 4.0)


def private_record(profile: str = "quick") -> dict[str, Any]:
    """Two seeds; split learning wins below 400 examples a client, Top-k loses two points, noise costs ten a step."""
    return {
        "profile": profile,
        "seed": 0,
        "shard_clients": 4,
        "shard_rounds": 5,
        "noise_clients": 4,
        "noise_examples": 800,
        "noise_steps": 40,
        "noise_density": 0.1,
        "clip": 1.0,
        "delta": 1e-5,
        "map": [_map_row(clients, examples) for clients in (1, 2, 4) for examples in (500, 1000, 2000)],
        "shards": [_shard_row(*case) for case in _shards()],
        "noise": [_noise_row(noise, density, seed) for seed in (0, 1) for noise in NOISES for density in (1.0, 0.1)],
        "masks": [_mask_row(clients, density) for clients in (3, 4) for density in (1.0, 0.1, 0.01)],
    }


def _map_row(clients: int, examples: int) -> dict[str, Any]:
    sizes = {"split": 100 * examples, "federated": 40_000 * clients}
    return {
        "client_count": clients,
        "example_count": examples,
        "crossover": 400.0 * clients,
        **{f"{scheme}_{kind}": size for scheme, size in sizes.items() for kind in ("bytes", "stated_bytes")},
    }


def _shards() -> list[tuple[str, float, int]]:
    return [(scheme, alpha, seed) for seed in (0, 1) for alpha in (0.1, 1.0, 100.0) for scheme in SCHEMES]


def _shard_row(scheme: str, concentration: float, seed: int) -> dict[str, Any]:
    """0.60, 0.70 and 0.80 by concentration, 0.02 more of the second seed, 0.02 less of each scheme after the first."""
    accuracy = {0.1: 0.6, 1.0: 0.7, 100.0: 0.8}[concentration] + 0.02 * seed - 0.02 * SCHEMES.index(scheme)
    row = {"scheme": scheme, "concentration": concentration, "seed": seed}
    return row | {"accuracy": accuracy, "total_bytes": 1000, "example_counts": [4, 4, 4, 4]}


def _noise_row(noise: float | None, density: float, seed: int) -> dict[str, Any]:
    place = NOISES.index(noise)
    accuracy = 0.8 - 0.1 * place - (0.01 if density < 1 else 0.0) + 0.02 * seed
    area = 0.6 - 0.02 * place + 0.01 * seed
    return {
        "noise": noise,
        "density": density,
        "seed": seed,
        "accuracy": accuracy,
        "epsilon": None if not noise else 8.0 / noise,
        "attack_area": area,
        "attack_area_low": area - 0.02,
        "attack_area_high": area + 0.02,
        "attack_advantage": 0.1 - 0.01 * place,
    }


def _mask_row(clients: int, density: float) -> dict[str, Any]:
    """1000 entries; everybody's selections overlap by a tenth of what random ones would make."""
    plain = round(8000 * clients * density)
    return {
        "client_count": clients,
        "density": density,
        "bytes": 5 * plain,
        "stated_bytes": 5 * plain,
        "lost": [{"rank": 2, "exchange": 1}],
        "recovered_exchange_count": 3,
        "plain_bytes": plain,
        "masked_bytes": 2 * plain if density == 1 else 4 * plain,
        "union_count": round(900 * density),
        "selected_count": round(1000 * density),
        "largest_union": min(1000.0, 1000 * density * clients),
        "random_union": 1000 * density,
    }
