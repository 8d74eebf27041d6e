"""What evidence is there for the statements on sums over samples of workers, besides their derivations?

Every sample of a few workers is listed, with its probability as an exact fraction: unequal laws, systematic samples
with and without a shared failure, and weights of all kinds. Ours.
"""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import accumulate, combinations, pairwise, product
from math import ceil

from hypothesis import strategies as st

from sparsync.theory.statements import STATEMENTS
from sparsync.verify.tools.edges import Edge, Remark, Unneeded
from sparsync.verify.tools.outcome import Check, Grade, Outcome, Profile
from sparsync.verify.tools.properties import Members, property_check

MOST_WORKERS = 4
"""Workers up to which laws of samples are listed, and of whom samples are drawn in a search."""
CHANCES = (Fraction(0), Fraction(1, 4), Fraction(2, 3))
"""Of a shared failure."""
LISTED_WEIGHTS = (Fraction(-1), Fraction(0), Fraction(1, 2), Fraction(1), Fraction(2))
"""Of a holder in a sample."""

Law = Mapping[tuple[int, ...], Fraction]
"""Samples and their probabilities."""


def inclusion(law: Law, worker: int) -> Fraction:
    """Probability that a worker is in a sample."""
    return sum((chance for sample, chance in law.items() if worker in sample), Fraction(0))


def expected_sum(law: Law, terms: Sequence[Fraction]) -> Fraction:
    """Of the terms of those in the sample, sample by sample."""
    return sum((chance * sum(terms[worker] for worker in sample) for sample, chance in law.items()), Fraction(0))


def law_of(workers: int, size: int, parts: Sequence[int]) -> Law:
    """The samples of this size with probabilities in the ratio of the parts."""
    samples = combinations(range(workers), size)
    return {sample: Fraction(part, sum(parts)) for sample, part in zip(samples, parts, strict=True)}


def mean_margin(law: Law, contributions: Sequence[Fraction]) -> Fraction:
    """Minus the difference of the weighted mean from the statement's."""
    workers = len(contributions)
    terms = [value / (workers * inclusion(law, worker)) for worker, value in enumerate(contributions)]
    mean = sum(contributions, Fraction(0)) / workers
    stated = STATEMENTS["weighted_sample_mean"].fraction(mean_contribution=mean)
    return -abs(expected_sum(law, terms) - stated)


def bias_margin(law: Law, contributions: Sequence[Fraction]) -> Fraction:
    """Minus the difference of the bias of the sample's mean from the statement's."""
    workers, size = len(contributions), len(next(iter(law)))
    mean, usual = sum(contributions, Fraction(0)) / workers, Fraction(size, workers)
    spreads = ((inclusion(law, worker) - usual) * (value - mean) for worker, value in enumerate(contributions))
    covariance = sum(spreads, Fraction(0)) / workers
    stated = STATEMENTS["sample_mean_bias"].fraction(n=workers, sample_count=size, inclusion_covariance=covariance)
    return -abs(expected_sum(law, contributions) / size - mean - stated)


def listed_laws() -> Iterator[tuple[Law, list[Fraction]]]:
    """Laws in which later samples are likelier, and contributions that grow with the worker, or with its square."""
    for workers in range(1, MOST_WORKERS + 1):
        for size in range(1, workers + 1):
            count = len(list(combinations(range(workers), size)))
            for power in (1, 2):
                law = law_of(workers, size, [1 + number**power for number in range(count)])
                yield law, [Fraction((1 + worker) ** power) for worker in range(workers)]


def mean_check(_profile: Profile) -> Outcome:
    """`rational`: the weighted sum over the listed samples has the mean of the contributions as its expectation."""
    margins = [mean_margin(*case) for case in listed_laws()]
    return Outcome(earned=min(margins) == 0, detail={"laws_count": len(margins), "smallest_margin": str(min(margins))})


def bias_check(_profile: Profile) -> Outcome:
    """`rational`: the mean over the listed samples is as far from that of all as the covariance says."""
    margins = [bias_margin(*case) for case in listed_laws()]
    return Outcome(earned=min(margins) == 0, detail={"laws_count": len(margins), "smallest_margin": str(min(margins))})


def law_cases() -> Members:
    """(law of samples of one size, contributions), every sample possible."""

    def of_size(case: tuple[int, int]) -> Members:
        workers, size = case
        count = len(list(combinations(range(workers), size)))
        laws = st.lists(st.integers(1, 9), min_size=count, max_size=count)
        contributions = st.lists(st.integers(-9, 9).map(Fraction), min_size=workers, max_size=workers)
        return st.tuples(laws.map(lambda parts: law_of(workers, size, parts)), contributions)

    sizes = st.integers(1, MOST_WORKERS).flatmap(lambda workers: st.tuples(st.just(workers), st.integers(1, workers)))
    return sizes.flatmap(of_size)


def systematic_law(weights: Mapping[int, int], size: int) -> Law | None:
    """Samples by points at equal distances, with inclusion probabilities size · weight/Σ; None where one exceeds 1."""
    total = sum(weights.values())
    if any(size * weight > total for weight in weights.values()):
        return None
    ends = [Fraction(size * end, total) for end in accumulate(weights.values())]
    edges = sorted({Fraction(0), Fraction(1), *(end % 1 for end in ends)})
    law: dict[tuple[int, ...], Fraction] = {}
    for begin, end in pairwise(edges):
        counts = [max(0, ceil(place - (begin + end) / 2)) for place in (Fraction(0), *ends)]
        sample = tuple(
            worker for worker, (before, after) in zip(weights, pairwise(counts), strict=True) if after > before
        )
        law[sample] = law.get(sample, Fraction(0)) + end - begin
    return law


def failure_margin(weights: Sequence[int], holders: int, size: int, chance: Fraction) -> Fraction:
    """Minus the difference of the conditional bias from the statement's; the first workers are the holders.

    Who has the weight p contributes 1 + p².

    Raises:
        ValueError: there is no such sampling.
    """
    everybody = dict(enumerate(weights))
    others = {worker: weight for worker, weight in everybody.items() if worker >= holders}
    laws = systematic_law(others, size), systematic_law(everybody, size)
    if laws[0] is None or laws[1] is None:
        raise ValueError(f"a sample of {size} would have a probability above 1 for one of {list(weights)}")
    contributions = [Fraction(1 + weight**2) for weight in weights]
    marginal = [chance * inclusion(laws[0], worker) + (1 - chance) * inclusion(laws[1], worker) for worker in everybody]
    terms = [value / often for value, often in zip(contributions, marginal, strict=True)]
    total = sum(contributions, Fraction(0))
    overall = chance * expected_sum(laws[0], terms) + (1 - chance) * expected_sum(laws[1], terms)
    stated = STATEMENTS["shared_failure_sum"].fraction(
        failure_chance=chance,
        others_share=Fraction(sum(others.values()), sum(weights)),
        others_sum=sum(contributions[holders:], Fraction(0)),
        class_sum=sum(contributions[:holders], Fraction(0)),
    )
    return -abs(expected_sum(laws[0], terms) - total - stated) - abs(overall - total)


def failure_check(_profile: Profile) -> Outcome:
    """`rational`: given the failure, the expected sum misses what is stated; over failure and none, nothing."""
    margins = [
        failure_margin(weights, holders, size, chance)
        for workers in range(2, MOST_WORKERS + 1)
        for weights in product((1, 2, 3), repeat=workers)
        for holders in range(workers)
        for size in (1, 2)
        for chance in CHANCES
        if _is_possible(weights, holders, size)
    ]
    return Outcome(earned=min(margins) == 0, detail={"cases_count": len(margins), "smallest_margin": str(min(margins))})


def _is_possible(weights: Sequence[int], holders: int, size: int) -> bool:
    others = weights[holders:]
    return size * max(others) <= sum(others) and size * max(weights) <= sum(weights)


def failure_cases() -> Members:
    """(sampling weights, number of holders, size of the sample, chance of a shared failure)."""
    chance = st.integers(0, 11).map(lambda twelfths: Fraction(twelfths, 12))
    weights = st.lists(st.integers(1, 9), min_size=2, max_size=MOST_WORKERS + 2)

    def of(own: list[int]) -> Members:
        return st.tuples(st.just(own), st.integers(0, len(own) - 1), st.integers(1, 3), chance)

    return weights.flatmap(of).filter(lambda case: _is_possible(*case[:3]))


def class_error(
    contributions: Sequence[Fraction], law: Law, weights: Mapping[tuple[int, ...], Sequence[Fraction]], chance: Fraction
) -> Fraction:
    """E (Z − Y)² of the holders' weighted sum Z, which is empty where they fail.

    Args:
        contributions: of the holders; Y is their sum.
        law: of the holders in a sample, where they do not fail.
        weights: by sample, of each holder.
        chance: q, that they fail.
    """
    whole = sum(contributions, Fraction(0))
    otherwise = Fraction(0)
    for sample, likely in law.items():
        part = sum((weights[sample][holder] * contributions[holder] for holder in sample), Fraction(0))
        otherwise += likely * (part - whole) ** 2
    return chance * whole**2 + (1 - chance) * otherwise


def error_margin(
    contributions: Sequence[Fraction], parts: Sequence[int], weights: Sequence[Fraction], chance: Fraction
) -> Fraction:
    """The error of two holders minus the statement's bound.

    Args:
        contributions: of the two.
        parts: ratio of the probabilities that neither, the first, the second and both are sampled.
        weights: of the first alone, of the second alone, and of each of both.
        chance: of their failure.
    """
    law = dict(zip(((), (0,), (1,), (0, 1)), (Fraction(part, sum(parts)) for part in parts), strict=True))
    by_sample = {
        (): (Fraction(0),) * 2,
        (0,): (weights[0], Fraction(0)),
        (1,): (Fraction(0), weights[1]),
        (0, 1): tuple(weights[2:]),
    }
    stated = STATEMENTS["shared_failure_error"].fraction(
        failure_chance=chance, class_sum=sum(contributions, Fraction(0))
    )
    return class_error(contributions, law, by_sample, chance) - stated


def error_check(_profile: Profile) -> Outcome:
    """`rational`: of a grid of weights none has a smaller error than stated, and some have this one."""
    contributions = (Fraction(1), Fraction(2))
    laws = ((0, 0, 0, 1), (1, 1, 1, 1), (3, 0, 2, 1))
    margins = [
        error_margin(contributions, parts, weights, chance)
        for parts in laws
        for weights in product(LISTED_WEIGHTS, repeat=4)
        for chance in CHANCES
        if chance
    ]
    return Outcome(earned=min(margins) == 0, detail={"cases_count": len(margins), "smallest_margin": str(min(margins))})


def error_cases() -> Members:
    """(contributions, law, weights, chance), the whole sample with weights 1 among them."""
    contribution = st.integers(-9, 9).map(Fraction)
    weight = st.integers(-8, 16).map(lambda quarters: Fraction(quarters, 4))
    chance = st.integers(0, 12).map(lambda twelfths: Fraction(twelfths, 12))
    parts = st.lists(st.integers(0, 5), min_size=4, max_size=4).filter(any) | st.just([0, 0, 0, 1])
    weights = st.lists(weight, min_size=4, max_size=4) | st.just([Fraction(1)] * 4)
    return st.tuples(st.tuples(contribution, contribution), parts, weights, chance)


EDGES: dict[str, tuple[Remark, ...]] = {
    "sample_mean_bias": (
        Edge("sample_count >= 1", {"inclusion_covariance": 2, "n": 8, "sample_count": 0}),
        Unneeded("sample_count <= n", "no sample without replacement is larger than all workers together"),
    ),
    "shared_failure_sum": (
        Unneeded("failure_chance < 1", "holders who are always gone have no weight 1/π, and no probability exceeds 1"),
        Unneeded("others_share <= 1", "no part of a sum of what is positive is larger than the sum"),
    ),
    "shared_failure_error": (Unneeded("failure_chance <= 1", "no probability is larger"),),
}
"""Points just beyond the conditions of these statements, and why some conditions are not needed."""

CHECKS: dict[str, dict[Grade, Check]] = {
    "weighted_sample_mean": {"rational": mean_check, "property": property_check(law_cases, mean_margin)},
    "sample_mean_bias": {"rational": bias_check, "property": property_check(law_cases, bias_margin)},
    "shared_failure_sum": {"rational": failure_check, "property": property_check(failure_cases, failure_margin)},
    "shared_failure_error": {"rational": error_check, "property": property_check(error_cases, error_margin)},
}
"""Every check of these statements, by label and grade."""
