"""The heavy ball of Polyak on smooth strongly convex functions."""

from sparsync.verify.worst_case_rates.problem import Oracle
from sparsync.verify.worst_case_rates.states import State
from sparsync.verify.worst_case_rates.vectors import Vector


class HeavyBall:
    """x⁺ = x − η∇f(x) + β(x − x⁻)."""

    function_class = "smooth strongly convex"
    smoothness = 1.0
    mu = 0.1
    step_size = 1.0
    momentum = 0.2

    def fixed_point(self, problem: Oracle) -> dict[str, Vector]:
        """Both places rest at the minimiser."""
        return {"x": problem.minimiser, "previous": problem.minimiser}

    def start(self, problem: Oracle) -> dict[str, Vector]:
        """Both are one place at first."""
        x = problem.vector("x0")
        return {"x": x, "previous": x}

    def step(self, state: State, problem: Oracle) -> dict[str, Vector]:
        """One step."""
        pushed = state.x + self.momentum * (state.x - state.previous)
        return {"x": pushed - self.step_size * problem.gradient(state.x), "previous": state.x}
