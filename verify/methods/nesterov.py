"""Nesterov's accelerated gradient method with a constant momentum, on smooth strongly convex functions."""

import math

from sparsync.verify.worst_case_rates.problem import Oracle
from sparsync.verify.worst_case_rates.states import State
from sparsync.verify.worst_case_rates.vectors import Vector


class Nesterov:
    """y = x + β(x − x⁻), x⁺ = y − ∇f(y)/L, β = (√L − √μ)/(√L + √μ)."""

    function_class = "smooth strongly convex"
    smoothness = 1.0
    mu = 0.1

    @property
    def momentum(self) -> float:
        """β, computed, so that it follows when `--set` changes μ or L."""
        root = math.sqrt(self.mu / self.smoothness)
        return (1 - root) / (1 + root)

    def fixed_point(self, problem: Oracle) -> dict[str, Vector]:
        """Both places rest at the minimiser."""
        return {"x": problem.minimiser, "previous": problem.minimiser}

    def start(self, problem: Oracle) -> dict[str, Vector]:
        """Both are one place at first."""
        x = problem.vector("x0")
        return {"x": x, "previous": x}

    def step(self, state: State, problem: Oracle) -> dict[str, Vector]:
        """One step."""
        y = state.x + self.momentum * (state.x - state.previous)
        return {"x": y - problem.gradient(y) / self.smoothness, "previous": state.x}
