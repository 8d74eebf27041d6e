"""Gradient descent on smooth functions that need not be convex: the least gradient, by the value at the start."""

from sparsync.verify.worst_case_rates.problem import Oracle
from sparsync.verify.worst_case_rates.states import State
from sparsync.verify.worst_case_rates.vectors import Vector


class NonConvexDescent:
    """x⁺ = x − ∇f(x)/L."""

    function_class = "smooth non-convex"
    initial = "value"
    performance = "best_gradient"
    smoothness = 1.0

    def step(self, state: State, problem: Oracle) -> dict[str, Vector]:
        """One step."""
        return {"x": state.x - problem.gradient(state.x) / self.smoothness}

    def closed_form(self, steps: int | None) -> float | None:
        """4L/(3N + 2) (Abbaszadehpeivasti, de Klerk and Zamani 2022)."""
        return None if steps is None else 4 * self.smoothness / (3 * steps + 2)
