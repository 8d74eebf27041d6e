"""How fast is a method on quadratics? A lower bound for every rate, and whether a Lyapunov function could do better.

On f = a‖x − x*‖²/2 with C(v) = b v a step of a method is a matrix, and the square of its spectral radius is a factor
that no Lyapunov function beats. The extreme curvatures a and responses b, and some between, are tried. Ours.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction

import numpy

from sparsync.verify.worst_case_rates.exact_numbers import MethodError, Number, number
from sparsync.verify.worst_case_rates.method_file import Method
from sparsync.verify.worst_case_rates.problem import Setting
from sparsync.verify.worst_case_rates.states import entries, fixed_point, free_state, step
from sparsync.verify.worst_case_rates.vectors import Condition, Form, Vector

CURVATURES = 9
"""Values of a that are tried, from the least to the largest."""
RESPONSES = (-1, 0, 1)
"""b is 1 + √ε times one of these."""


class NoMatrixError(MethodError):
    """The method asks for what a quadratic does not answer."""


@dataclass(frozen=True)
class Slowest:
    """The quadratic on which a method is slowest.

    Args:
        factor: the square of the spectral radius.
        curvature: a.
        response: b; None where nothing was compressed.
    """

    factor: float
    curvature: float
    response: float | None


@dataclass
class Quadratic:
    """f = a‖x − x*‖²/2 for every worker, and a compressor that multiplies; see `Oracle`."""

    setting: Setting
    curvature: Fraction
    sign: int
    minimiser: Vector = field(default_factory=lambda: Vector({"x*": Fraction(1)}))
    zero: Vector = field(default_factory=Vector)
    compressed: bool = False

    @property
    def worker_count(self) -> Number:
        """n."""
        return Number(self.setting.worker_count)

    def vector(self, name: str) -> Vector:
        """Nothing: a vector that may be any is no part of a matrix."""
        raise NoMatrixError(f"the vector {name} may be any")

    def gradient(self, position: Vector, worker: int | None = None) -> Vector:
        """a(x − x*)."""
        del worker
        return self.curvature * (position - self.minimiser)

    def gradients(self, position: Vector) -> list[Vector]:
        """The same for every worker."""
        return [self.gradient(position)] * self.setting.worker_count

    def value(self, position: Vector) -> Form:
        """a‖x − x*‖²/2."""
        return self.curvature / 2 * (position - self.minimiser) ** 2

    def compress(self, vector: Vector, epsilon: object = None) -> Vector:
        """(1 ± √ε)v."""
        share = self.setting.epsilon if epsilon is None else number(epsilon, "epsilon of compress")
        self.compressed = True
        return vector * (1 + self.sign * math.sqrt(share or 0))

    def proximal(self, position: Vector, step_size: object) -> Vector:
        """x* + (x − x*)/(1 + ηa)."""
        share = number(step_size, "step_size of proximal")
        return self.minimiser + (position - self.minimiser) / (1 + share * self.curvature)

    def require(self, condition: Condition) -> None:
        """Nothing: a condition may fail for a quadratic."""
        raise NoMatrixError(f"the condition {condition.form} ≤ 0 may fail")


def slowest_quadratic(method: Method) -> Slowest | None:
    """The slowest quadratic of those that are tried; None where a step is no matrix, or curvature has no largest value.

    Raises:
        MethodError: see `Method.call`.
    """
    functions = method.setting.functions
    if functions.smoothness is None:
        return None
    lowest = max(functions.mu, Fraction(0))
    shares = [Fraction(place, CURVATURES - 1) for place in range(CURVATURES)]
    found = []
    for curvature in (lowest + share * (functions.smoothness - lowest) for share in shares):
        for sign in RESPONSES:
            problem = Quadratic(method.setting, curvature, sign)
            try:
                factor = _factor(method, problem)
            except MethodError as error:
                if isinstance(error.__cause__, NoMatrixError):
                    return None
                raise
            response = None
            if problem.compressed:
                response = 1 + sign * math.sqrt(method.setting.epsilon or 0)
            found.append(Slowest(factor, float(curvature), response))
    return max(found, key=lambda each: each.factor)


def _factor(method: Method, problem: Quadratic) -> float:
    rest = fixed_point(method, problem)
    state = free_state(rest)
    following = dict(entries(step(method, state, problem, rest)))
    still = dict(entries(rest))
    names = list(still)
    matrix = numpy.array(
        [[float((following[row] - still[row]).coefficients.get(column, 0)) for column in names] for row in names]
    )
    # A deviation's own coefficients: the state is its rest and the deviation.
    return float(max(abs(numpy.linalg.eigvals(matrix))) ** 2)
