"""Which wrong statements about error feedback must the evidence notice? Errors that are easily made. Ours."""

import sympy

from sparsync.theory.language.symbols import (
    L,
    T,
    balance,
    compression,
    d,
    delta,
    dissimilarity,
    eta,
    k,
    kappa,
    mu,
    n,
    residual,
    residual_decay,
    sigma_squared,
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
        "rational",
    ),
    "ef_heterogeneous_convex_condition": wrong_bound(
        "ef_heterogeneous_convex",
        "the factor of the condition forgotten",
        lambda bound: bound * 4 * mu * L / (L + mu) ** 2,
    ),
    "server_feedback_sign": wrong_bound(
        "server_feedback",
        "+ e for − e",
        lambda bound: bound.subs(residual, -residual),
        "rational",
    ),
    "bidirectional_rate_half": wrong_bound(
        "bidirectional_rate", "the factor 2 forgotten", lambda bound: bound / 2, "smt", "rational", "property"
    ),
}
MUTANTS: dict[str, Mutant] = {**FEEDBACK, **STEADY_STATE, **DECAYED, **LIMITS}
"""Every mutant of these statements, by name."""
