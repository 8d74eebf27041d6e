"""What does PEPit say of the same method? Its own functions, inequalities and programme, on the same file.

The method runs on our vectors, but every gradient, value and compressed vector is one that PEPit made; our inequalities
are not used. PEPit (Goujaud et al. 2024) is asked only where it is installed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from sparsync.verify.worst_case_rates.certify import Bound, energy
from sparsync.verify.worst_case_rates.exact_numbers import MethodError, Number, number
from sparsync.verify.worst_case_rates.method_file import Method
from sparsync.verify.worst_case_rates.problem import Problem, Setting
from sparsync.verify.worst_case_rates.questions import (
    Measured,
    features,
    next_queries,
    run_measured,
    step_measured,
)
from sparsync.verify.worst_case_rates.states import fixed_point, free_state, step
from sparsync.verify.worst_case_rates.vectors import Condition, Form, Vector

CLASSES = {
    "smooth strongly convex": "SmoothStronglyConvexFunction",
    "smooth convex": "SmoothConvexFunction",
    "smooth non-convex": "SmoothFunction",
    "strongly convex": "StronglyConvexFunction",
    "convex": "ConvexFunction",
}
"""PEPit's name of each class."""


def is_there() -> bool:
    """True iff PEPit is installed."""
    return find_spec("PEPit") is not None


def worst_case(method: Method, steps: int, *, initial: str | None = None, performance: str | None = None) -> float:
    """PEPit's number for `questions.worst_case`.

    Raises:
        MethodError: see `questions.worst_case`.
        RuntimeError: PEPit found no number.
    """
    problem = PepitProblem(method.setting)
    return problem.solved(run_measured(method, problem, steps, initial=initial, performance=performance))


def named_factor(method: Method) -> float:
    """PEPit's number for `questions.named_factor`.

    Raises:
        MethodError: see `questions.named_factor`.
        RuntimeError: PEPit found no number.
    """
    problem = PepitProblem(method.setting)
    return problem.solved(step_measured(method, problem))


def found_factor(method: Method, bound: Bound) -> float:
    """PEPit's one-step factor of a Lyapunov function that was found here.

    Raises:
        RuntimeError: PEPit found no number.
    """
    own = Problem(method.setting)
    own_rest = fixed_point(method, own)
    queries = next_queries(method, free_state(own_rest), own, own_rest)
    problem = PepitProblem(method.setting)
    rest = fixed_point(method, problem)
    state = free_state(rest)
    before = features(state, problem, rest, queries)
    after = features(step(method, state, problem, rest), problem, rest, queries)
    share = 1 / max(abs(value) for name, value in bound.unknowns.items() if name[0] in "Pp")
    return problem.solved(Measured(share * energy(before, bound), (share * energy(after, bound),), "lyapunov"))


@dataclass
class PepitProblem:
    """An `Oracle` whose answers are PEPit's, under names of ours.

    Args:
        setting: the class, and who has one.
    """

    setting: Setting
    minimiser: Vector = field(default_factory=lambda: Vector({"x*": Fraction(1)}))
    zero: Vector = field(default_factory=Vector)

    def __post_init__(self) -> None:
        self._pepit: Any = import_module("PEPit")
        self._problem = self._pepit.PEP()
        self._functions: list[Any] = [self._declared() for _ in range(self.setting.worker_count)]
        self._mean: Any = sum(self._functions[1:], self._functions[0]) / len(self._functions)
        resting = self._mean.stationary_point()
        self._points: dict[str, Any] = {"x*": resting}
        self._lowest = self._mean(resting)
        self._values: dict[str, Any] = {}
        self._gradients: dict[tuple[int, Vector], Vector] = {}
        if self.setting.common_minimiser:
            for function in self._functions[1:]:
                self._problem.add_constraint(function.gradient(resting) ** 2 <= 0)

    @property
    def worker_count(self) -> Number:
        """n."""
        return Number(self.setting.worker_count)

    def vector(self, name: str) -> Vector:
        """A vector that may be any."""
        return Vector({f"vector {name}": Fraction(1)})

    def gradient(self, position: Vector, worker: int | None = None) -> Vector:
        """PEPit's gradient of a worker's function, or their mean."""
        if worker is None:
            return sum(self.gradients(position), Vector()) / self.setting.worker_count
        if (worker, position) not in self._gradients:
            gradient, value = self._functions[worker].oracle(self._point(position))
            self._gradients[worker, position] = self._named(gradient)
            self._bound_below(worker, gradient, value)
        return self._gradients[worker, position]

    def gradients(self, position: Vector) -> list[Vector]:
        """PEPit's gradients."""
        return [self.gradient(position, worker) for worker in range(self.setting.worker_count)]

    def value(self, position: Vector) -> Form:
        """PEPit's value of the mean, above its lowest."""
        self.gradients(position)
        name = f"value {len(self._values)}"
        self._values[name] = self._mean(self._point(position)) - self._lowest
        return Form(values={name: Fraction(1)})

    def compress(self, vector: Vector, epsilon: object = None) -> Vector:
        """A vector of PEPit's with the contraction as a constraint."""
        share = self.setting.epsilon if epsilon is None else number(epsilon, "epsilon of compress")
        sent, whole = self._pepit.Point(), self._point(vector)
        self._problem.add_constraint((sent - whole) ** 2 <= float(share or 0) * whole**2)
        return self._named(sent)

    def proximal(self, position: Vector, step_size: object) -> Vector:
        """PEPit's proximal step."""
        steps = import_module("PEPit.primitive_steps")
        end, gradient, value = steps.proximal_step(
            self._point(position), self._functions[0], float(number(step_size, "step_size of proximal"))
        )
        found = self._named(end)
        self._gradients[0, found] = self._named(gradient)
        self._bound_below(0, gradient, value)
        return found

    def require(self, condition: Condition) -> None:
        """The condition as a constraint."""
        self._problem.add_constraint(self._expression(condition.form) <= 0)

    def solved(self, measured: Measured) -> float:
        """The worst case.

        Raises:
            RuntimeError: there is none, or PEPit fails.
        """
        self._problem.set_initial_condition(self._expression(measured.before) <= 1)
        for after in measured.afters:
            self._problem.set_performance_metric(self._expression(after))
        try:
            found = self._problem.solve(wrapper="cvxpy", solver="CLARABEL", verbose=0)
        except Exception as error:
            raise RuntimeError(f"PEPit fails: {error}") from error
        if found is None or not abs(found) < float("inf"):
            raise RuntimeError("PEPit finds no bound")
        return float(found)

    def _declared(self) -> Any:
        functions = self.setting.functions
        kind = getattr(import_module("PEPit.functions"), CLASSES[functions.name])
        numbers: Mapping[str, Fraction | None] = {
            "mu": functions.mu if functions.mu > 0 else None,
            "L": functions.smoothness,
        }
        given = {name: float(value) for name, value in numbers.items() if value is not None}
        return self._problem.declare_function(kind, **given)

    def _bound_below(self, worker: int, gradient: Any, value: Any) -> None:
        functions = self.setting.functions
        if functions.mu < 0 and functions.smoothness is not None:
            if self.setting.worker_count > 1 and not self.setting.common_minimiser:
                raise MethodError("several non-convex workers with minimisers of their own are not asked of PEPit")
            lowest = self._functions[worker](self._points["x*"])
            self._problem.add_constraint(gradient**2 <= float(2 * functions.smoothness) * (value - lowest))

    def _named(self, point: Any) -> Vector:
        name = f"own {len(self._points)}"
        self._points[name] = point
        return Vector({name: Fraction(1)})

    def _point(self, vector: Vector) -> Any:
        found = 0 * self._points["x*"]
        for name, share in vector.coefficients.items():
            if name not in self._points:
                self._points[name] = self._problem.set_initial_point()
            found = found + float(share) * self._points[name]
        return found

    def _expression(self, own: Form) -> Any:
        found = 0 * self._lowest
        for (left, right), share in own.products.items():
            both = [self._point(Vector({name: Fraction(1)})) for name in (left, right)]
            found = found + float(share) * (both[0] * both[1])
        for name, share in own.values.items():
            found = found + float(share) * self._values[name]
        return found
