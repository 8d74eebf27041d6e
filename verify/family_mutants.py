"""Which wrong statements about shapes, laws, selectors, feedback, rates and delay must the evidence notice?

The errors are those easily made: a tail counted on one side, k for a band around k, d + 1 for d, ε for δ, a sign, a
square forgotten, an index off by one. The grades named rest on computations apart from `theory/`, so that a wrong
formula with a wrong derivation would be noticed too. Ours.
"""

from typing import Any

import sympy

from sparsync.theory.quantiles import NormalQuantile, RegularisedGamma
from sparsync.theory.symbols import (
    L,
    balance,
    beta,
    compression,
    d,
    delta,
    epsilon,
    eta,
    k,
    kappa,
    layer_count,
    mean_shift,
    n,
    p,
    pass_count,
    selected_count,
    shape,
    staleness,
    start_level,
    tau,
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
    "small_dimension_failure_dimension": wrong_bound(
        "small_dimension_failure", "d + 1 for d", lambda bound: bound.subs(d, d + 1), "numeric"
    ),
}

LAWS: dict[str, Mutant] = {
    "gaussian_law_quantile": wrong_bound(
        "gaussian_law",
        "κ/2 at both ends counted twice in the quantile",
        lambda bound: bound.subs(NormalQuantile(kappa), NormalQuantile(kappa / 2)),
        "numeric",
    ),
    "laplace_law_half": wrong_bound(
        "laplace_law", "log² for log²/2", lambda bound: bound - kappa * sympy.log(kappa) ** 2 / 2, "numeric"
    ),
    "uniform_law_exponent": wrong_bound("uniform_law", "exponent 2 for 3", lambda _bound: (1 - kappa) ** 2, "numeric"),
    "weibull_law_moment": wrong_bound(
        "weibull_law",
        "the first moment for the second",
        lambda _bound: RegularisedGamma(1 + 1 / shape, -sympy.log(kappa)),
        "numeric",
    ),
    "gaussian_gain_lower_term": wrong_bound(
        "gaussian_gain_lower", "z² + 2, which is an upper bound", lambda bound: bound + kappa, "property"
    ),
    "gaussian_gain_upper_term": wrong_bound(
        "gaussian_gain_upper", "z² + 1, which is a lower bound", lambda bound: bound - kappa, "property"
    ),
}

SELECTORS: dict[str, Mutant] = {
    "threshold_selector_count": wrong_bound(
        "threshold_selector",
        "one more than is selected",
        lambda bound: bound.subs(selected_count, selected_count + 1),
        "property",
    ),
    "count_band_target": wrong_bound(
        "count_band", "k for the lower end of the band", lambda _bound: 1 - k / d, "property"
    ),
    "count_band_cubic_exponent": wrong_bound(
        "count_band_cubic", "exponent 4 for 3", lambda bound: bound * (1 - sympy.ceiling(2 * k / 3) / d), "property"
    ),
    "band_search_passes_last": wrong_bound(
        "band_search_passes", "one pass less", lambda bound: bound.subs(start_level, start_level + 1), "property"
    ),
    "released_reachable_start": wrong_bound(
        "released_reachable",
        "p − 1 for p + 1",
        lambda _bound: pass_count * (pass_count - 1) / 2,
        "property",
    ),
    "released_window_one_sided": wrong_bound(
        "released_window", "one-sided quantiles", lambda bound: bound.subs(kappa, kappa / 2), "ball"
    ),
    "mean_shift_failure_sign": wrong_bound(
        "mean_shift_failure", "the mean subtracted", lambda bound: bound.subs(mean_shift, -mean_shift), "numeric"
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

DELAY: dict[str, Mutant] = {
    "delayed_descent_limit_less": wrong_bound(
        "delayed_descent_limit",
        "2τ − 1 for 2τ + 1",
        lambda _bound: 2 * sympy.sin(sympy.pi / (2 * (2 * tau - 1))),
        "rational",
        "property",
    ),
    "delayed_descent_limit_more": wrong_bound(
        "delayed_descent_limit", "τ + 1 for τ", lambda bound: bound.subs(tau, tau + 1), "rational", "property"
    ),
    "delayed_momentum_limit_sign": wrong_bound(
        "delayed_momentum_limit",
        "1 + β for 1 − β",
        lambda bound: bound.subs((1 - beta) ** 2, (1 + beta) ** 2),
        "rational",
    ),
    "delayed_descent_rate_more": wrong_bound(
        "delayed_descent_rate", "τ + 1 for τ", lambda bound: bound.subs(tau, tau + 1), "rational", "property"
    ),
    "ssp_gap_strict": wrong_bound("ssp_gap", "s for s + 1", lambda _bound: staleness, "property"),
    "ssp_recursion_workers": wrong_bound(
        "ssp_recursion", "s for s + 1", lambda _bound: sympy.Min(n, staleness), "property"
    ),
    "ssp_throughput_fraction": wrong_bound(
        "ssp_throughput", "2s + 1 for 2s + 3", lambda _bound: (4 * staleness + 4) / (2 * staleness + 1), "rational"
    ),
}

MUTANTS: dict[str, Mutant] = {**SHAPES, **LAWS, **SELECTORS, **FEEDBACK, **STEADY_STATE, **TIGHT_RATES, **DELAY}
"""Every mutant of these statements, by name."""
