"""Can somebody who has the model tell what it was trained on? By its losses, which are smaller on what it has seen.

The attack by a threshold: an example whose loss is below the mean loss of the training examples is called a member.
Its advantage is the share of members that it names less the share of others that it names too. Over all thresholds
stands the area under the curve, one half for whoever guesses. Neither trains a shadow model. They find what leaks,
they do not prove that nothing else does: a bound is what differential privacy gives, see `membership_advantage` in
`theory/learning/privacy_losses.py`.

Source: Yeom, Giacomelli, Fredrikson and Jha 2018, arXiv 1709.01604; the interval is that of DeLong, DeLong and
Clarke-Pearson 1988.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import torch
from torch import Tensor
from torch.nn import functional

from sparsync.verify.tools.intervals import CONFIDENCE, Estimate


@dataclass(frozen=True)
class Attack:
    """What came of it.

    Args:
        area: under the curve, of the chance that a member has the smaller loss, ties by half; with its interval over
            the examples of this one model.
        advantage: of the threshold at the members' mean loss.
        member_count: examples that were trained on.
        other_count: examples that were not.
    """

    area: Estimate
    advantage: float
    member_count: int
    other_count: int


def attack(member_losses: Tensor, other_losses: Tensor) -> Attack:
    """Attack by the losses [m] of what a model was trained on and [n] of what it was not.

    Raises:
        ValueError: there are none of a kind, or one is not a number.
    """
    members, others = member_losses.double().cpu(), other_losses.double().cpu()
    for name, losses in (("members", members), ("others", others)):
        if not losses.numel() or bool(losses.isnan().any()):
            raise ValueError(f"an attack needs losses of {name} that are numbers, got {losses}")
    threshold = float(members.mean())
    named = [float((losses <= threshold).double().mean()) for losses in (members, others)]
    return Attack(area(members, others), named[0] - named[1], members.numel(), others.numel())


def area(members: Tensor, others: Tensor) -> Estimate:
    """P(loss of a member < loss of another) + P(equal)/2, with a 95 % interval; float64."""
    wins = _shares_above(others, members)
    yields = _shares_above(-members, -others)
    value = float(wins.mean())
    variance = sum(float(part.var(unbiased=True)) / part.numel() for part in (wins, yields) if part.numel() > 1)
    if min(wins.numel(), yields.numel()) == 1:
        return Estimate(value, 0.0, 1.0, members.numel())
    reach = NormalDist().inv_cdf((1 + CONFIDENCE) / 2) * math.sqrt(variance)
    return Estimate(value, max(0.0, value - reach), min(1.0, value + reach), members.numel())


def losses(scores: Tensor, labels: Tensor) -> Tensor:
    """[m] float64, the cross-entropy of each example, of its scores [m, classes]."""
    return functional.cross_entropy(scores.double(), labels, reduction="none")


def _shares_above(sample: Tensor, values: Tensor) -> Tensor:
    """[m]: of each value the share of the sample above it, what equals it by half."""
    ordered = sample.sort().values
    at_most = torch.searchsorted(ordered, values, right=True)
    below = torch.searchsorted(ordered, values)
    return 1 - (at_most + below).double() / (2 * ordered.numel())
