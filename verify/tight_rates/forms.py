"""What is left of ρV_0 − V_1 once the known inequalities are added? The slack of a rate, as an exact matrix.

Quadratic forms of a step of error feedback, EF21 or compressed gradient descent over its basis vectors, in fractions;
`verify/tight_rates/certificates.py` says what they mean and which of them a certificate states. Ours.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

Matrix = tuple[tuple[Fraction, ...], ...]
"""A symmetric matrix over a basis."""
Vector = tuple[Fraction, ...]
"""A combination of the basis vectors."""

BASES: dict[str, tuple[str, ...]] = {
    "error_feedback": ("x0", "e0", "c0", "g0"),
    "error_feedback_21": ("d0", "c0", "g0", "g1"),
    "compressed_descent": ("x0", "c0", "g0", "g1"),
}
"""The vectors whose products index the slack, by kind."""
FEEDBACK_KINDS = ("error_feedback", "error_feedback_21")
"""The two methods with memory; their deviation blocks carry the rate to every number of workers."""
VALUE_SIGNS = {"*": (0, 0), "0": (1, 0), "1": (0, 1)}
"""The coefficients of f_0 and f_1 in the value at a point."""


@dataclass(frozen=True)
class Setting:
    """The numbers that a certificate is about.

    Args:
        kind: the method, a key of `BASES`.
        mu: strong convexity μ.
        smoothness: L > μ.
        root_epsilon: s = √ε > 0.
        step_size: η.
        bound: ρ.
    """

    kind: str
    mu: Fraction
    smoothness: Fraction
    root_epsilon: Fraction
    step_size: Fraction
    bound: Fraction


@dataclass(frozen=True)
class Geometry:
    """Where a step puts its points, and what is measured.

    Args:
        points: position and gradient of the points *, 0 and 1.
        before: V_0 without its function value.
        after: V_1 without its function value.
        compressor: B, which is ≤ 0.
    """

    points: Mapping[str, tuple[Vector, Vector]]
    before: Matrix
    after: Matrix
    compressor: Matrix


def slack(setting: Setting, multipliers: Mapping[str, Fraction]) -> Matrix:
    """The quadratic part of ρ V_0 − V_1 + Σ λ Q + ν B over the basis of the kind; a key "i,j" is a pair of points."""
    return _combined(setting, multipliers, _geometry(setting))


def value_coefficients(setting: Setting, multipliers: Mapping[str, Fraction]) -> tuple[Fraction, Fraction]:
    """The coefficients of f_0 and f_1 in the same sum, where Q(i, j) holds f_j − f_i."""
    weights = (setting.bound, Fraction(-1)) if setting.kind == "compressed_descent" else (Fraction(0), Fraction(0))
    totals = list(weights)
    for name, value in multipliers.items():
        if name != "compressor":
            first, second = name.split(",")
            totals = [
                total + value * (later - earlier)
                for total, earlier, later in zip(totals, VALUE_SIGNS[first], VALUE_SIGNS[second], strict=True)
            ]
    return totals[0], totals[1]


def deviation_slack(setting: Setting, multipliers: Mapping[str, Fraction]) -> Matrix:
    """The same sum for the workers' deviations from their mean: positions vanish, and V_k is ‖e_k‖² or ‖g_k − d_k‖².

    Raises:
        ValueError: the kind has no memory.
    """
    if setting.kind not in FEEDBACK_KINDS:
        raise ValueError(f"kind must be one of {FEEDBACK_KINDS}, got {setting.kind!r}")
    whole = _combined(setting, multipliers, _deviation_geometry(setting))
    kept = [position for position, name in enumerate(BASES[setting.kind]) if name != "x0"]
    return tuple(tuple(whole[row][column] for column in kept) for row in kept)


def is_positive_semidefinite(matrix: Sequence[Sequence[Fraction]]) -> bool:
    """Exact LDLᵀ: every pivot is ≥ 0, and where a pivot is zero the rest of its row is zero as well.

    Raises:
        ValueError: the matrix is not square and symmetric.
    """
    rest = [list(row) for row in matrix]
    if any(len(row) != len(rest) for row in rest) or rest != [list(column) for column in zip(*rest, strict=True)]:
        raise ValueError(f"the matrix must be square and symmetric, got {[[str(v) for v in row] for row in rest]}")
    while rest:
        pivot, row = rest[0][0], rest[0][1:]
        if pivot < 0 or (pivot == 0 and any(row)):
            return False
        rest = [
            [entry - (left * right / pivot if pivot else 0) for entry, right in zip(following[1:], row, strict=True)]
            for following, left in zip(rest[1:], row, strict=True)
        ]
    return True


def interpolation(setting: Setting, first: tuple[Vector, Vector], second: tuple[Vector, Vector]) -> Matrix:
    """⟨g_j, x_i − x_j⟩ + ‖g_i − g_j‖²/2L + ‖x_i − x_j − (g_i − g_j)/L‖² μ/(2(1 − μ/L)); i first, j second.

    Source: Taylor, Hendrickx and Glineur 2017, Theorem 4.
    """
    move, change = _sum((1, first[0]), (-1, second[0])), _sum((1, first[1]), (-1, second[1]))
    curved = _sum((1, move), (-1 / setting.smoothness, change))
    return _total(
        (Fraction(1), _product(second[1], move)),
        (1 / (2 * setting.smoothness), _product(change, change)),
        (setting.mu / (2 * (1 - setting.mu / setting.smoothness)), _product(curved, curved)),
    )


def _combined(setting: Setting, multipliers: Mapping[str, Fraction], geometry: Geometry) -> Matrix:
    pairs = {name: value for name, value in multipliers.items() if name != "compressor"}
    known = (
        (value, interpolation(setting, *(geometry.points[point] for point in name.split(","))))
        for name, value in pairs.items()
    )
    return _total(
        (setting.bound, geometry.before),
        (Fraction(-1), geometry.after),
        *known,
        (multipliers["compressor"], geometry.compressor),
    )


def _geometry(setting: Setting) -> Geometry:
    return {
        "error_feedback": _error_feedback,
        "error_feedback_21": _error_feedback_21,
        "compressed_descent": _compressed_descent,
    }[setting.kind](setting)


def _error_feedback(setting: Setting) -> Geometry:
    position, memory, sent, gradient = _unit_vectors(4)
    corrected = _sum((1, memory), (setting.step_size, gradient))
    kept = _sum((1, corrected), (-1, sent))
    virtual, following = _sum((1, position), (-1, memory)), _sum((1, position), (-1, corrected))
    weight = 1 / setting.root_epsilon
    return Geometry(
        points={"*": _minimiser(4), "0": (position, gradient)},
        before=_total((Fraction(1), _product(virtual, virtual)), (weight, _product(memory, memory))),
        after=_total((Fraction(1), _product(following, following)), (weight, _product(kept, kept))),
        compressor=_contraction(setting, kept, corrected),
    )


def _error_feedback_21(setting: Setting) -> Geometry:
    estimate, sent, gradient, following = _unit_vectors(4)
    error = _sum((1, gradient), (-1, estimate))
    difference = _sum((1, following), (-1, estimate))
    kept = _sum((1, difference), (-1, sent))
    weight = setting.root_epsilon
    # Only x_0 − x_1 = ηd_0 enters, so x_1 is put at zero.
    return Geometry(
        points={"0": (_sum((setting.step_size, estimate)), gradient), "1": (_minimiser(4)[0], following)},
        before=_total((Fraction(1), _product(error, error)), (weight, _product(gradient, gradient))),
        after=_total((Fraction(1), _product(kept, kept)), (weight, _product(following, following))),
        compressor=_contraction(setting, kept, difference),
    )


def _compressed_descent(setting: Setting) -> Geometry:
    position, sent, gradient, following = _unit_vectors(4)
    end = _sum((1, position), (-setting.step_size, sent))
    nothing = _total((Fraction(0), _product(position, position)))
    return Geometry(
        points={"*": _minimiser(4), "0": (position, gradient), "1": (end, following)},
        before=nothing,
        after=nothing,
        compressor=_contraction(setting, _sum((1, gradient), (-1, sent)), gradient),
    )


def _deviation_geometry(setting: Setting) -> Geometry:
    whole = _geometry(setting)
    zero = _minimiser(4)[0]
    if setting.kind == "error_feedback":
        _position, memory, sent, gradient = _unit_vectors(4)
        kept = _sum((1, memory), (setting.step_size, gradient), (-1, sent))
    else:
        estimate, sent, gradient, following = _unit_vectors(4)
        memory = _sum((1, gradient), (-1, estimate))
        kept = _sum((1, following), (-1, estimate), (-1, sent))
    return Geometry(
        points={name: (zero, gradient) for name, (_, gradient) in whole.points.items()},
        before=_product(memory, memory),
        after=_product(kept, kept),
        compressor=whole.compressor,
    )


def _contraction(setting: Setting, kept: Vector, whole: Vector) -> Matrix:
    """‖kept‖² − s²‖whole‖²."""
    return _total((Fraction(1), _product(kept, kept)), (-(setting.root_epsilon**2), _product(whole, whole)))


def _unit_vectors(dimension: int) -> tuple[Vector, ...]:
    return tuple(tuple(Fraction(row == column) for column in range(dimension)) for row in range(dimension))


def _minimiser(dimension: int) -> tuple[Vector, Vector]:
    zero = (Fraction(0),) * dimension
    return zero, zero


def _sum(*terms: tuple[Fraction | int, Vector]) -> Vector:
    return tuple(
        sum((factor * entry for (factor, _), entry in zip(terms, entries, strict=True)), Fraction(0))
        for entries in zip(*(vector for _, vector in terms), strict=True)
    )


def _product(left: Vector, right: Vector) -> Matrix:
    """⟨left, right⟩ as a symmetric matrix."""
    return tuple(
        tuple((a * d + b * c) / 2 for b, d in zip(left, right, strict=True)) for a, c in zip(left, right, strict=True)
    )


def _total(*terms: tuple[Fraction, Matrix]) -> Matrix:
    size = len(terms[0][1])
    return tuple(
        tuple(sum((factor * matrix[row][column] for factor, matrix in terms), Fraction(0)) for column in range(size))
        for row in range(size)
    )
