"""Which vectors does each hypothesis admit? The reference weights w_i, and the test "v_i/w_i is non-increasing".

Restated here in integers, apart from `theory/`, so that margins and certificates check the statements independently.
Ranks are zero-based in code: position i holds rank i + 1. Ours.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise

Weights = Callable[[int], tuple[int, ...]]
"""Dimension d to the d weights w_1, …, w_d; positive, except that the last may be zero."""


def constant(dimension: int) -> tuple[int, ...]:
    """w_i = 1: every non-increasing v."""
    return (1,) * dimension


def odd(dimension: int) -> tuple[int, ...]:
    """w_i = 2(d − i) + 1 = (d − i + 1)² − (d − i)²: cell averages of a line that ends at zero."""
    return tuple((rest + 1) ** 2 - rest**2 for rest in reversed(range(dimension)))


def cube_difference(dimension: int) -> tuple[int, ...]:
    """w_i = (d − i + 1)³ − (d − i)³: cell averages of a squared line that ends at zero."""
    return tuple((rest + 1) ** 3 - rest**3 for rest in reversed(range(dimension)))


def ramp(dimension: int) -> tuple[int, ...]:
    """w_i = d + 1 − i: a line that reaches zero one past the end."""
    return tuple(range(dimension, 0, -1))


def squared_ramp(dimension: int) -> tuple[int, ...]:
    """w_i = (d + 1 − i)²: magnitudes on a line that reaches zero one past the end."""
    return tuple(weight**2 for weight in ramp(dimension))


def ramp_to_zero(dimension: int) -> tuple[int, ...]:
    """w_i = d − i, d ≥ 2: a line that reaches zero at the last rank, so v_d = 0.

    Raises:
        ValueError: dimension is 1, where every weight would be zero.
    """
    if dimension < 2:
        raise ValueError(f"a ramp that ends at zero needs dimension ≥ 2, got {dimension}")
    return tuple(range(dimension - 1, -1, -1))


def squared_ramp_to_zero(dimension: int) -> tuple[int, ...]:
    """w_i = (d − i)², d ≥ 2: magnitudes on a line that reaches zero at the last rank.

    Raises:
        ValueError: dimension is 1, where every weight would be zero.
    """
    return tuple(weight**2 for weight in ramp_to_zero(dimension))


CLASS_WEIGHTS: dict[str, Weights] = {
    "top_k": constant,
    "square_convex": odd,
    "bell_shaped": cube_difference,
    "square_convex_discrete": ramp,
    "bell_shaped_discrete": squared_ramp,
}
"""The class of each statement about Top-k, by label; the statement's bound is sharp on it."""

END_POINT_WEIGHTS: dict[str, Weights] = {
    "square_convex": ramp_to_zero,
    "bell_shaped": squared_ramp_to_zero,
}
"""Smaller classes, with v_d = 0, that the same statements cover without being sharp."""


def cells(dimension: int, power: Fraction) -> tuple[Fraction, ...]:
    """w_i = (d − i + 1)^a − (d − i)^a."""
    return tuple(raised(rest + 1, power) - raised(rest, power) for rest in reversed(range(dimension)))


def points(dimension: int, power: Fraction) -> tuple[Fraction, ...]:
    """w_i = (d + 1 − i)^a."""
    return tuple(raised(rest, power) for rest in range(dimension, 0, -1))


def raised(base: int | Fraction, power: Fraction) -> Fraction:
    """base^power, rounded to a float where the power is not whole."""
    return Fraction(base) ** int(power) if power.denominator == 1 else Fraction(float(base) ** float(power))


POWERS: dict[str, Callable[[int, Fraction], tuple[Fraction, ...]]] = {
    "square_convex": cells,
    "bell_shaped": cells,
    "square_convex_discrete": points,
    "bell_shaped_discrete": points,
    "exponent_discrete": points,
}
"""The weights that a statement assumes, by its label, from d and the power that it assumes."""


def is_star_shaped(squares: Sequence[Fraction], weights: Sequence[int]) -> bool:
    """True iff v_i/w_i is non-increasing, as v_i w_{i+1} ≥ v_{i+1} w_i; a zero last weight asks for v_d = 0.

    Raises:
        ValueError: the lengths differ.
    """
    neighbours = pairwise(zip(squares, weights, strict=True))
    return all(v * next_w >= next_v * w for (v, w), (next_v, next_w) in neighbours)


def tail_ratio(squares: Sequence[Fraction | int], count: int) -> Fraction:
    """Σ_{i>k} v_i / Σ v_i, exactly: the relative error of Top-k on non-increasing squares; 0 for the zero vector.

    Raises:
        ValueError: count is not in 1..d.
    """
    if not 1 <= count <= len(squares):
        raise ValueError(f"count must be between 1 and {len(squares)}, got {count}")
    total = Fraction(sum(squares))
    return Fraction(sum(squares[count:])) / total if total else Fraction(0)
