"""Which wrong statements about laws must the evidence notice? `verify/ledger/mutants.py` collects them.

The errors are those easily made: a tail counted on one side, another moment, a term or a part forgotten. Ours.
"""

import sympy

from sparsync.theory.language.quantiles import NormalQuantile, RegularisedGamma
from sparsync.theory.language.symbols import chunk_size, j, k, kappa, mean, shape
from sparsync.verify.ledger.mutation import Mutant, wrong_bound

MUTANTS: dict[str, Mutant] = {
    "uniform_chunks_whole": wrong_bound(
        "uniform_chunks", "the law without chunks", lambda _bound: (1 - k / chunk_size) ** 3, "rational", "simulated"
    ),
    "laplace_chunks_logarithm": wrong_bound(
        "laplace_chunks",
        "the squares of the second sum forgotten",
        lambda bound: bound + k / (2 * chunk_size) * sympy.Sum(j**-2, (j, k + 1, chunk_size)),
        "rational",
        "simulated",
    ),
    "gaussian_chunks_count": wrong_bound(
        "gaussian_chunks", "k + 1 for k", lambda bound: bound.subs(k, k + 1), "numeric", "simulated"
    ),
    "chunk_first_order_half": wrong_bound(
        "chunk_first_order", "the variance for half of it", lambda bound: 2 * bound, "numeric", "property"
    ),
    "chunk_law_excess_share": wrong_bound(
        "chunk_law_excess",
        "one probability more: C(b, k) for k + 1",
        lambda bound: bound * (chunk_size - k) / (k + 1),
        "rational",
    ),
    "two_bit_laplace_shift": wrong_bound(
        "two_bit_laplace",
        "without the level that was selected above",
        lambda bound: bound * (sympy.log(kappa) ** 2 - 2 * sympy.log(kappa) + 2) / 2,
        "numeric",
        "simulated",
    ),
    "two_bit_uniform_mean": wrong_bound(
        "two_bit_uniform", "one level for two", lambda bound: 4 * bound, "numeric", "simulated"
    ),
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
    "laplace_gain_constant": wrong_bound(
        "laplace_gain", "the term 1 forgotten", lambda bound: bound - kappa / 2, "property"
    ),
    "uniform_gain_cubic": wrong_bound("uniform_gain", "κ³ forgotten", lambda bound: bound - kappa**3, "property"),
    "gamma_gain_upper_small_shape": wrong_bound(
        "gamma_gain_upper",
        "the formula of a ≥ 1 for all a",
        lambda bound: bound.subs(sympy.Max(0, 1 - shape), 0),
        "property",
    ),
    "weibull_light_gain_upper_constant": wrong_bound(
        "weibull_light_gain_upper", "the term 1 forgotten", lambda bound: bound - kappa, "property"
    ),
    "generalised_gaussian_gain_lower_term": wrong_bound(
        "generalised_gaussian_gain_lower", "2 for 1", lambda bound: bound + kappa, "property"
    ),
    "generalised_gaussian_light_gain_lower_term": wrong_bound(
        "generalised_gaussian_light_gain_lower", "1 for 0", lambda bound: bound + kappa, "property"
    ),
    "shifted_gaussian_gain_lower_mean": wrong_bound(
        "shifted_gaussian_gain_lower", "not divided by 1 + m²", lambda bound: bound * (1 + mean**2), "property"
    ),
    "spike_mixture_gain_upper_part": wrong_bound(
        "spike_mixture_gain_upper",
        "the narrower part for the wider",
        lambda bound: bound.replace(sympy.Max, sympy.Min),
        "property",
    ),
}
"""Every mutant of these statements, by name."""
