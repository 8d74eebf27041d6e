"""How does a solver's answer become a proof? Its dual multipliers, made rational, and an inequality redone exactly.

For any y ≥ 0 and v in the class (v_i w_{i+1} − v_{i+1} w_i ≥ 0, v ≥ 0): if every coefficient
[i > k] − λ + y_i w_{i+1} − y_{i−1} w_{i−1} is ≤ 0, then tail(v) − λ total(v) ≤ −Σ y_i (v_i w_{i+1} − v_{i+1} w_i) ≤ 0.
So (y, λ) proves tail/total ≤ λ for the whole class. `check` needs fractions only: no solver, no sympy. Ours.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from sparsync.verify.contraction.solution import WorstCase
from sparsync.verify.contraction.weights import CLASS_WEIGHTS, END_POINT_WEIGHTS, Weights

CERTIFIED_CLASSES: dict[str, Weights] = {
    **CLASS_WEIGHTS,
    **{f"{label}_end_point": weights for label, weights in END_POINT_WEIGHTS.items()},
}
"""Every class with integer weights: each statement's own, and the two that end at zero."""

ROUNDING_DENOMINATOR = 2**20
"""Multipliers that no equation determines are rounded up to this grid; `check` decides whether that was enough."""


@dataclass(frozen=True)
class Certificate:
    """A claimed proof that tail/total ≤ bound on a class.

    Args:
        class_name: key in `CERTIFIED_CLASSES`.
        dimension: d.
        count: k.
        multipliers: y [d − 1].
        bound: λ.
    """

    class_name: str
    dimension: int
    count: int
    multipliers: tuple[Fraction, ...]
    bound: Fraction


def check(certificate: Certificate) -> bool:
    """True iff the certificate proves its bound: y ≥ 0 and every coefficient ≤ 0, in exact arithmetic.

    Raises:
        ValueError: the class is unknown, k is not in 1..d, or there are not d − 1 multipliers.
    """
    _require_shape(certificate)
    return all(y >= 0 for y in certificate.multipliers) and all(c <= 0 for c in coefficients(certificate))


def coefficients(certificate: Certificate) -> tuple[Fraction, ...]:
    """[i > k] − λ + y_i w_{i+1} − y_{i−1} w_{i−1} for i = 1..d, with y_0 = y_d = 0: the factor of v_i."""
    weights = CERTIFIED_CLASSES[certificate.class_name](certificate.dimension)
    own = (*certificate.multipliers, Fraction(0))
    previous = (Fraction(0), *certificate.multipliers)
    following_weights = (*weights[1:], 0)
    previous_weights = (0, *weights[:-1])
    return tuple(
        int(position >= certificate.count) - certificate.bound + y * following - y_before * before
        for position, (y, following, y_before, before) in enumerate(
            zip(own, following_weights, previous, previous_weights, strict=True)
        )
    )


def rationalise(solution: WorstCase, *, class_name: str) -> Certificate:
    """Make a solver's dual exact: solve the equations of the coordinates with v_i > 0, round what they leave open.

    Complementary slackness: the coefficient of v_i is zero where v_i > 0. These coordinates are read off the
    numerical solution and form a prefix of the ranks; their equations are bidiagonal, and weighting them with w_i
    eliminates y and leaves λ = Σ [i > k] w_i / Σ w_i over the prefix.

    Raises:
        ValueError: the class is unknown, or the positive coordinates are not the first ones.
    """
    if class_name not in CERTIFIED_CLASSES:
        raise ValueError(f"class must be one of {sorted(CERTIFIED_CLASSES)}, got {class_name!r}")
    dimension, count = len(solution.squares), solution.count
    weights = CERTIFIED_CLASSES[class_name](dimension)
    active = sum(solution.positive)
    if active == 0 or not all(solution.positive[:active]):
        raise ValueError(f"{class_name}: the positive coordinates are not a prefix of the ranks: {solution.squares}")
    bound = Fraction(sum(weights[count:active]), sum(weights[:active]))
    determined = _solve_active(weights, bound=bound, count=count, active=active)
    undetermined = (
        _round_up(multiplier / weights[position])
        for position, multiplier in enumerate(solution.multipliers[: dimension - 1])
        if position >= len(determined)
    )
    multipliers = (*determined, *undetermined)
    return Certificate(class_name=class_name, dimension=dimension, count=count, multipliers=multipliers, bound=bound)


def to_json(certificate: Certificate) -> dict[str, object]:
    """The certificate with every rational as a string "p/q"."""
    return {
        "kind": "contraction",
        "class": certificate.class_name,
        "dimension": certificate.dimension,
        "count": certificate.count,
        "multipliers": [_text(y) for y in certificate.multipliers],
        "bound": _text(certificate.bound),
    }


def from_json(data: Mapping[str, object]) -> Certificate:
    """The certificate written by `to_json`; its shape is checked, its claim is not (see `check`).

    Raises:
        ValueError: a field is missing or has the wrong type, or the shape is inconsistent.
    """
    match data:
        case {
            "kind": "contraction",
            "class": str(class_name),
            "dimension": int(dimension),
            "count": int(count),
            "multipliers": [*multipliers],
            "bound": str(bound),
        }:
            certificate = Certificate(
                class_name=class_name,
                dimension=dimension,
                count=count,
                multipliers=tuple(Fraction(str(y)) for y in multipliers),
                bound=Fraction(bound),
            )
        case _:
            raise ValueError(f"not a certificate: {dict(data)}")
    _require_shape(certificate)
    return certificate


def _require_shape(certificate: Certificate) -> None:
    if certificate.class_name not in CERTIFIED_CLASSES:
        raise ValueError(f"class must be one of {sorted(CERTIFIED_CLASSES)}, got {certificate.class_name!r}")
    if not 1 <= certificate.count <= certificate.dimension:
        raise ValueError(f"count must be between 1 and {certificate.dimension}, got {certificate.count}")
    if len(certificate.multipliers) != certificate.dimension - 1:
        raise ValueError(f"expected {certificate.dimension - 1} multipliers, got {len(certificate.multipliers)}")


def _solve_active(weights: tuple[int, ...], *, bound: Fraction, count: int, active: int) -> tuple[Fraction, ...]:
    """y_1, y_2, … from the equations of the active coordinates, by forward substitution; stops where w_{i+1} = 0."""
    multipliers: list[Fraction] = []
    carried = Fraction(0)
    for position in range(min(active, len(weights) - 1)):
        if weights[position + 1] == 0:
            break
        multiplier = (bound - int(position >= count) + carried) / weights[position + 1]
        multipliers.append(multiplier)
        carried = multiplier * weights[position]
    return tuple(multipliers)


def _round_up(value: float) -> Fraction:
    scaled = Fraction(max(value, 0.0)) * ROUNDING_DENOMINATOR
    return Fraction(-(-scaled.numerator // scaled.denominator), ROUNDING_DENOMINATOR)


def _text(value: Fraction) -> str:
    return f"{value.numerator}/{value.denominator}"
