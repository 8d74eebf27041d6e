"""Gradient descent on smooth convex functions: the value after N steps, by the distance at the start."""

from sparsync.verify.worst_case_rates.problem import Oracle
from sparsync.verify.worst_case_rates.states import State
from sparsync.verify.worst_case_rates.vectors import Vector


class ConvexDescent:
    """x⁺ = x − ∇f(x)/L."""

    function_class = "smooth convex"
    initial = "distance"
    performance = "value"
    smoothness = 1.0

    def step(self, state: State, problem: Oracle) -> dict[str, Vector]:
        """One step."""
        return {"x": state.x - problem.gradient(state.x) / self.smoothness}

    def closed_form(self, steps: int | None) -> float | None:
        """L/(4N + 2) (Drori and Teboulle 2014)."""
        return None if steps is None else self.smoothness / (4 * steps + 2)
