"""Which functions may the worst case choose? Five classes, each with the inequality that its gradients obey.

f has curvature between μ and L iff φ = f − μ‖x − x*‖²/2 is convex and (L − μ)-smooth; μ = −L are the L-smooth functions
that need not be convex, no L at all those with kinks. Points with gradients and values are those of a function of the
class iff each pair obeys the inequality of `pair_form` (Taylor, Hendrickx and Glineur 2017, Theorem 4).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from sparsync.verify.worst_case_rates.exact_numbers import MethodError, plain
from sparsync.verify.worst_case_rates.vectors import Form, Vector, total

CLASSES: dict[str, tuple[str, ...]] = {
    "smooth strongly convex": ("smoothness", "mu"),
    "smooth convex": ("smoothness",),
    "smooth non-convex": ("smoothness",),
    "strongly convex": ("mu",),
    "convex": (),
}
"""The numbers that each class needs, by name."""


@dataclass(frozen=True)
class FunctionClass:
    """A class of functions.

    Args:
        name: key in `CLASSES`.
        mu: the least curvature; negative where it need not be convex.
        smoothness: the largest, L; None where there may be kinks.
    """

    name: str
    mu: Fraction
    smoothness: Fraction | None

    @property
    def scale(self) -> Fraction:
        """L − μ, the smoothness of φ; 1 where there is none."""
        return Fraction(1) if self.smoothness is None else self.smoothness - self.mu

    def __str__(self) -> str:
        numbers = {"L": self.smoothness, "μ": self.mu if self.mu > 0 else None}
        said = ", ".join(f"{sign} = {plain(value)}" for sign, value in numbers.items() if value is not None)
        return f"{self.name}{said and ', '}{said}"


@dataclass(frozen=True)
class Point:
    """Where a function was asked.

    Args:
        move: x − x*.
        gradient: ∇f(x).
        slope: ∇φ(x)/(L − μ) = (∇f(x) − μ(x − x*))/(L − μ), zero where μ = L.
        value: f(x) − f(x*).
    """

    move: Vector
    gradient: Vector
    slope: Vector
    value: Form


def function_class(name: object, numbers: Mapping[str, Fraction]) -> FunctionClass:
    """The class of a name with its numbers.

    Raises:
        MethodError: there is no such class, a number is missing or out of its range.
    """
    if not isinstance(name, str) or name not in CLASSES:
        raise MethodError(f"function_class must be one of {', '.join(map(repr, CLASSES))}, got {name!r}")
    for wanted in CLASSES[name]:
        if wanted not in numbers:
            raise MethodError(f"the class {name!r} needs a number {wanted}; the method has {sorted(numbers) or 'none'}")
        if numbers[wanted] <= 0:
            raise MethodError(f"{wanted} must be positive, got {numbers[wanted]}")
    smoothness = numbers["smoothness"] if "smoothness" in CLASSES[name] else None
    mu = numbers["mu"] if "mu" in CLASSES[name] else Fraction(0)
    if smoothness is not None and mu > smoothness:
        raise MethodError(f"mu must be at most smoothness, got {mu} and {smoothness}")
    return FunctionClass(name, -numbers["smoothness"] if name == "smooth non-convex" else mu, smoothness)


def height(functions: FunctionClass, point: Point) -> Form:
    """φ(x) − φ(x*)."""
    return total([(1, point.value), (-functions.mu / 2, point.move @ point.move)])


def pair_form(functions: FunctionClass, first: tuple[Point, Form], second: tuple[Point, Form]) -> Form:
    """φ_j − φ_i + (L − μ)(⟨s_j, x_i − x_j⟩ + ‖s_i − s_j‖²/2) ≤ 0, i first, j second, with their heights; s the slopes.

    Without L it is φ_j − φ_i + ⟨s_j, x_i − x_j⟩ ≤ 0.
    """
    (one, low), (other, high) = first, second
    bend = Fraction(0) if functions.smoothness is None else functions.scale / 2
    change = one.slope - other.slope
    return total(
        [
            (1, high),
            (-1, low),
            (functions.scale, other.slope @ (one.move - other.move)),
            (bend, change @ change),
        ]
    )
