"""What evidence is there for the weights of reports on batches of different sizes, and for greedy splits?

All outcomes of examples with noise of two values, added up in exact fractions: listed batches, and drawn ones. All
splits are gone through, for listed times and drawn ones. Ours.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import product

from hypothesis import strategies as st

from sparsync.theory.language.symbols import dissimilarity, variance
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.delay.late_runs import assumed_share
from sparsync.verify.tools.outcome import Check, Grade, Outcome, Profile
from sparsync.verify.tools.properties import Members, property_check

MOST_EXAMPLES = 7
"""Of all reports together, each with noise of two values."""
LARGEST_LISTED = 4
"""Reports, and examples of one, up to which batches are listed."""

SPLIT_EXAMPLES = 6
"""Examples that are shared in all ways."""
LISTED_FIXED = (Fraction(0), Fraction(1, 2), Fraction(3))
LISTED_SLOPES = (Fraction(1), Fraction(2, 3))

Times = Sequence[Fraction]
"""Of 0, 1, 2, … examples up to the cap, not decreasing."""
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
    assumed = noise / assumed_share("batch_weighted_error", "variance", variance)
    stated = STATEMENTS["batch_weighted_error"].fraction(total_batch=_total(reports), variance=assumed)
    return -abs(weighted_error(reports) - stated)


def equal_margin(reports: Sequence[Report]) -> Fraction:
    """The bound minus the error, where every example has the noise of the first report."""
    size = reports[0][2]
    alike = [(batch, mean, size) for batch, mean, _ in reports]
    count, total = len(alike), _total(alike)
    centre = sum((mean for _, mean, _ in alike), Fraction(0)) / count
    label = "equal_weight_error"
    bound = STATEMENTS[label].fraction(
        n=count,
        variance=size**2 / assumed_share(label, "variance", variance),
        dissimilarity=sum(((mean - centre) ** 2 for _, mean, _ in alike), Fraction(0))
        / (count * assumed_share(label, "dissimilarity", dissimilarity)),
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


def greedy_batches(workers: Sequence[Times], total: int) -> list[int]:
    """Each example goes to the first worker who finishes it first."""
    batches = [0] * len(workers)
    for _ in range(total):
        free = [place for place, times in enumerate(workers) if batches[place] + 1 < len(times)]
        batches[min(free, key=lambda place: workers[place][batches[place] + 1])] += 1
    return batches


def latest(workers: Sequence[Times], batches: Sequence[int]) -> Fraction:
    """When the last is finished; nobody waits for one that has no example."""
    return max((times[batch] for times, batch in zip(workers, batches, strict=True) if batch), default=Fraction(0))


def least_latest(workers: Sequence[Times], total: int) -> Fraction:
    """The least over all splits."""
    splits = product(*(range(len(times)) for times in workers))
    return min(latest(workers, batches) for batches in splits if sum(batches) == total)


def greedy_margin(workers: Sequence[Times], total: int) -> Fraction:
    """Minus the difference of the greedy split's time from the least."""
    stated = STATEMENTS["greedy_split"].fraction(least_time=least_latest(workers, total))
    return -abs(latest(workers, greedy_batches(workers, total)) - stated)


def straight(fixed: Fraction, slope: Fraction, cap: int) -> list[Fraction]:
    """Of a worker whose times are a straight line."""
    return [fixed + slope * batch for batch in range(cap + 1)]


def greedy_time_margin(lines: Sequence[tuple[Fraction, Fraction, int]], total: int) -> Fraction:
    """The bound minus the greedy split's time, or that minus the time of parts of examples, if that is less.

    Where a full worker is the last, nothing is stated.

    Args:
        lines: fixed time, time of an example and cap of each worker.
        total: examples, no more than caps hold.
    """
    workers = [straight(*line) for line in lines]
    batches = greedy_batches(workers, total)
    free = [place for place, (_, _, cap) in enumerate(lines) if batches[place] < cap]
    time = latest(workers, batches)
    if time not in [workers[place][batches[place]] for place in free if batches[place]]:
        return Fraction(0)
    shared = sum(batches[place] for place in free)
    rate = sum((1 / lines[place][1] for place in free), Fraction(0))
    fixed = sum((lines[place][0] / lines[place][1] for place in free), Fraction(0))
    stated = STATEMENTS["greedy_split_time"].fraction(
        n=len(free), total_batch=shared, total_rate=rate, fixed_examples=fixed
    )
    takes_part = [place for place in free if batches[place]]
    parts = shared + sum((lines[place][0] / lines[place][1] for place in takes_part), Fraction(0))
    return min(stated - time, time - parts / sum((1 / lines[place][1] for place in takes_part), Fraction(0)))


def listed_lines() -> list[list[tuple[Fraction, Fraction, int]]]:
    """Three workers of all listed lines, the first with a cap that binds."""
    kinds = list(product(LISTED_FIXED, LISTED_SLOPES))
    return [
        [(*first, cap), (*second, SPLIT_EXAMPLES), (*third, SPLIT_EXAMPLES)]
        for first, second, third in product(kinds, repeat=3)
        for cap in (2, SPLIT_EXAMPLES)
    ]


def greedy_check(_profile: Profile) -> Outcome:
    """`rational`: no split of listed lines, and of flat pieces before them, is finished earlier."""
    lines = [[straight(*line) for line in case] for case in listed_lines()]
    bent = [[[max(times[2], value) for value in times] for times in case] for case in lines if len(case[0]) > 3]
    wrong = [case for case in lines + bent if greedy_margin(case, SPLIT_EXAMPLES)]
    return Outcome(
        earned=not wrong,
        detail={"cases_count": len(lines) + len(bent), "wrong_times": [str(case) for case in wrong[:3]]},
    )


def greedy_time_check(_profile: Profile) -> Outcome:
    """`rational`: of listed lines none takes longer than the bound, and equal workers attain it."""
    margins = [greedy_time_margin(case, SPLIT_EXAMPLES) for case in listed_lines()]
    equal = [
        greedy_time_margin([(Fraction(0), Fraction(1, 3), 9)] * count, whole * count + 1)
        for count in range(1, 5)
        for whole in range(3)
    ]
    return Outcome(
        earned=min(margins) >= 0 and not any(equal),
        detail={"cases_count": len(margins) + len(equal), "smallest_margin": str(min(margins))},
    )


def split_cases() -> Members:
    """(times of each worker, examples that they can hold)."""
    steps = st.lists(st.integers(0, 3), min_size=1, max_size=4)
    times = steps.map(lambda rises: [Fraction(sum(rises[:place]), 2) for place in range(len(rises) + 1)])
    workers = st.lists(times, min_size=1, max_size=4)
    return workers.flatmap(lambda found: st.tuples(st.just(found), st.integers(1, sum(len(own) - 1 for own in found))))


def line_cases() -> Members:
    """(lines of each worker, examples that they can hold)."""
    fixed = st.integers(0, 8).map(lambda quarters: Fraction(quarters, 4))
    line = st.tuples(fixed, st.integers(1, 9).map(lambda sixths: Fraction(sixths, 6)), st.integers(1, 8))
    lines = st.lists(line, min_size=1, max_size=5)
    return lines.flatmap(lambda found: st.tuples(st.just(found), st.integers(1, sum(cap for _, _, cap in found))))


CHECKS: dict[str, dict[Grade, Check]] = {
    "batch_weighted_error": {"rational": weighted_check, "property": property_check(report_cases, weighted_margin)},
    "equal_weight_error": {"rational": equal_check, "property": property_check(report_cases, equal_margin)},
    "greedy_split": {"rational": greedy_check, "property": property_check(split_cases, greedy_margin)},
    "greedy_split_time": {"rational": greedy_time_check, "property": property_check(line_cases, greedy_time_margin)},
}
"""Every check of these statements, by label and grade."""
