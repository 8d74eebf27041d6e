"""Error feedback whose memory is scaled down in every step."""

from sparsync.verify.worst_case_rates.problem import Oracle
from sparsync.verify.worst_case_rates.states import State
from sparsync.verify.worst_case_rates.vectors import Vector


class DecayedFeedback:
    """v = βe + η∇f(x), x⁺ = x − C(v), e⁺ = v − C(v)."""

    function_class = "smooth strongly convex"
    smoothness = 1.0
    mu = 0.1
    epsilon = 0.25
    step_size = 0.6
    decay = 0.9

    def fixed_point(self, problem: Oracle) -> dict[str, Vector]:
        """Nothing is left out once the gradient is zero."""
        return {"x": problem.minimiser, "e": problem.zero}

    def start(self, problem: Oracle) -> dict[str, Vector]:
        """Nothing was left out at first."""
        return {"x": problem.vector("x0"), "e": problem.zero}

    def step(self, state: State, problem: Oracle) -> dict[str, Vector]:
        """One step."""
        corrected = self.decay * state.e + self.step_size * problem.gradient(state.x)
        sent = problem.compress(corrected)
        return {"x": state.x - sent, "e": corrected - sent}
