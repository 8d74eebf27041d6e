"""EF21: a kept estimate follows the gradient by compressed differences."""

import math

from sparsync.verify.worst_case_rates.problem import Oracle
from sparsync.verify.worst_case_rates.states import State
from sparsync.verify.worst_case_rates.vectors import Form, Vector


class ErrorFeedback21:
    """x⁺ = x − ηd, d⁺ = d + C(∇f(x⁺) − d), at the best step size."""

    function_class = "smooth strongly convex"
    smoothness = 1.0
    mu = 0.1
    epsilon = 0.25

    @property
    def step_size(self) -> float:
        """2/(L + μ) · (1 − √ε)/(1 + √ε)."""
        root = math.sqrt(self.epsilon)
        return 2 / (self.smoothness + self.mu) * (1 - root) / (1 + root)

    def fixed_point(self, problem: Oracle) -> dict[str, Vector]:
        """The estimate rests at the gradient."""
        return {"x": problem.minimiser, "d": problem.gradient(problem.minimiser)}

    def start(self, problem: Oracle) -> dict[str, Vector]:
        """The first estimate is the gradient."""
        x = problem.vector("x0")
        return {"x": x, "d": problem.gradient(x)}

    def step(self, state: State, problem: Oracle) -> dict[str, Vector]:
        """One step."""
        x = state.x - self.step_size * state.d
        return {"x": x, "d": state.d + problem.compress(problem.gradient(x) - state.d)}

    def lyapunov(self, state: State, problem: Oracle) -> Form:
        """‖∇f(x) − d‖²/√ε + ‖∇f(x)‖² (Thomsen, Taylor and Dieuleveut 2025)."""
        gradient = problem.gradient(state.x)
        found: Form = (gradient - state.d) ** 2 / math.sqrt(self.epsilon) + gradient**2
        return found

    def closed_form(self, steps: int | None) -> float | None:
        """θ², θ² = (1 − √ε)(L − μ)/(L + μ) θ + √ε."""
        root = math.sqrt(self.epsilon)
        linear = (1 - root) * (self.smoothness - self.mu) / (self.smoothness + self.mu)
        return None if steps is not None else ((linear + math.sqrt(linear**2 + 4 * root)) / 2) ** 2
