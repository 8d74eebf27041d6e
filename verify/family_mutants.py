"""Which wrong statements about shapes, samples, feedback and rates must the evidence notice?

The errors are those easily made: a tail counted on one side, k for a band around k, d + 1 for d, ε for δ, a sign, a
square forgotten, an index off by one. The grades named rest on computations apart from `theory/`, so that a wrong
formula with a wrong derivation would be noticed too. Ours.
"""

from typing import Any

import sympy

from sparsync.theory.symbols import (
    L,
    balance,
    compression,
    d,
    delta,
    energy,
    epsilon,
    eta,
    kappa,
    layer_count,
    layer_size,
    mu,
    n,
    p,
    sigma_squared,
    tail_area,
)
from sparsync.verify import rate_checks
from sparsync.verify.mutation import Mutant, wrong_bound
from sparsync.verify.rate_certificates import rate_certificates

SHAPES: dict[str, Mutant] = {
    "exponent_doubled": wrong_bound(
        "exponent", "4/p for 2/p: the squares squared once more", lambda bound: bound.subs(p, p / 2), "property"
    ),
    "exponent_discrete_count": wrong_bound(
        "exponent_discrete", "the exponent 4/p for 2/p", lambda bound: bound.subs(p, p / 2), "rational", "property"
    ),
    "lorenz_cell": wrong_bound("lorenz", "the term 1/d forgotten", lambda bound: bound + 1 / d, "property"),
    "ties_squared": wrong_bound("ties", "the square of the quotient", lambda bound: bound**2, "smt", "property"),
    "layer_wise_count": wrong_bound(
        "layer_wise",
        "one layer more",
        lambda bound: bound.subs(layer_count, layer_count + 1),
        "rational",
        "property",
    ),
    "layer_wise_layer": wrong_bound(
        "layer_wise",
        "the largest layer's size for the smaller of it and k",
        lambda _bound: 1 - layer_count / layer_size,
        "rational",
    ),
    "law_distance_both": wrong_bound(
        "law_distance",
        "the area added to the energy",
        lambda _bound: tail_area / (energy + tail_area),
        "smt",
        "property",
    ),
    "sample_ratio_one_sided": wrong_bound("sample_ratio", "one side only", lambda bound: bound / 2, "property"),
    "gaussian_sample_ratio_dimension": wrong_bound(
        "gaussian_sample_ratio",
        "divided by √d once more",
        lambda bound: bound / sympy.sqrt(d),
        "ball",
        "property",
        "simulated",
    ),
    "small_dimension_failure_dimension": wrong_bound(
        "small_dimension_failure", "d + 1 for d", lambda bound: bound.subs(d, d + 1), "numeric"
    ),
}

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


def _negated(record: dict[str, Any]) -> dict[str, Any]:
    """The certificate with the other sign at the compressor's multiplier."""
    wrong = f"-{record['multipliers']['compressor']}"
    return {**record, "multipliers": {**record["multipliers"], "compressor": wrong}}


TIGHT_RATES: dict[str, Mutant] = {
    "ef_tight_rate_root": wrong_bound("ef_tight_rate", "θ for θ²", sympy.sqrt, "rational"),
    "ef21_tight_rate_square": wrong_bound(
        "ef21_tight_rate", "θ⁴ for θ²", lambda bound: bound**2, "rational", "property"
    ),
    "ef_tight_rate_multiplier_sign": Mutant(
        "ef_tight_rate",
        "−ν for ν, the multiplier of the compressor",
        lambda: ((rate_checks.__dict__, "rate_certificates", lambda: list(map(_negated, rate_certificates()))),),
        ("rational",),
    ),
    "ef_heterogeneous_distance_square": wrong_bound(
        "ef_heterogeneous_distance", "η for η²", lambda bound: bound / eta, "smt", "rational", "property"
    ),
    "ef_small_delta_smoothness": wrong_bound(
        "ef_small_delta", "L for L + μ", lambda bound: bound * L / (L + mu), "smt", "property"
    ),
    "ef_tight_step_sign": wrong_bound(
        "ef_tight_step",
        "1 + s for 1 − s",
        lambda bound: bound * (1 + sympy.sqrt(epsilon)) / (1 - sympy.sqrt(epsilon)),
        "property",
    ),
    "compressed_descent_rate_sign": wrong_bound(
        "compressed_descent_rate",
        "1 − s and 1 + s exchanged",
        lambda bound: bound.subs(sympy.sqrt(epsilon), -sympy.sqrt(epsilon)),
        "rational",
        "property",
    ),
}

MUTANTS: dict[str, Mutant] = {**SHAPES, **FEEDBACK, **STEADY_STATE, **TIGHT_RATES}
"""Every mutant of these statements, by name."""
