"""Values in few bits: what is said to be sent travels, what they lose is pending, and fewer bits are fewer bytes."""

from __future__ import annotations

from itertools import pairwise, product

import pytest
import torch
from torch import Tensor, nn

from sparsync.experiments.hooks import exchange
from sparsync.experiments.training.collectives import begin_all_gather, begin_all_reduce
from sparsync.kernels.codec_values import VALUE_CODES
from tests.support.hooks.training import Recorder, hooked, loss_of, seeded_model, wrapped
from tests.support.workers import run_workers

STEPS = 3
UNIT = torch.finfo(torch.float32).eps / 2


def lost_alone() -> list[str]:
    """What was not conserved by one rank, for which the mean is what it sent."""
    lost = []
    for values, granularity, selector in product(VALUE_CODES, ("tensor", "model"), ("top_k", "gaussian_k", "random_k")):
        # Of a density of its own, the branch lies between the others in the exchange.
        options = {"values": values, "granularity": granularity, "selector": selector, "rules": {"branch": 0.4}}
        ddp, recorder = wrapped({"density": 0.2, **options}, {})
        for step in range(STEPS):
            ddp.zero_grad()
            loss_of(ddp, step).backward()
            for name, parameter in ddp.module.named_parameters():
                if name not in recorder.gradients:
                    continue
                created, kept = recorder.before[name] + recorder.gradients[name], recorder.pending(name)
                sent: Tensor = parameter.grad
                difference = (sent + kept - created).abs()
                # Only for two bits, and where a value is less than half of what is sent for it, v − Q(v) is rounded;
                # so is then the sum here.
                is_rounded = (created.abs() < sent.abs() / 2) & (torch.tensor(values == "int2"))
                bound = torch.where(is_rounded, 2 * UNIT * (sent.abs() + created.abs()), 0)
                if (difference > bound).any() or (sent[sent != 0].numel() == 0):
                    lost.append(f"{values}, {granularity}, {selector}, step {step}: {name}")
    return lost


def test_what_quantisation_loses_is_pending_in_bits() -> None:
    assert run_workers(lost_alone, 1) == [[]]


def bytes_by_code() -> dict[str, tuple[int, int]]:
    """What the state says that this rank sent in a step, and what it handed to collectives."""
    handed: list[int] = []
    gather, reduce = begin_all_gather, begin_all_reduce

    def gathering(mine: Tensor, *others: object) -> object:
        handed.append(mine.numel() * mine.element_size())
        return gather(mine, *others)  # type: ignore[arg-type]

    def reducing(part: Tensor, *others: object) -> object:
        handed.append(part.numel() * part.element_size())
        return reduce(part, *others)  # type: ignore[arg-type]

    found = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exchange, "begin_all_gather", gathering)
        patch.setattr(exchange, "begin_all_reduce", reducing)
        for values in VALUE_CODES:
            handed.clear()
            model = seeded_model(lambda: nn.Sequential(nn.Linear(12, 1000), nn.Linear(1000, 4)))
            recorder = Recorder(model, values=values, density=0.1)
            ddp = hooked(model, recorder)
            loss_of(ddp, 0).backward()
            found[values] = (recorder.sent_bytes, sum(handed))
    return found


def test_sent_bytes_are_what_travels_and_fewer_bits_are_fewer_bytes() -> None:
    for found in run_workers(bytes_by_code, 2):
        assert all(said == handed for said, handed in found.values())
        said = [found[values][0] for values in ("exact", "fp32", "bf16", "int8", "int2")]
        # Of 1600 entries. All else is the same but for a header, a byte of filling, and scales of two blocks.
        assert said[0] - said[1] >= 1600 * 2
        slack = 16
        assert [before - after for before, after in pairwise(said[1:])] == [
            pytest.approx(1600 * saved_bits / 8, abs=slack) for saved_bits in (16, 8, 6)
        ]
