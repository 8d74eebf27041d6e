"""Compressed gradient descent, without a memory: only the value shrinks in every step."""

import math

from sparsync.verify.worst_case_rates.problem import Oracle
from sparsync.verify.worst_case_rates.states import State
from sparsync.verify.worst_case_rates.vectors import Form, Vector


class CompressedDescent:
    """x⁺ = x − ηC(∇f(x)), at the best step size."""

    function_class = "smooth strongly convex"
    smoothness = 1.0
    mu = 0.1
    epsilon = 0.25

    @property
    def step_size(self) -> float:
        """2/((1 − √ε)μ + (1 + √ε)L)."""
        root = math.sqrt(self.epsilon)
        return 2 / ((1 - root) * self.mu + (1 + root) * self.smoothness)

    def step(self, state: State, problem: Oracle) -> dict[str, Vector]:
        """One step."""
        return {"x": state.x - self.step_size * problem.compress(problem.gradient(state.x))}

    def lyapunov(self, state: State, problem: Oracle) -> Form:
        """f(x) − f(x*)."""
        return problem.value(state.x)

    def closed_form(self, steps: int | None) -> float | None:
        """((q − 1)/(q + 1))², q = L(1 + √ε)/(μ(1 − √ε)) (de Klerk, Glineur and Taylor 2020)."""
        root = math.sqrt(self.epsilon)
        condition = self.smoothness * (1 + root) / (self.mu * (1 - root))
        return None if steps is not None else ((condition - 1) / (condition + 1)) ** 2
