"""Which regression is learned? Batches of examples, a share of whose targets are corrupted, made up or real.

The synthetic setting is the one of distributed self-paced learning as it was described to us: a model of norm 1,
Gaussian features, and in corrupted batches most targets, in all others a few, moved by something uniform in ±c‖y‖_∞.
The real data are `diabetes`, which scikit-learn ships (Efron, Hastie, Johnstone and Tibshirani 2004); its targets are
put to mean 0 and variance 1 by the training examples as they were before they were corrupted.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, get_args

import torch
from torch import Tensor

from sparsync.experiments.learning.consensus import Batch
from sparsync.experiments.training.seeding import random_stream

Source = Literal["synthetic", "diabetes"]
SOURCES: tuple[Source, ...] = get_args(Source)
TEST_COUNT = 110
"""Examples of `diabetes` that are kept for the test."""


@dataclass(frozen=True)
class Regression:
    """What is to be learned.

    Args:
        source: synthetic, or real data by name.
        batch_count: n.
        corrupted_count: of them, the first ones.
        corruption: c.
        bad_share: of the targets of a corrupted batch that are moved.
        good_share: of those of any other.
        feature_count: p of synthetic data.
        example_count: of synthetic data.
        target_noise: standard deviation of what is added to all synthetic targets.
        seed: of all draws; of real data also of which examples are kept for the test.

    Raises:
        ValueError: one of them is out of range.
    """

    source: Source = "synthetic"
    batch_count: int = 10
    corrupted_count: int = 6
    corruption: float = 5.0
    bad_share: float = 0.9
    good_share: float = 0.1
    feature_count: int = 100
    example_count: int = 10_000
    target_noise: float = 0.1
    seed: int = 0

    def __post_init__(self) -> None:
        if self.source not in SOURCES:
            raise ValueError(f"unknown source {self.source!r}; known: {', '.join(SOURCES)}")
        for name in ("batch_count", "feature_count"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if not 0 <= self.corrupted_count <= self.batch_count:
            raise ValueError(f"corrupted_count must lie in [0, {self.batch_count}], got {self.corrupted_count}")
        for name in ("bad_share", "good_share"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} must lie in [0, 1], got {getattr(self, name)}")
        for name in ("corruption", "target_noise", "example_count"):
            if not 0 <= getattr(self, name) < float("inf"):
                raise ValueError(f"{name} must be at least 0 and finite, got {getattr(self, name)}")


@dataclass(frozen=True, eq=False)
class Task:
    """Batches, and what a model is judged by.

    Args:
        batches: as workers have them.
        is_moved: of each batch, [examples] bool: whose target was moved.
        model: [p], what made the targets; None of real data.
        test: examples that nobody learns from, and whose targets nobody moved; None of synthetic data.
        target_scale: a unit of the targets in units of the data.
    """

    batches: list[Batch]
    is_moved: list[Tensor]
    model: Tensor | None = None
    test: Batch | None = None
    target_scale: float = 1.0

    def recovery_error(self, model: Tensor) -> float | None:
        """‖ŵ − w*‖, where w* is known."""
        return None if self.model is None else float((model - self.model.to(model.device)).norm())

    def test_error(self, model: Tensor) -> float | None:
        """Mean absolute error on the test, in units of the data; None without a test."""
        if self.test is None:
            return None
        misses = self.test.features @ model.to(self.test.features.device) - self.test.targets
        return float(misses.abs().mean()) * self.target_scale

    def clean(self) -> list[Batch]:
        """The batches without those whose targets were moved."""
        pairs = zip(self.batches, self.is_moved, strict=True)
        return [Batch(batch.features[~moved], batch.targets[~moved]) for batch, moved in pairs]


def make_task(regression: Regression) -> Task:
    """The batches and the judge.

    Raises:
        ValueError: the data come with a library that is not installed.
    """
    task = _diabetes(regression) if regression.source == "diabetes" else _synthetic(regression)
    targets = torch.cat([batch.targets for batch in task.batches])
    reach = regression.corruption * float(targets.abs().max()) if len(targets) else 0.0
    batches, is_moved = [], []
    for place, batch in enumerate(task.batches):
        share = regression.bad_share if place < regression.corrupted_count else regression.good_share
        stream = random_stream(regression.seed, "corrupted targets", place)
        count = batch.example_count
        moved = torch.zeros(count, dtype=torch.bool)
        moved[torch.randperm(count, generator=stream)[: round(share * count)]] = True
        moves = (2 * torch.rand(count, generator=stream, dtype=torch.float64) - 1) * reach
        batches.append(Batch(batch.features, torch.where(moved, batch.targets + moves, batch.targets)))
        is_moved.append(moved)
    return replace(task, batches=batches, is_moved=is_moved)


def on_device(batch: Batch, device: torch.device) -> Batch:
    """The batch where it is computed with."""
    return Batch(batch.features.to(device), batch.targets.to(device))


def _synthetic(regression: Regression) -> Task:
    stream = random_stream(regression.seed, "regression")
    count, width = regression.example_count, regression.feature_count
    model = torch.randn(width, generator=stream, dtype=torch.float64)
    model /= model.norm()
    features = torch.randn(count, width, generator=stream, dtype=torch.float64)
    noise = torch.randn(count, generator=stream, dtype=torch.float64)
    targets = features @ model + regression.target_noise * noise
    return Task(_divided(features, targets, regression.batch_count), [], model=model)


def _diabetes(regression: Regression) -> Task:
    features, targets = _load_diabetes()
    order = torch.randperm(len(targets), generator=random_stream(regression.seed, "diabetes"))
    test, training = order[:TEST_COUNT], order[TEST_COUNT:]
    centre, scale = features[training].mean(0), features[training].std(0)
    middle, spread = targets[training].mean(), targets[training].std()
    ones = torch.ones(len(targets), 1, dtype=torch.float64)
    features = torch.cat([(features - centre) / scale, ones], dim=1)
    targets = (targets - middle) / spread
    batches = _divided(features[training], targets[training], regression.batch_count)
    return Task(batches, [], test=Batch(features[test], targets[test]), target_scale=float(spread))


def _load_diabetes() -> tuple[Tensor, Tensor]:
    try:
        from sklearn.datasets import load_diabetes
    except ImportError as error:
        raise ValueError("diabetes comes with scikit-learn: pip install 'sparsync[learning]'") from error
    features, targets = load_diabetes(return_X_y=True)
    return torch.from_numpy(features), torch.from_numpy(targets)


def _divided(features: Tensor, targets: Tensor, batch_count: int) -> list[Batch]:
    """Neighbours go together; the last batches have one example fewer where it does not divide, perhaps none."""
    parts = zip(features.tensor_split(batch_count), targets.tensor_split(batch_count), strict=True)
    return [Batch(*part) for part in parts]
