"""What evidence is there for the byte laws of distributed K-FAC, besides their derivations?

The numbers that workers hand over are counted one by one, step by step, from the shapes of layers: things are dealt by
the cubes of their rows, and everybody hands over as much as who has the most. Ours.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import product

from hypothesis import strategies as st

from sparsync.theory.statements import STATEMENTS
from sparsync.verify.learning.curvature import listed
from sparsync.verify.tools.outcome import Check, Grade
from sparsync.verify.tools.properties import Case, Members, property_check

Shape = tuple[int, int]
"""Inputs and outputs of a layer, a bias being an input."""
LISTED_LAYERS: tuple[Sequence[Shape], ...] = (((1, 1),), ((3, 2), (4, 5)), ((9, 16), (144, 16), (65, 10)))


def triangle(size: int) -> int:
    """Entries at or above the diagonal."""
    return sum(1 for row in range(size) for column in range(size) if column >= row)


def largest(counts: Sequence[int], costs: Sequence[int], workers: int) -> int:
    """The most numbers that one worker has, where things go from the dearest on to who has least to do."""
    burdens, held = [Fraction(0)] * workers, [0] * workers
    for cost, place in sorted((-cost, place) for place, cost in enumerate(costs)):
        _, worker = min((burden, rank) for rank, burden in enumerate(burdens))
        burdens[worker] -= cost
        held[worker] += counts[place]
    return max(held)


def basis_counts(layers: Sequence[Shape]) -> list[int]:
    """Numbers of the vectors and values of each factor."""
    return [sum(size + 1 for _ in range(size)) for layer in layers for size in layer]


def largest_basis_share(layers: Sequence[Shape], workers: int) -> int:
    """The most numbers of decompositions that one worker makes."""
    return largest(basis_counts(layers), [size**3 for layer in layers for size in layer], workers)


def largest_gradient_share(layers: Sequence[Shape], workers: int) -> int:
    """The most entries of preconditioned gradients that one worker makes."""
    counts = [inside * outside for inside, outside in layers]
    return largest(counts, [inside**3 + outside**3 for inside, outside in layers], workers)


def number_bytes(label: str) -> Fraction:
    """Of one number, as the statement assumes."""
    return Fraction(str(STATEMENTS[label].given("number_bytes")))


def counted_bytes(layers: Sequence[Shape], workers: int, periods: tuple[int, int], scheme: str) -> Fraction:
    """Bytes a step of all workers, over as many steps as both periods divide."""
    factor_period, decomposition_period = periods
    steps = factor_period * decomposition_period
    gradients = sum(inside * outside for inside, outside in layers)
    numbers = 0
    for step in range(steps):
        numbers += workers * gradients
        if step % factor_period == 0:
            numbers += workers * sum(triangle(size) for layer in layers for size in layer)
        if scheme == "everyone" and step % decomposition_period == 0:
            numbers += workers * largest_basis_share(layers, workers)
        if scheme == "owners":
            numbers += workers * largest_gradient_share(layers, workers)
    return number_bytes(f"kfac_{scheme}_bytes") * Fraction(numbers, steps)


def everyone_margin(layers: Sequence[Shape], workers: int, periods: tuple[int, int]) -> Fraction:
    """Minus the difference of the count from the statement's."""
    stated = STATEMENTS["kfac_everyone_bytes"].fraction(
        n=workers,
        parameter_count=sum(inside * outside for inside, outside in layers),
        triangle_entries=sum(triangle(size) for layer in layers for size in layer),
        basis_entries=largest_basis_share(layers, workers),
        factor_period=periods[0],
        decomposition_period=periods[1],
    )
    return -abs(counted_bytes(layers, workers, periods, "everyone") - stated)


def owners_margin(layers: Sequence[Shape], workers: int, periods: tuple[int, int]) -> Fraction:
    """Minus the difference of the count from the statement's."""
    stated = STATEMENTS["kfac_owners_bytes"].fraction(
        n=workers,
        parameter_count=sum(inside * outside for inside, outside in layers),
        triangle_entries=sum(triangle(size) for layer in layers for size in layer),
        owned_entries=largest_gradient_share(layers, workers),
        factor_period=periods[0],
    )
    return -abs(counted_bytes(layers, workers, periods, "owners") - stated)


def crossover_margin(inside: int, outside: int) -> Fraction:
    """Minus the difference of a decomposition's numbers from those of as many preconditioned gradients as stated."""
    stated = STATEMENTS["kfac_crossover"].fraction(input_size=inside, output_size=outside)
    return -abs(sum(basis_counts([(inside, outside)])) - stated * inside * outside)


def _byte_cases() -> list[Case]:
    return [
        (layers, workers, periods)
        for layers, workers in product(LISTED_LAYERS, (1, 2, 4))
        for periods in ((1, 1), (2, 3), (5, 4))
    ]


def _crossover_cases() -> list[Case]:
    return list(product(range(1, 6), repeat=2))


def _byte_members() -> Members:
    layers = st.lists(st.tuples(st.integers(1, 7), st.integers(1, 7)), min_size=1, max_size=5)
    return st.tuples(layers, st.integers(1, 6), st.tuples(st.integers(1, 4), st.integers(1, 4)))


def _crossover_members() -> Members:
    return st.tuples(st.integers(1, 40), st.integers(1, 40))


CHECKS: dict[str, dict[Grade, Check]] = {
    "kfac_everyone_bytes": {
        "rational": listed(_byte_cases, everyone_margin, is_attained=True),
        "property": property_check(_byte_members, everyone_margin),
    },
    "kfac_owners_bytes": {
        "rational": listed(_byte_cases, owners_margin, is_attained=True),
        "property": property_check(_byte_members, owners_margin),
    },
    "kfac_crossover": {
        "rational": listed(_crossover_cases, crossover_margin, is_attained=True),
        "property": property_check(_crossover_members, crossover_margin),
    },
}
"""Every check of these statements, by label and grade."""
