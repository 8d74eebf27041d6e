"""The decoder reads what can be read, nothing of what says nothing, and refuses what has no variance."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from sparsync.experiments.learning.decoder_attack import Attack, attacked
from sparsync.experiments.training.seeding import random_stream


def inputs(count: int, purpose: str) -> Tensor:
    """Three numbers, eight times each, so that the decoder has something to learn."""
    return torch.randn(count, 3, generator=random_stream(0, purpose)).repeat(1, 8) + 2


QUICK = Attack(steps=120, hidden=32, batch_size=64, step_size=1e-2)
LEAKED, HELD_OUT = inputs(500, "leaked"), inputs(200, "held out")


def test_of_the_inputs_themselves_nearly_all_is_read() -> None:
    leak = attacked((LEAKED, LEAKED), (HELD_OUT, HELD_OUT), seed=0, attack=QUICK)
    assert 0.97 < leak.explained_share <= 1
    assert leak.explained_share == 1 - leak.mean_square_error / leak.variance


@pytest.mark.parametrize("value", [0.0, 0.1])
def test_of_constant_activations_nothing_but_the_mean_is_read(value: float) -> None:
    same = [torch.full((len(each), 4), value) for each in (LEAKED, HELD_OUT)]
    leak = attacked((same[0], LEAKED), (same[1], HELD_OUT), seed=0, attack=QUICK)
    assert math.isfinite(leak.explained_share)
    assert abs(leak.explained_share) < 0.02


def test_noise_hides_and_a_unit_that_never_fired_before_does_not_mislead() -> None:
    shares = []
    for scale in (0.0, 2.0, 20.0):
        noisy = [
            each + scale * torch.rand(each.shape, generator=random_stream(1, "noise")) for each in (LEAKED, HELD_OUT)
        ]
        shares.append(attacked((noisy[0], LEAKED), (noisy[1], HELD_OUT), seed=0, attack=QUICK).explained_share)
    assert shares == sorted(shares, reverse=True)
    rare = [torch.cat([each, torch.zeros(len(each), 1)], dim=1) for each in (LEAKED, HELD_OUT)]
    rare[0][0, -1], rare[1][:, -1] = 1e-6, 1e3
    assert attacked((rare[0], LEAKED), (rare[1], HELD_OUT), seed=0, attack=QUICK).explained_share > 0.5


def test_the_same_seed_reads_the_same() -> None:
    first, again, other = (
        attacked((LEAKED, LEAKED), (HELD_OUT, HELD_OUT), seed=seed, attack=QUICK) for seed in (0, 0, 1)
    )
    assert first == again != other


def test_pairs_may_be_of_other_dtypes_and_flat() -> None:
    plain = attacked((LEAKED, LEAKED), (HELD_OUT, HELD_OUT), seed=0, attack=QUICK)
    double = attacked((LEAKED.double(), LEAKED), (HELD_OUT, HELD_OUT), seed=0, attack=QUICK)
    # The same numbers with other roundings: float32's, of 120 updates that amplify them little.
    assert plain != double
    assert abs(plain.explained_share - double.explained_share) < 1e-3
    whole = [(20 * each).round().to(torch.int16) for each in (LEAKED, HELD_OUT)]
    as_floats = [each.float() for each in whole]
    assert attacked((whole[0], whole[0]), (whole[1], whole[1]), seed=0, attack=QUICK) == attacked(
        (as_floats[0], as_floats[0]), (as_floats[1], as_floats[1]), seed=0, attack=QUICK
    )
    flat = attacked((LEAKED[:, 0], LEAKED[:, 0]), (HELD_OUT[:, 0], HELD_OUT[:, 0]), seed=0, attack=QUICK)
    assert flat.explained_share > 0.9
    with pytest.raises(ValueError, match=r"real numbers, got torch\.complex64"):
        attacked((LEAKED.to(torch.complex64), LEAKED), (HELD_OUT, HELD_OUT), seed=0, attack=QUICK)


def test_what_cannot_be_attacked_is_refused() -> None:
    with pytest.raises(ValueError, match="got 2 activations and 500 inputs"):
        attacked((LEAKED[:2], LEAKED), (HELD_OUT, HELD_OUT), seed=0)
    flat = torch.ones(4, 3)
    with pytest.raises(ValueError, match="no variance to explain"):
        attacked((flat, flat), (flat, flat), seed=0)
    with pytest.raises(ValueError, match="steps of an attack must be positive, got 0"):
        Attack(steps=0)
