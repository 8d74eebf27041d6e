"""Gradient descent on smooth strongly convex functions."""

from sparsync.verify.worst_case_rates.problem import Oracle
from sparsync.verify.worst_case_rates.states import State
from sparsync.verify.worst_case_rates.vectors import Vector


class GradientDescent:
    """x⁺ = x − η∇f(x)."""

    function_class = "smooth strongly convex"
    smoothness = 1.0
    mu = 0.1
    step_size = 1.0

    def step(self, state: State, problem: Oracle) -> dict[str, Vector]:
        """One step."""
        return {"x": state.x - self.step_size * problem.gradient(state.x)}

    def closed_form(self, steps: int | None) -> float:
        """max(|1 − ημ|, |1 − ηL|)² a step, for the distance."""
        worst = max(abs(1 - self.step_size * self.mu), abs(1 - self.step_size * self.smoothness))
        return worst ** (2 * (1 if steps is None else steps))
