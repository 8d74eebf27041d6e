"""What evidence is there for the weights and the pace of self-paced learning?

Grids of weights, and draws, in exact fractions. Ours.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import product

from hypothesis import strategies as st

from sparsync.theory.statements import STATEMENTS
from sparsync.verify.tools.outcome import Check, Grade, Outcome, Profile
from sparsync.verify.tools.properties import Members, property_check

WEIGHTS = tuple(Fraction(part, 8) for part in range(9))


def allowed(label: str, share: Fraction) -> Fraction:
    """A weight that is this share of the largest that the statement assumes."""
    return share * Fraction(str(STATEMENTS[label].given("largest_weight")))


def selected(losses: Sequence[Fraction], pace: Fraction) -> list[Fraction]:
    """1 where the loss is below the pace."""
    return [Fraction(loss < pace) for loss in losses]


def objective(losses: Sequence[Fraction], weights: Sequence[Fraction], pace: Fraction) -> Fraction:
    """Σ v_j(ℓ_j − λ)."""
    return sum((weight * (loss - pace) for loss, weight in zip(losses, weights, strict=True)), Fraction(0))


def weights_margin(loss: Fraction, pace: Fraction) -> Fraction:
    """Minus the difference of the least on a grid of weights from the statement, and of the selected weight's value."""
    stated = STATEMENTS["pace_weights"].fraction(loss=loss, pace=pace)
    least = min(objective([loss], [allowed("pace_weights", share)], pace) for share in WEIGHTS)
    return -abs(least - stated) - abs(objective([loss], selected([loss], pace), pace) - stated)


def raise_margin(losses: Sequence[Fraction], shares: Sequence[Fraction], pace: Fraction, raised: Fraction) -> Fraction:
    """The bound minus the larger change of both orders; minus how far from the bound one is whose weights are right."""
    chosen, weights = selected(losses, pace), [allowed("pace_raise", share) for share in shares]
    stated = STATEMENTS["pace_raise"].fraction(pace=pace, raised_pace=raised, selected_count=int(sum(chosen)))
    before, settled = objective(losses, weights, pace), objective(losses, chosen, pace)
    ends = [objective(losses, selected(losses, by), raised) for by in (pace, raised)]
    return min(stated - (max(ends) - before), -abs(stated - (ends[0] - settled)))


def weights_check(_profile: Profile) -> Outcome:
    """`rational`: for listed losses and paces no weight is better, and the selected one is as good."""
    grid = [Fraction(part, 4) for part in range(1, 13)]
    margins = [weights_margin(loss, pace) for loss, pace in product([Fraction(0), *grid], grid)]
    return Outcome(earned=min(margins) >= 0, detail={"cases_count": len(margins)})


def raise_check(_profile: Profile) -> Outcome:
    """`rational`: for listed losses and paces F falls as stated in either order."""
    values = [Fraction(0), Fraction(1, 2), Fraction(3, 2)]
    margins = [
        raise_margin(losses, weights, pace, pace + more)
        for losses in product(values, repeat=3)
        for weights in product((Fraction(0), Fraction(2, 3), Fraction(1)), repeat=3)
        for pace, more in product((Fraction(1), Fraction(7, 4)), (Fraction(0), Fraction(1), Fraction(-3, 4)))
    ]
    return Outcome(earned=min(margins) >= 0, detail={"cases_count": len(margins)})


def weight_cases() -> Members:
    """(loss, pace)."""
    loss = st.integers(0, 60).map(lambda tenths: Fraction(tenths, 10))
    return st.tuples(loss, st.integers(1, 60).map(lambda tenths: Fraction(tenths, 10)))


def raise_cases() -> Members:
    """(losses, weights before over the largest, pace, new pace), raised or not."""
    share = st.sampled_from(WEIGHTS)
    examples = st.lists(st.tuples(st.integers(0, 20).map(Fraction), share), min_size=1, max_size=6)
    paces = st.tuples(st.integers(1, 20), st.integers(1, 40))
    return st.tuples(examples, paces).map(
        lambda drawn: (
            [loss for loss, _ in drawn[0]],
            [weight for _, weight in drawn[0]],
            Fraction(drawn[1][0]),
            Fraction(drawn[1][1]),
        )
    )


CHECKS: dict[str, dict[Grade, Check]] = {
    "pace_weights": {"rational": weights_check, "property": property_check(weight_cases, weights_margin)},
    "pace_raise": {"rational": raise_check, "property": property_check(raise_cases, raise_margin)},
}
"""Every check of these statements, by label and grade."""
