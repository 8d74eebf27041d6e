"""What does it cost to let activations tell less? Accuracy against what a decoder reads, by how it is prevented.

Split learning on Fashion-MNIST with one client: unprotected, with the biased and with the corrected distance
correlation as a penalty, with uniform noise, and with Top-k at the cut, each at several strengths; all paired by seed.
And how large is the biased distance correlation of samples that have nothing to do with each other? Gaussian samples by
number of examples and widths, beside what `theory/learning/distance_correlation.py` says of them. Read by
`paper/studies/learning/split.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

import torch

from sparsync.experiments.learning.distance_correlation import distance_correlation, distance_excess
from sparsync.experiments.learning.split import SplitSettings, simulated, summary
from sparsync.experiments.studies.profiles import ProfileName, sized
from sparsync.experiments.training.data import Dataset, load_dataset
from sparsync.experiments.training.seeding import random_stream
from sparsync.verify.tools.pool import ALONE, Pool
from sparsync.verify.tools.provenance import provenance

NONE = "none"
OPTIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "biased": ("leakage_weight", {"leakage": "biased"}),
    "corrected": ("leakage_weight", {"leakage": "corrected"}),
    "noise": ("uniform_noise", {}),
    "top_k": ("density", {}),
}
"""By method: the setting that its strength is, and what else it sets."""
BASE: dict[str, Any] = {"optimiser": "adamw", "step_size": 1e-3, "momentum": 0.9, "batch_size": 64}
"""Of all runs: with plain SGD the penalties diverge at lower weights."""


@dataclass(frozen=True)
class Sizes:
    """The size of the study.

    Args:
        strengths: of each method.
        seed_count: runs of each strength.
        steps: of training.
        attack_steps: of the decoder.
        leaked_count: its pairs.
        example_counts: n of the Gaussian samples.
        widths: of both samples.
        draw_count: pairs of samples of each kind.
    """

    strengths: Mapping[str, tuple[float, ...]]
    seed_count: int
    steps: int
    attack_steps: int
    leaked_count: int
    example_counts: tuple[int, ...]
    widths: tuple[tuple[int, int], ...]
    draw_count: int


SIZES: dict[ProfileName, Sizes] = {
    "smoke": Sizes(
        strengths={"biased": (1.0,), "corrected": (1.0,), "noise": (1.0,), "top_k": (0.1,)},
        seed_count=1,
        steps=8,
        attack_steps=8,
        leaked_count=256,
        example_counts=(8, 16),
        widths=((2, 2), (64, 16)),
        draw_count=2,
    ),
    "quick": Sizes(
        strengths={"biased": (2.0, 8.0), "corrected": (2.0, 8.0), "noise": (1.0, 4.0), "top_k": (0.1, 0.01)},
        seed_count=2,
        steps=100,
        attack_steps=120,
        leaked_count=2000,
        example_counts=(16, 32, 64, 128),
        widths=((2, 2), (16, 16), (784, 200)),
        draw_count=5,
    ),
    "record": Sizes(
        strengths={
            "biased": (0.5, 1.0, 2.0, 4.0, 8.0, 16.0),
            "corrected": (0.5, 1.0, 2.0, 4.0, 8.0, 16.0),
            "noise": (0.5, 1.0, 2.0, 4.0, 8.0, 16.0),
            "top_k": (0.3, 0.1, 0.03, 0.01, 0.003, 0.001),
        },
        seed_count=8,
        steps=600,
        attack_steps=600,
        leaked_count=4000,
        example_counts=(16, 32, 64, 128, 256, 512),
        widths=((2, 2), (16, 16), (3072, 16), (3072, 768)),
        draw_count=20,
    ),
}
SIZES["full"] = SIZES["record"]


@dataclass(frozen=True)
class Case:
    """A run.

    Args:
        method: `NONE` or a key of `OPTIONS`.
        strength: value of its setting.
        settings: of split learning.
    """

    method: str
    strength: float | None
    settings: SplitSettings


@dataclass(frozen=True)
class Pairing:
    """Independent Gaussian samples.

    Args:
        example_count: n.
        widths: of both.
        draw_count: how many pairs of samples.
    """

    example_count: int
    widths: tuple[int, int]
    draw_count: int


def run_split(profile_name: ProfileName, pool: Pool = ALONE) -> dict[str, Any]:
    """Run every case; the study's JSON.

    Args:
        profile_name: key of `SIZES`.
        pool: runs the cases.

    Returns:
        `runs`: of each `method` and `strength`, in the order of `seeds`, `accuracy` on held-out images,
        `explained_share` of these that the decoder reads, `dcor_biased` and `dcor_corrected` of batches of `batch_size`
        of them, and `sent_bytes` of training; null where a run diverged. `independent`: of Gaussian samples of
        `example_count` examples and `widths`, of each draw, `biased_square`, the square of the biased distance
        correlation, `paired_square`, its mean over all pairings by the theorem, and the `corrected` one.

    Raises:
        CasesFailedError: some runs failed.
    """
    sizes = sized(SIZES, profile_name)
    by_kind = _cases(sizes)
    cases = [case for kind in by_kind for case in kind]
    found = iter(pool.run(run_case, cases))
    runs = []
    for kind in by_kind:
        of_seeds = [next(found) for _ in kind]
        facts = {name: [each[name] for each in of_seeds] for name in of_seeds[0]}
        runs.append({"method": kind[0].method, "strength": kind[0].strength, **facts})
    pairings = _pairings(sizes)
    return {
        "profile": profile_name,
        "seeds": list(range(sizes.seed_count)),
        "settings": asdict(by_kind[0][0].settings),
        "runs": runs,
        "independent": [
            {"example_count": pairing.example_count, "widths": list(pairing.widths), **facts}
            for pairing, facts in zip(pairings, pool.run(run_pairing, pairings), strict=True)
        ],
        "provenance": provenance(process_count=1),
    }


def case_count(profile_name: ProfileName) -> int:
    """How often `run_split` advances."""
    sizes = sized(SIZES, profile_name)
    return sum(map(len, _cases(sizes))) + len(_pairings(sizes))


def run_case(case: Case) -> dict[str, Any]:
    """A run's facts, all None where it diverged."""
    torch.set_num_threads(1)
    names = ("accuracy", "explained_share", "dcor_biased", "dcor_corrected", "sent_bytes")
    try:
        trained, books = simulated(case.settings, _data(case.settings.data), client_count=1)
    except FloatingPointError:
        return dict.fromkeys(names)
    found = summary(trained[0], books)
    dcor = {f"dcor_{bias}": value for bias, value in found["dcor"].items()}
    facts = {**found, **dcor}
    return {name: facts[name] for name in names}


def run_pairing(pairing: Pairing) -> dict[str, list[float]]:
    """The facts of some draws of independent samples."""
    facts: dict[str, list[float]] = {"biased_square": [], "paired_square": [], "corrected": []}
    for draw in range(pairing.draw_count):
        stream = random_stream(draw, "independent samples", pairing.example_count, *pairing.widths)
        x, y = (torch.randn(pairing.example_count, width, generator=stream) for width in pairing.widths)
        facts["biased_square"].append(float(distance_correlation(x, y)) ** 2)
        facts["paired_square"].append(((1 + distance_excess(x)) * (1 + distance_excess(y))) ** -0.5)
        facts["corrected"].append(float(distance_correlation(x, y, bias="corrected")))
    return facts


def _cases(sizes: Sizes) -> list[list[Case]]:
    """Of each method and strength, those of all seeds."""
    kinds: list[tuple[str, float | None]] = [(NONE, None)]
    kinds += [(method, strength) for method, strengths in sizes.strengths.items() for strength in strengths]
    return [[_case(sizes, method, strength, seed) for seed in range(sizes.seed_count)] for method, strength in kinds]


def _case(sizes: Sizes, method: str, strength: float | None, seed: int) -> Case:
    options: dict[str, Any] = {}
    if strength is not None:
        name, others = OPTIONS[method]
        options = {name: strength, **others}
    settings = SplitSettings(
        **BASE,
        **options,
        steps=sizes.steps,
        attack_steps=sizes.attack_steps,
        leaked_count=sizes.leaked_count,
        seed=seed,
    )
    return Case(method, strength, settings)


def _pairings(sizes: Sizes) -> list[Pairing]:
    return [Pairing(count, widths, sizes.draw_count) for widths in sizes.widths for count in sizes.example_counts]


@cache
def _data(source: str) -> Dataset:
    return load_dataset(source)
