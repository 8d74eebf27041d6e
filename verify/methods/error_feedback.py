"""Error feedback: what a compressor leaves out is added to the next gradient."""

import math

from sparsync.verify.worst_case_rates.problem import Oracle
from sparsync.verify.worst_case_rates.states import State
from sparsync.verify.worst_case_rates.vectors import Form, Vector


class ErrorFeedback:
    """v = e + η∇f(x), x⁺ = x − C(v), e⁺ = v − C(v), at the best step size."""

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
        """Nothing is left out once the gradient is zero."""
        return {"x": problem.minimiser, "e": problem.zero}

    def start(self, problem: Oracle) -> dict[str, Vector]:
        """Nothing was left out at first."""
        return {"x": problem.vector("x0"), "e": problem.zero}

    def step(self, state: State, problem: Oracle) -> dict[str, Vector]:
        """One step."""
        corrected = state.e + self.step_size * problem.gradient(state.x)
        sent = problem.compress(corrected)
        return {"x": state.x - sent, "e": corrected - sent}

    def lyapunov(self, state: State, problem: Oracle) -> Form:
        """‖x − x* − e‖² + ‖e‖²/√ε (Thomsen, Taylor and Dieuleveut 2025)."""
        root = math.sqrt(self.epsilon)
        found: Form = (state.x - problem.minimiser - state.e) ** 2 + state.e**2 / root
        return found

    def closed_form(self, steps: int | None) -> float | None:
        """θ², θ² = (1 − √ε)(L − μ)/(L + μ) θ + √ε."""
        root = math.sqrt(self.epsilon)
        linear = (1 - root) * (self.smoothness - self.mu) / (self.smoothness + self.mu)
        return None if steps is not None else ((linear + math.sqrt(linear**2 + 4 * root)) / 2) ** 2
