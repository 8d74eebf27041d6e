"""What do private ways to learn together send, reach and give away? Bytes, shards, noise and masks, as numbers.

Bytes: split learning against federated averaging, by number of clients and of examples, as sent and as stated. Shards:
accuracy where classes are spread unevenly. Noise: accuracy and the area of an attack on membership, with selection
after the noise and without. Masks: what they add to the bytes, and who is lost. All in one process, with the bits and
bytes of real ones (`experiments/learning/federated.py`); no time is measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

from sparsync.experiments.learning.federated import network_sizes, result, simulated
from sparsync.experiments.learning.federated_clients import FederatedSettings
from sparsync.experiments.studies.profiles import ProfileName, sized
from sparsync.experiments.training.data import Dataset, load_dataset
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.tools.pool import ALONE, Pool, call
from sparsync.verify.tools.provenance import provenance

SCHEMES: dict[str, dict[str, Any]] = {
    "federated": {},
    "selected": {"density": 0.01},
    "large_batch": {"scheme": "large_batch"},
    "split": {"scheme": "split"},
    "split, own layers": {"scheme": "split", "pass_weights": False},
}
"""Settings of what is compared on uneven shards."""
EVEN = 1e9
"""A concentration that leaves every client as many examples of a class, but for one."""


@dataclass(frozen=True)
class Sizes:
    """The size of the study.

    Args:
        map_clients: numbers of clients at which bytes are compared.
        map_examples: numbers of examples of an epoch.
        concentrations: Dirichlet's, of the shards.
        shard_clients: their number there.
        shard_rounds: rounds there.
        shard_seeds: paired runs.
        noises: deviations over the clipping length; 0 only clips.
        noise_rounds: of five steps each.
        noise_seeds: paired runs.
        mask_clients: numbers of clients under masks.
        mask_densities: 1 sends all.
    """

    map_clients: tuple[int, ...]
    map_examples: tuple[int, ...]
    concentrations: tuple[float, ...]
    shard_clients: int
    shard_rounds: int
    shard_seeds: int
    noises: tuple[float, ...]
    noise_rounds: int
    noise_seeds: int
    mask_clients: tuple[int, ...]
    mask_densities: tuple[float, ...]


SIZES: dict[ProfileName, Sizes] = {
    "smoke": Sizes(
        map_clients=(1, 2),
        map_examples=(512, 1024),
        concentrations=(0.1, 100.0),
        shard_clients=3,
        shard_rounds=1,
        shard_seeds=1,
        noises=(0.0, 2.0),
        noise_rounds=1,
        noise_seeds=1,
        mask_clients=(3,),
        mask_densities=(1.0, 0.01),
    ),
    "quick": Sizes(
        map_clients=(2, 4, 8),
        map_examples=(512, 2048),
        concentrations=(0.1, 1.0, 100.0),
        shard_clients=4,
        shard_rounds=5,
        shard_seeds=2,
        noises=(0.0, 2.0),
        noise_rounds=8,
        noise_seeds=2,
        mask_clients=(4,),
        mask_densities=(1.0, 0.1, 0.01),
    ),
    "record": Sizes(
        map_clients=(1, 2, 4, 8, 16, 32),
        map_examples=(512, 1024, 2048, 4096, 8192),
        concentrations=(0.1, 1.0, 100.0),
        shard_clients=8,
        shard_rounds=20,
        shard_seeds=8,
        noises=(0.0, 1.0, 2.0, 4.0, 8.0),
        noise_rounds=60,
        noise_seeds=8,
        mask_clients=(4, 8),
        mask_densities=(1.0, 0.1, 0.01, 0.001),
    ),
    "full": Sizes(
        map_clients=(1, 2, 4, 8, 16, 32, 64),
        map_examples=(512, 1024, 2048, 4096, 8192),
        concentrations=(0.03, 0.1, 0.3, 1.0, 10.0, 100.0),
        shard_clients=16,
        shard_rounds=100,
        shard_seeds=16,
        noises=(0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0),
        noise_rounds=200,
        noise_seeds=16,
        mask_clients=(4, 8, 16),
        mask_densities=(1.0, 0.1, 0.01, 0.001),
    ),
}
"""By profile."""

STEP_EXAMPLES = 32
"""Of a step where bytes are compared; every client takes as many steps, and one at least."""
NOISE: dict[str, Any] = {
    "examples": 800,
    "batch_size": 50,
    "local_steps": 5,
    "step_size": 0.5,
    "dirichlet": EVEN,
}
"""Settings of the runs with noise: few examples, so that a model may remember them."""
NOISE_CLIENTS, CLIP, NOISE_DENSITY = 4, 1.0, 0.1
MASK: dict[str, Any] = {"rounds": 3, "secure": True, "drop_client": 2, "drop_round": 1}
"""Settings of the runs with masks: one client is lost in the second of three exchanges."""


def run_private(profile_name: ProfileName, pool: Pool = ALONE, *, seed: int = 0) -> dict[str, Any]:
    """The study's JSON.

    Args:
        profile_name: key of `SIZES`.
        pool: runs the cases.
        seed: the first of the seeds.

    Returns:
        `map`: see `map_rows`; `shards`: see `shard_row`; `noise`: see `noise_row`; `masks`: see `mask_row`.
    """
    sizes = sized(SIZES, profile_name)
    kinds = _cases(sizes, seed)
    found = iter(pool.run(call, [case for cases in kinds.values() for case in cases]))
    rows = {name: [next(found) for _ in cases] for name, cases in kinds.items()}
    rows["map"] = [row for some in rows["map"] for row in some]
    return {
        "profile": profile_name,
        "seed": seed,
        "shard_clients": sizes.shard_clients,
        "shard_rounds": sizes.shard_rounds,
        "noise_clients": NOISE_CLIENTS,
        "noise_examples": NOISE["examples"],
        "noise_steps": sizes.noise_rounds * NOISE["local_steps"],
        "noise_density": NOISE_DENSITY,
        "clip": CLIP,
        "delta": FederatedSettings().delta,
        **rows,
        "provenance": provenance(process_count=1),
    }


def case_count(profile_name: ProfileName) -> int:
    """How many cases the study runs."""
    return sum(map(len, _cases(sized(SIZES, profile_name), 0).values()))


def map_rows(client_count: int, example_counts: Sequence[int], *, seed: int) -> list[dict[str, Any]]:
    """An epoch of split learning and one of federated averaging, by number of examples.

    Returns:
        For each number of examples that so many clients can share in whole steps: the bytes of both as sent, as
        stated, and the `crossover`, the number of examples at which both would send equally much.
    """
    rows = []
    for examples in example_counts:
        steps, rest = divmod(examples, STEP_EXAMPLES * client_count)
        if rest or not steps:
            continue
        base: dict[str, Any] = {
            "rounds": 1,
            "local_steps": steps,
            "batch_size": STEP_EXAMPLES,
            "dirichlet": EVEN,
            "seed": seed,
        }
        row: dict[str, Any] = {"client_count": client_count, "example_count": examples}
        for scheme in ("split", "federated"):
            settings = FederatedSettings(scheme=scheme, **base)
            (stated,) = _run(settings, client_count)["stated"]
            row |= {f"{scheme}_bytes": stated["bytes"], f"{scheme}_stated_bytes": stated["stated_bytes"]}
        rows.append(row | {"crossover": crossover(client_count)})
    return rows


def crossover(client_count: int) -> float:
    """Examples of an epoch up to which split learning, whose clients hand on their layers, sends less."""
    sizes = network_sizes(FederatedSettings(scheme="split"), _data())
    return STATEMENTS["split_federated_crossover"].evaluate(
        n=client_count,
        d=sizes["parameter_count"],
        # Alone, a client has nobody to hand them to.
        passed_count=sizes["lower_count"] if client_count > 1 else 0,
        round_count=1,
        cut_values=sizes["cut_values"],
        value_bytes=4,
        label_bytes=1,
    )


def shard_row(scheme: str, concentration: float, client_count: int, rounds: int, *, seed: int) -> dict[str, Any]:
    """Accuracy and bytes of a scheme on shards by Dirichlet's law.

    Args:
        scheme: key of `SCHEMES`.
        concentration: of the law.
        client_count: who share the data.
        rounds: of ten steps.
        seed: of parameters, shards and batches, the same for all schemes.
    """
    settings = FederatedSettings(**{"rounds": rounds, "dirichlet": concentration, "seed": seed, **SCHEMES[scheme]})
    record = _run(settings, client_count)
    kept = {name: record[name] for name in ("accuracy", "total_bytes", "example_counts")}
    return {"scheme": scheme, "concentration": concentration, "seed": seed, **kept}


def noise_row(noise: float | None, density: float, rounds: int, *, seed: int) -> dict[str, Any]:
    """Accuracy, ε and the attack of a run.

    Args:
        noise: over the clipping length; None clips nothing either.
        density: of what is sent, selected after the noise.
        rounds: of five steps.
        seed: of all but the rule.
    """
    # Seeded, so that the record can be made again.
    private: dict[str, Any] = {} if noise is None else {"clip": CLIP, "noise": noise, "seeded_noise": True}
    record = _run(
        FederatedSettings(**{**NOISE, **private, "density": density, "rounds": rounds, "seed": seed}), NOISE_CLIENTS
    )
    kept = ("accuracy", "epsilon", "attack_area", "attack_area_low", "attack_area_high", "attack_advantage")
    return {"noise": noise, "density": density, "seed": seed, **{name: record[name] for name in kept}}


def mask_row(client_count: int, density: float, *, seed: int) -> dict[str, Any]:
    """Bytes under masks and without, and who was lost.

    Returns:
        For a run with masks, of which a client leaves, `bytes` and `stated_bytes` of all subjects of which something is
        stated; `plain_bytes` and `masked_bytes` of an exchange in which nobody is lost; and of its selections the
        `union_count`, the stated bounds and the mean of a random choice.
    """
    lossy = FederatedSettings(**{**MASK, "density": density, "seed": seed})
    record = _run(lossy, client_count)
    row: dict[str, Any] = {
        "client_count": client_count,
        "density": density,
        "bytes": sum(part["bytes"] for part in record["stated"]),
        "stated_bytes": sum(part["stated_bytes"] for part in record["stated"]),
        "lost": record["lost"],
        "recovered_exchange_count": lossy.exchanges,
    }
    for name, secure in (("plain", False), ("masked", True)):
        one = FederatedSettings(rounds=1, secure=secure, density=density, seed=seed)
        found = _run(one, client_count)
        row[f"{name}_bytes"] = sum(part["bytes"] for part in found["stated"])
        row["union_count"] = found["union_counts"][0] if density < 1 else found["parameter_count"]
    parameters = record["parameter_count"]
    k = max(1, round(density * parameters))
    row["selected_count"] = k
    row["largest_union"] = STATEMENTS["largest_union"].evaluate(n=client_count, d=parameters, k=k)
    row["random_union"] = STATEMENTS["random_union"].evaluate(n=client_count, d=parameters, kappa=k / parameters)
    return row


def _run(settings: FederatedSettings, client_count: int) -> dict[str, Any]:
    return result(settings, _data(), *simulated(settings, client_count, data=_data()))


@cache
def _data() -> Dataset:
    return load_dataset("embedded")


def _cases(sizes: Sizes, seed: int) -> dict[str, list[partial[Any]]]:
    """Cases without arguments by kind, those with noise first, since they are the longest."""
    noise_seeds, shard_seeds = (range(seed, seed + count) for count in (sizes.noise_seeds, sizes.shard_seeds))
    return {
        "noise": [
            partial(noise_row, noise, density, sizes.noise_rounds, seed=own)
            for own in noise_seeds
            for noise in (*sizes.noises, None)
            for density in (1.0, NOISE_DENSITY)
        ],
        "shards": [
            partial(shard_row, scheme, concentration, sizes.shard_clients, sizes.shard_rounds, seed=own)
            for own in shard_seeds
            for concentration in sizes.concentrations
            for scheme in SCHEMES
        ],
        "map": [partial(map_rows, clients, sizes.map_examples, seed=seed) for clients in sizes.map_clients],
        "masks": [
            partial(mask_row, clients, density, seed=seed)
            for clients in sizes.mask_clients
            for density in sizes.mask_densities
        ],
    }
