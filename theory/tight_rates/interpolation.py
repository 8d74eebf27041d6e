"""What do smoothness and strong convexity say about the gradients at two points? The inequality behind each tight rate.

f is L-smooth and μ-strongly convex iff φ = f − μ‖x‖²/2 is convex and (L − μ)-smooth; with ∇φ = (L − μ)π the inequality
of Taylor, Hendrickx and Glineur (2017, Theorem 4) has no denominator, so μ = L is no exception. Written for scalars: an
identity between quadratic forms of vectors is one between their coefficients, whatever the dimension.
"""

from dataclasses import dataclass

import sympy

from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import L, mu


@dataclass(frozen=True)
class Point:
    """A point x with π = (∇f(x) − μx)/(L − μ) and φ = f(x) − μx²/2."""

    position: sympy.Expr
    slope: sympy.Expr
    height: sympy.Expr

    @property
    def gradient(self) -> sympy.Expr:
        """∇f(x) = μx + (L − μ)π."""
        return mu * self.position + (L - mu) * self.slope

    @property
    def value(self) -> sympy.Expr:
        """f(x) = φ + μx²/2."""
        return self.height + mu * self.position**2 / 2


MINIMISER = Point(sympy.Integer(0), sympy.Integer(0), sympy.Integer(0))
"""x* = 0 with ∇f(x*) = 0 and f* = 0."""


def interpolation(first: Point, second: Point) -> sympy.Expr:
    """φ_j − φ_i + (L − μ)(⟨π_j, x_i − x_j⟩ + ‖π_i − π_j‖²/2), which is ≤ 0; i is the first point, j the second."""
    move, change = first.position - second.position, first.slope - second.slope
    return second.height - first.height + (L - mu) * (second.slope * move + change**2 / 2)


def interpolation_steps() -> tuple[Step, ...]:
    """The inequality in its published form, and what the two inequalities of a pair of points add up to."""
    return (
        Step(
            "interpolation, for μ < L: f_j − f_i + ⟨g_j, x_i − x_j⟩ + ‖g_i − g_j‖²/2L "
            "+ ‖x_i − x_j − (g_i − g_j)/L‖² μ/(2(1 − μ/L)) ≤ 0",
            _published_form,
            argued="that every such f obeys it; computed is that it is the form used here",
        ),
        Step(
            "its sum over (i, j) and (j, i) is (L − μ)(‖2Δπ − Δx‖² − ‖Δx‖²)/4 ≤ 0: ‖y‖ ≤ ‖Δx‖ for y = 2Δπ − Δx", _ball
        ),
        Step("Δg = (L + μ)/2 Δx + (L − μ)/2 y", _gradient_change),
    )


def numerator(expression: sympy.Expr) -> sympy.Expr:
    """The expanded numerator over a common denominator: zero iff the rational function is."""
    return sympy.expand(sympy.fraction(sympy.together(expression))[0])


def _two_points() -> tuple[Point, Point]:
    first = Point(*sympy.symbols("x_i pi_i phi_i", real=True))
    return first, Point(*sympy.symbols("x_j pi_j phi_j", real=True))


def _published_form() -> sympy.Expr:
    first, second = _two_points()
    move, change = first.position - second.position, first.gradient - second.gradient
    published = (
        second.value
        - first.value
        + second.gradient * move
        + change**2 / (2 * L)
        + mu / (2 * (1 - mu / L)) * (move - change / L) ** 2
    )
    return sympy.cancel(published - interpolation(first, second))


def _ball() -> sympy.Expr:
    first, second = _two_points()
    move, change = first.position - second.position, first.slope - second.slope
    total = interpolation(first, second) + interpolation(second, first)
    return sympy.expand(total - (L - mu) * ((2 * change - move) ** 2 - move**2) / 4)


def _gradient_change() -> sympy.Expr:
    first, second = _two_points()
    move, change = first.position - second.position, first.slope - second.slope
    centred = 2 * change - move
    return sympy.expand(first.gradient - second.gradient - (L + mu) / 2 * move - (L - mu) / 2 * centred)
