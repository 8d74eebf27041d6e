"""Targets are moved where, and as far as, it is said; real data come with a library or a clear error."""

from __future__ import annotations

import sys
from dataclasses import replace

import pytest
import torch

from sparsync.experiments.learning.regression import TEST_COUNT, Regression, Source, make_task

SMALL = Regression(batch_count=4, corrupted_count=1, feature_count=3, example_count=83)


@pytest.mark.parametrize("source", ["synthetic", "diabetes"])
def test_targets_are_moved_in_the_shares_asked_for_and_nowhere_else(source: Source) -> None:
    regression = replace(SMALL, source=source)
    moved, plain = make_task(regression), make_task(replace(regression, corruption=0.0))
    shares = [0.9, 0.1, 0.1, 0.1]
    targets = torch.cat([batch.targets for batch in plain.batches])
    for share, one, other, is_moved in zip(shares, moved.batches, plain.batches, moved.is_moved, strict=True):
        assert int(is_moved.sum()) == round(share * one.example_count)
        assert torch.equal(one.targets != other.targets, is_moved)
        assert float((one.targets - other.targets).abs().max()) <= 5 * float(targets.abs().max())
        assert torch.equal(one.features, other.features)
    clean = moved.clean()
    assert sum(batch.example_count for batch in clean) == len(targets) - sum(int(one.sum()) for one in moved.is_moved)


def test_synthetic_targets_are_those_of_a_model_of_norm_one() -> None:
    task = make_task(replace(SMALL, target_noise=0.0, corruption=0.0))
    assert task.model is not None
    # A sum of three squares, a root and a quotient.
    assert float(task.model.norm()) == pytest.approx(1, abs=8 * 2.0**-53)
    for batch in task.batches:
        assert torch.allclose(batch.features @ task.model, batch.targets, rtol=0, atol=1e-14)
    assert task.recovery_error(task.model) == 0
    assert task.test_error(task.model) is None


def test_real_targets_are_judged_in_their_own_units_and_no_test_target_is_moved() -> None:
    task, other = (make_task(Regression("diabetes", corrupted_count=count)) for count in (0, 9))
    assert task.test is not None
    assert other.test is not None
    assert task.test.example_count == TEST_COUNT
    assert torch.equal(task.test.targets, other.test.targets)
    zero = torch.zeros(11, dtype=torch.float64)
    assert task.recovery_error(zero) is None
    # The mean target is predicted: its mean absolute deviation is about four fifths of the standard deviation.
    assert task.test_error(zero) == pytest.approx(0.8 * task.target_scale, rel=0.2)
    training = torch.cat([batch.features for batch in task.batches])
    assert float(training[:, :10].mean(0).abs().max()) < 1e-12
    assert torch.equal(training[:, 10], torch.ones(len(training), dtype=torch.float64))


def test_seeds_name_the_draws() -> None:
    one, again, other = (make_task(replace(SMALL, seed=seed)).batches[0].targets for seed in (0, 0, 1))
    assert torch.equal(one, again)
    assert not torch.equal(one, other)


def test_there_may_be_fewer_examples_than_batches() -> None:
    task = make_task(replace(SMALL, example_count=2))
    assert [batch.example_count for batch in task.batches] == [1, 1, 0, 0]
    assert [batch.example_count for batch in make_task(replace(SMALL, example_count=0)).batches] == [0] * 4


def test_the_library_of_the_real_data_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    with pytest.raises(ValueError, match=r"pip install 'sparsync\[learning\]'"):
        make_task(Regression("diabetes"))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"source": "airbnb"}, "unknown source 'airbnb'"),
        ({"batch_count": 0}, "batch_count must be at least 1, got 0"),
        ({"feature_count": 0}, "feature_count must be at least 1, got 0"),
        ({"corrupted_count": 5}, r"corrupted_count must lie in \[0, 4\], got 5"),
        ({"bad_share": 1.1}, r"bad_share must lie in \[0, 1\], got 1.1"),
        ({"corruption": -1.0}, "corruption must be at least 0 and finite, got -1.0"),
        ({"target_noise": float("nan")}, "target_noise must be at least 0 and finite, got nan"),
    ],
)
def test_what_is_no_regression_is_refused(change: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        replace(SMALL, **change)  # type: ignore[arg-type]
