"""Which wrong statements about error feedback must the evidence notice? Errors that are easily made. Ours."""

import sympy

from sparsync.theory.language.symbols import (
    L,
    T,
    balance,
    beta,
    compression,
    d,
    delta,
    dissimilarity,
    eta,
    gap,
    k,
    kappa,
    mu,
    n,
    residual,
    residual_decay,
    residual_weight,
    sending_period,
    sigma_squared,
    start_distance,
    total_aligned,
    up_probability,
    variance,
)
from sparsync.verify.ledger.mutation import Mutant, wrong_bound

FEEDBACK: dict[str, Mutant] = {
    "virtual_iterate_sign": wrong_bound(
        "virtual_iterate", "+ η for − η", lambda bound: bound.subs(eta, -eta), "property"
    ),
    "residual_minkowski_sign": wrong_bound(
        "residual_minkowski",
        "1 + √ε for 1 − √ε",
        lambda bound: bound * (1 - sympy.sqrt(1 - delta)) ** 2 / (1 + sympy.sqrt(1 - delta)) ** 2,
        "property",
    ),
    "mean_of_local_top_k_square": wrong_bound(
        "mean_of_local_top_k", "norms for their squares", lambda _bound: balance / (1 - balance), "rational", "property"
    ),
    "nonconvex_rate_half": wrong_bound(
        "nonconvex_rate",
        "2 for 4 in the residual's term",
        lambda bound: bound - 2 * (1 - delta) * (eta * L / delta) ** 2 * sigma_squared,
        "smt",
        "property",
    ),
    "nonconvex_rate_lyapunov_cost": wrong_bound(
        "nonconvex_rate_lyapunov",
        "half of (1 − δ)/δ",
        lambda bound: bound.subs(delta, 2 * delta / (1 + delta)),
        "smt",
        "numeric",
        "property",
    ),
    "descent_of_workers_noise": wrong_bound(
        "descent_of_workers",
        "σ²/n² for σ²/n",
        lambda bound: bound.subs(n, n**2),
        "smt",
    ),
    "stationary_gradient_half": wrong_bound(
        "stationary_gradient", "the factor 1/2 forgotten", lambda bound: 2 * bound, "numeric", "property"
    ),
    "complexity_cubic_exponent": wrong_bound(
        "complexity_cubic", "δ for δ²", lambda bound: sympy.sqrt(bound), "rational"
    ),
    "complexity_square_half": wrong_bound(
        "complexity_square",
        "2c + 1 for 2c − 1",
        lambda _bound: compression**4 / (2 * compression + 1) ** 2,
        "rational",
    ),
    "crossover_square": wrong_bound("crossover", "the smoothness not squared", lambda bound: bound / L, "property"),
}
STEADY_STATE: dict[str, Mutant] = {
    "steady_drift_equal_rates": wrong_bound(
        "steady_drift",
        "the value for equal rates as a bound for all",
        lambda _bound: (1 - kappa) * (2 - kappa) / ((1 + kappa) * (2 + kappa)),
        "property",
    ),
    "steady_drift_equal_dimension": wrong_bound(
        "steady_drift_equal", "d + 1 for d", lambda bound: bound.subs(d, d + 1), "property"
    ),
    "steady_noise_sum": wrong_bound(
        "steady_noise", "6κ for 5κ", lambda _bound: (1 - kappa) / (1 + 6 * kappa), "property", "simulated"
    ),
}

DECAYED: dict[str, Mutant] = {
    "decayed_residual_square": wrong_bound(
        "decayed_residual", "β² for β", lambda bound: bound.subs(residual_decay, residual_decay**2), "smt", "property"
    ),
    "decayed_virtual_iterate_share": wrong_bound(
        "decayed_virtual_iterate",
        "β for 1 − β",
        lambda bound: bound.subs(residual_decay, 1 - residual_decay),
        "smt",
        "property",
    ),
    "forgotten_mass_undecayed": wrong_bound(
        "forgotten_mass", "nothing is forgotten", lambda bound: bound.subs(residual_decay, 1), "rational", "property"
    ),
    "decayed_drift_equal_cycle": wrong_bound(
        "decayed_drift_equal", "d + 1 for d", lambda bound: bound.subs(d, d + 1), "rational", "property"
    ),
    "local_feedback_rate_without_floor": wrong_bound(
        "local_feedback_rate",
        "the rate of β = 1 for every β and small steps",
        lambda bound: bound.subs(residual_decay, 1),
        "smt",
        "property",
        "simulated",
    ),
    "decayed_descent_of_workers_spread": wrong_bound(
        "decayed_descent_of_workers", "ζ² forgotten", lambda bound: bound.subs(dissimilarity, 0), "smt", "property"
    ),
    "decayed_floor_square": wrong_bound(
        "decayed_floor", "1 − β for its square", lambda bound: bound / (1 - residual_decay), "smt", "property"
    ),
    "decayed_top_k_floor_share": wrong_bound(
        "decayed_top_k_floor", "(d − k)/d for (d − k)/k", lambda bound: bound * k / d, "smt", "property"
    ),
}

LIMITS: dict[str, Mutant] = {
    "erased_distance_rounds": wrong_bound(
        "erased_distance", "T − 1 for T messages", lambda bound: bound.subs(T, T - 1), "smt", "rational", "property"
    ),
    "erased_gradient_rounds": wrong_bound(
        "erased_gradient", "T for T − 1 messages", lambda bound: bound.subs(T, T + 1), "rational"
    ),
    "noisy_gradient_workers": wrong_bound(
        "noisy_gradient", "one worker for n", lambda bound: bound.subs(n, 1), "smt", "rational", "property"
    ),
    "ef_heterogeneous_worst_norms": wrong_bound(
        "ef_heterogeneous_worst",
        "norms added where squares are",
        lambda _bound: eta**2 * dissimilarity * (1 - delta) / (1 - sympy.sqrt(1 - delta)) ** 2,
        "smt",
        "rational",
        "property",
        "simulated",
    ),
    "ef_heterogeneous_convex_condition": wrong_bound(
        "ef_heterogeneous_convex",
        "the factor of the condition forgotten",
        lambda bound: bound * 4 * mu * L / (L + mu) ** 2,
        "smt",
        "property",
    ),
    "server_feedback_sign": wrong_bound(
        "server_feedback",
        "+ e for − e",
        lambda bound: bound.subs(residual, -residual),
        "smt",
        "rational",
        "property",
    ),
    "bidirectional_rate_half": wrong_bound(
        "bidirectional_rate", "the factor 2 forgotten", lambda bound: bound / 2, "smt", "rational", "property"
    ),
}


def _squares(bound: sympy.Expr) -> sympy.Expr:
    """The bound on the lag where the residual and the momentum add up as if they were orthogonal."""
    return bound.subs(beta, 0) / (1 - beta) ** 2 + bound.subs(delta, 1)


STOCHASTIC: dict[str, Mutant] = {
    "ef21_rate_workers": wrong_bound(
        "ef21_rate",
        "noise as if it fell with the step size",
        lambda bound: bound.subs(variance, eta * L * variance),
        "property",
        "simulated",
    ),
    "ef21_floor_minkowski": wrong_bound(
        "ef21_floor",
        "the bias as large as if the noise lay against all of it",
        lambda _bound: variance * (1 - delta) / (1 - sympy.sqrt(1 - delta)) ** 2,
        "simulated",
    ),
    "ef21_momentum_rate_speed_up": wrong_bound(
        "ef21_momentum_rate", "n² for n", lambda bound: bound.subs(n, n**2), "smt"
    ),
    "econtrol_rate_speed_up": wrong_bound("econtrol_rate", "n² for n", lambda bound: bound.subs(n, n**2), "smt"),
    "convex_feedback_rate_weight": wrong_bound(
        "convex_feedback_rate",
        "the residual's share of the noise forgotten",
        lambda bound: bound.subs(variance, variance / (1 + residual_weight)),
        "smt",
        "property",
        "simulated",
    ),
    "strongly_convex_feedback_rate_start": wrong_bound(
        "strongly_convex_feedback_rate", "2μ for μ", lambda bound: bound.subs(mu, 2 * mu), "smt"
    ),
    "feedback_at_tight_rate_noise": wrong_bound(
        "feedback_at_tight_rate",
        "the noise of one step only",
        lambda bound: bound.subs(T, 1).subs(start_distance, 0) + bound.subs(variance, 0),
        "property",
        "simulated",
    ),
    "momentum_residual_after": wrong_bound(
        "momentum_residual",
        "momentum after aggregation for momentum before",
        lambda bound: (1 - beta) ** 2 * bound,
        "smt",
        "property",
        "simulated",
    ),
    "momentum_lag_sum": wrong_bound(
        "momentum_lag", "squares added up and not norms", _squares, "smt", "property", "simulated"
    ),
    "momentum_rate_after_reach": wrong_bound(
        "momentum_rate_after",
        "(1 − γ)² for 1 − γ at the start",
        lambda bound: bound.subs(gap, (1 - beta) * gap),
        "smt",
    ),
    "momentum_after_path_before": wrong_bound(
        "momentum_after_path", "η for η/(1 − γ)", lambda bound: bound.subs(eta, eta * (1 - beta)), "smt", "property"
    ),
}

LAG: dict[str, Mutant] = {
    "feedback_energy_once": wrong_bound(
        "feedback_energy",
        "⟨e, g⟩ once",
        lambda bound: bound - total_aligned,
        "rational",
        "property",
    ),
    "energy_lag_whole": wrong_bound(
        "energy_lag", "1 for 1/2", lambda bound: 2 * bound, "rational", "property", "simulated"
    ),
    "coordinate_lag_continuous": wrong_bound(
        "coordinate_lag",
        "the energy of a step forgotten",
        lambda bound: bound + 1 / (2 * (2 * up_probability - 1) ** 2),
        "rational",
        "property",
    ),
    "lag_most_sixth": wrong_bound("lag_most", "1/6 for 1/2", lambda bound: bound / 3, "rational", "property"),
    "lag_least_half": wrong_bound("lag_least", "1/2 for 1/6", lambda bound: 3 * bound, "rational", "property"),
    "persistent_lag_least_step": wrong_bound(
        "persistent_lag_least",
        "the half step forgotten",
        lambda bound: bound + sympy.Rational(1, 2),
        "rational",
        "property",
    ),
    "persistent_lag_threshold_step": wrong_bound(
        "persistent_lag_threshold",
        "half a step too little",
        lambda bound: bound - sympy.Rational(1, 2),
        "rational",
        "property",
    ),
    "round_robin_limit_first": wrong_bound(
        "round_robin_limit",
        "the condition det < 1 forgotten",
        lambda _bound: (
            (1 - beta)
            / (sending_period / 2 - beta * (1 - beta**sending_period) / (1 - beta) / (1 + beta**sending_period))
        ),
        "rational",
        "property",
    ),
    "round_robin_rate_once": wrong_bound(
        "round_robin_rate",
        "as without momentum",
        lambda bound: (1 + bound) / 2,
        "rational",
        "property",
    ),
    "round_robin_reach_sum": wrong_bound(
        "round_robin_reach", "the larger of 4 and 2 for their sum", lambda bound: bound * 2 / 3, "smt"
    ),
}

MUTANTS: dict[str, Mutant] = {**FEEDBACK, **STEADY_STATE, **DECAYED, **LIMITS, **STOCHASTIC, **LAG}
"""Every mutant of these statements, by name."""
