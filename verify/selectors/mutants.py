"""Which wrong statements about selectors must the evidence notice? `verify/ledger/mutants.py` collects them.

The errors are those easily made: k for a band around k, one pass or entry too few, another standard deviation. Ours.
"""

import sympy

from sparsync.theory.language.quantiles import NormalQuantile
from sparsync.theory.language.symbols import (
    d,
    fall_count,
    fall_power,
    k,
    kappa,
    mean_shift,
    pass_count,
    rise_count,
    rise_power,
    selected_count,
    start_level,
)
from sparsync.verify.ledger.mutation import Mutant, wrong_bound

MUTANTS: dict[str, Mutant] = {
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
    "count_band_square_exponent": wrong_bound(
        "count_band_square",
        "exponent 3 for 2",
        lambda bound: bound * (1 - sympy.ceiling(2 * k / 3) / d),
        "smt",
        "property",
    ),
    "released_worst_passes_larger": wrong_bound(
        "released_worst_passes",
        "the larger of the two numbers for their sum",
        lambda _bound: sympy.Max(rise_count, fall_count),
        "rational",
        "property",
    ),
    "released_worst_passes_powers": wrong_bound(
        "released_worst_passes",
        "powers of three for powers of two",
        lambda _bound: rise_power + fall_power,
        "smt",
        "rational",
        "property",
    ),
    "released_passes_less": wrong_bound(
        "released_passes", "one pass less", lambda bound: bound - 1, "smt", "rational", "property"
    ),
    "released_uniform_deviation": wrong_bound(
        "released_uniform",
        "standard deviation a/2 for a/√3",
        lambda _bound: sympy.Max(0, 1 - NormalQuantile(kappa) * sympy.Rational(3, 8)),
        "ball",
        "simulated",
    ),
    "released_window_narrow_log": wrong_bound(
        "released_window_narrow",
        "ln 2 for 2 ln 2",
        lambda bound: bound.subs(sympy.log(2), sympy.log(2) / 2),
        "ball",
        "property",
    ),
    "mean_shift_failure_once": wrong_bound(
        "mean_shift_failure",
        "the mean once for twice",
        lambda bound: bound.subs(mean_shift, mean_shift / 2),
        "ball",
        "numeric",
        "simulated",
    ),
}
"""Every mutant of these statements, by name."""
