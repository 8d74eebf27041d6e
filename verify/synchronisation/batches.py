"""What evidence is there for the weights of reports on batches of different sizes, besides their derivations?

All outcomes of examples with noise of two values, added up in exact fractions: listed batches, and drawn ones. Ours.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import product

from hypothesis import strategies as st

from sparsync.theory.statements import STATEMENTS
from sparsync.verify.tools.outcome import Check, Grade, Outcome, Profile
from sparsync.verify.tools.properties import Members, property_check

MOST_EXAMPLES = 7
"""Of all reports together, each with noise of two values."""
LARGEST_LISTED = 4
"""Reports, and examples of one, up to which batches are listed."""

Report = tuple[int, Fraction, Fraction]
"""Batch; mean gradient of its examples; their noise, plus or minus this with equal probability."""


def mean_square(reports: Sequence[Report], weights: Sequence[Fraction], aim: Fraction) -> Fraction:
    """E(Σ_i w_i g_i − aim)² over all signs of the noise of all examples."""
    examples = [
        (Fraction(weight) / batch, mean, noise)
        for weight, (batch, mean, noise) in zip(weights, reports, strict=True)
        for _ in range(batch)
    ]
    total = Fraction(0)
    for signs in product((1, -1), repeat=len(examples)):
        taken = sum(
            (weight * (mean + sign * noise) for sign, (weight, mean, noise) in zip(signs, examples, strict=True)),
            Fraction(0),
        )
        total += (taken - aim) ** 2
    return total / (1 << len(examples))


def full_gradient(reports: Sequence[Report]) -> Fraction:
    """The mean over all examples of their mean gradients."""
    return sum((batch * mean for batch, mean, _ in reports), Fraction(0)) / _total(reports)


def weighted_error(reports: Sequence[Report]) -> Fraction:
    """With weights in proportion to the batches."""
    weights = [Fraction(batch, _total(reports)) for batch, _, _ in reports]
    return mean_square(reports, weights, full_gradient(reports))


def equal_error(reports: Sequence[Report]) -> Fraction:
    """With equal weights."""
    return mean_square(reports, [Fraction(1, len(reports))] * len(reports), full_gradient(reports))


def weighted_margin(reports: Sequence[Report]) -> Fraction:
    """Minus the difference of the error from the statement's."""
    noise = sum((batch * size**2 for batch, _, size in reports), Fraction(0)) / _total(reports)
    stated = STATEMENTS["batch_weighted_error"].fraction(total_batch=_total(reports), variance=noise)
    return -abs(weighted_error(reports) - stated)


def equal_margin(reports: Sequence[Report]) -> Fraction:
    """The bound minus the error, where every example has the noise of the first report."""
    size = reports[0][2]
    alike = [(batch, mean, size) for batch, mean, _ in reports]
    count, total = len(alike), _total(alike)
    centre = sum((mean for _, mean, _ in alike), Fraction(0)) / count
    bound = STATEMENTS["equal_weight_error"].fraction(
        n=count,
        variance=size**2,
        dissimilarity=sum(((mean - centre) ** 2 for _, mean, _ in alike), Fraction(0)) / count,
        harmonic_batch=count / sum((Fraction(1, batch) for batch, _, _ in alike), Fraction(0)),
        batch_spread=sum(((Fraction(count * batch, total) - 1) ** 2 for batch, _, _ in alike), Fraction(0)) / count,
    )
    return bound - equal_error(alike)


def _total(reports: Sequence[Report]) -> int:
    return sum(batch for batch, _, _ in reports)


def listed_batches() -> list[tuple[int, ...]]:
    """All batches of a few examples of a few reports."""
    return [
        batches
        for count in range(1, LARGEST_LISTED + 1)
        for batches in product(range(1, LARGEST_LISTED + 1), repeat=count)
        if sum(batches) <= MOST_EXAMPLES
    ]


def on_line(batches: Sequence[int], noise: Fraction) -> list[Report]:
    """Mean gradients on a straight line in the batch, for which the bound of equal weights is attained."""
    return [(batch, Fraction(3 - 2 * batch), noise) for batch in batches]


def weighted_check(_profile: Profile) -> Outcome:
    """`rational`: of listed batches the error is the statement's, with a noise and a mean gradient for each report."""
    cases = [
        [(batch, Fraction(place**2), Fraction(1, 1 + place)) for place, batch in enumerate(batches)]
        for batches in listed_batches()
    ]
    wrong = [[batch for batch, _, _ in reports] for reports in cases if weighted_margin(reports)]
    return Outcome(earned=not wrong, detail={"cases_count": len(cases), "wrong_batches": wrong[:3]})


def equal_check(_profile: Profile) -> Outcome:
    """`rational`: of listed batches no error is above the bound, and those on a straight line attain it."""
    straight = [on_line(batches, Fraction(1, 2)) for batches in listed_batches()]
    bent = [
        [(batch, Fraction(place**2), Fraction(1, 2)) for place, batch in enumerate(batches)]
        for batches in listed_batches()
    ]
    wrong = [reports for reports in straight if equal_margin(reports)]
    wrong += [reports for reports in bent if equal_margin(reports) < 0]
    return Outcome(
        earned=not wrong,
        detail={
            "cases_count": len(straight) + len(bent),
            "wrong_batches": [[batch for batch, _, _ in reports] for reports in wrong[:3]],
        },
    )


def report_cases() -> Members:
    """Reports of a few examples, those with mean gradients on a straight line among them."""
    values = st.integers(-6, 6).map(lambda halves: Fraction(halves, 2))
    sizes = st.lists(st.integers(1, 5), min_size=1, max_size=4).filter(lambda batches: sum(batches) <= MOST_EXAMPLES)

    def of_batches(batches: list[int]) -> Members:
        own = st.lists(st.tuples(values, values), min_size=len(batches), max_size=len(batches))
        drawn = own.map(lambda pairs: [(batch, *pair) for batch, pair in zip(batches, pairs, strict=True)])
        return st.tuples(drawn | values.map(lambda noise: on_line(batches, noise)))

    return sizes.flatmap(of_batches)


CHECKS: dict[str, dict[Grade, Check]] = {
    "batch_weighted_error": {"rational": weighted_check, "property": property_check(report_cases, weighted_margin)},
    "equal_weight_error": {"rational": equal_check, "property": property_check(report_cases, equal_margin)},
}
"""Every check of these statements, by label and grade."""
