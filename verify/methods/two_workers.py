"""Error feedback of two workers with functions of their own, whose minimiser they share."""

import math

from sparsync.verify.worst_case_rates.problem import Oracle
from sparsync.verify.worst_case_rates.states import State
from sparsync.verify.worst_case_rates.vectors import Form, Vector

Vectors = dict[str, Vector | list[Vector]]


class TwoWorkers:
    """v_i = e_i + η∇f_i(x), x⁺ = x − ΣC(v_i)/n, e_i⁺ = v_i − C(v_i), at the best step size."""

    function_class = "smooth strongly convex"
    common_minimiser = True
    workers = 2
    smoothness = 1.0
    mu = 0.1
    epsilon = 0.25

    @property
    def step_size(self) -> float:
        """2/(L + μ) · (1 − √ε)/(1 + √ε)."""
        root = math.sqrt(self.epsilon)
        return 2 / (self.smoothness + self.mu) * (1 - root) / (1 + root)

    def fixed_point(self, problem: Oracle) -> Vectors:
        """A residual for each worker, zero at rest."""
        return {"x": problem.minimiser, "e": [problem.zero] * self.workers}

    def start(self, problem: Oracle) -> Vectors:
        """Nothing was left out at first."""
        return {"x": problem.vector("x0"), "e": [problem.zero] * self.workers}

    def step(self, state: State, problem: Oracle) -> Vectors:
        """One step."""
        gradients = problem.gradients(state.x)
        corrected = [e + self.step_size * gradient for e, gradient in zip(state.e, gradients, strict=True)]
        sent = [problem.compress(vector) for vector in corrected]
        kept = [vector - part for vector, part in zip(corrected, sent, strict=True)]
        return {"x": state.x - sum(sent) / self.workers, "e": kept}

    def lyapunov(self, state: State, problem: Oracle) -> Form:
        """Σ‖x − x* − e_i‖² + ‖Σ e_i‖²/(n√ε) (Thomsen, Taylor and Dieuleveut 2026)."""
        total: Vector = sum(state.e, problem.zero)
        found = total**2 / (self.workers * math.sqrt(self.epsilon))
        for e in state.e:
            found = found + (state.x - problem.minimiser - e) ** 2
        return found

    def closed_form(self, steps: int | None) -> float | None:
        """The rate of one worker: θ², θ² = (1 − √ε)(L − μ)/(L + μ) θ + √ε."""
        root = math.sqrt(self.epsilon)
        linear = (1 - root) * (self.smoothness - self.mu) / (self.smoothness + self.mu)
        return None if steps is not None else ((linear + math.sqrt(linear**2 + 4 * root)) / 2) ** 2
