"""Streams are named: equal names draw equally, different ones differently."""

from __future__ import annotations

import torch

from sparsync.experiments.training.seeding import random_stream


def draw(*name: object) -> list[int]:
    stream = random_stream(*name)  # type: ignore[arg-type]  # names are listed below
    return torch.randint(2**40, (4,), generator=stream).tolist()


def test_equal_names_draw_equally() -> None:
    assert draw(3, "order", 1) == draw(3, "order", 1)


def test_seed_purpose_and_numbers_all_matter() -> None:
    names = [(3, "order", 1), (4, "order", 1), (3, "selection", 1), (3, "order", 2), (3, "order"), (3, "order", 1, 1)]
    draws = [tuple(draw(*name)) for name in names]
    assert len(set(draws)) == len(names)


def test_numbers_do_not_run_together() -> None:
    """Worker 1 at step 11 and worker 11 at step 1 draw differently."""
    assert draw(3, "noise", 1, 11) != draw(3, "noise", 11, 1)
