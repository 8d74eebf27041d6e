"""Letters of the statements on the cost of communication, memory and rounds.

`theory/language/symbols.py` collects them with all others: import them from there.
"""

import sympy

# Collectives.

# Farms.

# Hypersteps.

# Regular samples.

# Densities and switches.
greedy_energy = sympy.Symbol("greedy_energy", nonnegative=True)
"""Σ_l E_l(k_l) of the counts that are raised one by one, E_l(k) the sum of the k largest squares of layer l."""
largest_energy = sympy.Symbol("largest_energy", nonnegative=True)
"""The largest Σ_l E_l(k_l) of all counts that keep within every capacity."""
captured_energy = sympy.Symbol("captured_energy", nonnegative=True)
"""Σ_l E_l(k_l) of any counts."""
priced_capacity = sympy.Symbol("priced_capacity", nonnegative=True)
"""Σ_b p_b C_b: a price p_b ≥ 0 for each entry of capacity C_b."""
squares_above = sympy.Symbol("squares_above", nonnegative=True)
"""Σ_{l,i} (v_{l,i} − λ_l)_+: by how much the squares of layer l exceed λ_l, the sum of the prices that it pays."""
entry_gain = sympy.Symbol("entry_gain", positive=True)
"""c, to which δ/κ tends as κ → 0."""
fixed_seconds = sympy.Symbol("fixed_seconds", positive=True)
"""a: seconds of a step besides those in which entries travel."""
dense_seconds = sympy.Symbol("dense_seconds", positive=True)
"""b: seconds that a sparse all-gather of all d entries would take beyond a."""
whole_steps = sympy.Symbol("whole_steps", positive=True)
"""N: steps to the tolerance where every entry is sent."""
run_seconds = sympy.Symbol("run_seconds", positive=True)
"""Seconds to the tolerance."""
least_run_seconds = sympy.Symbol("least_run_seconds", positive=True)
"""The least seconds to the tolerance, over all densities."""
sparse_crossover = sympy.Symbol("sparse_crossover", positive=True)
"""The b/a at which the best density takes as long as the ring that sends every entry."""
synchronous_seconds = sympy.Symbol("synchronous_seconds", positive=True)
"""s: seconds of n reports that wait for each other."""
asynchronous_seconds = sympy.Symbol("asynchronous_seconds", positive=True)
"""r: seconds of n reports that wait for nobody."""
later_updates = sympy.Symbol("later_updates", integer=True, nonnegative=True)
"""h: updates of n reports from the switch on."""
restart_seconds = sympy.Symbol("restart_seconds", nonnegative=True)
"""o: seconds of the switch itself."""
saved_seconds = sympy.Symbol("saved_seconds", real=True)
"""Seconds of a run that never switches less those of one that does."""

LATEX_NAMES: dict[sympy.Symbol, str] = {
    greedy_energy: r"\sum_lE_l(k_l^{\mathrm{greedy}})",
    largest_energy: r"\max_k\sum_lE_l(k_l)",
    captured_energy: r"\sum_lE_l(k_l)",
    priced_capacity: r"\sum_bp_bC_b",
    squares_above: r"\sum_{l,i}(v_{l,i}-\lambda_l)_{+}",
    entry_gain: "c",
    fixed_seconds: "a",
    dense_seconds: "b",
    whole_steps: "N",
    run_seconds: r"\text{seconds}",
    least_run_seconds: r"\min_{\kappa}\text{seconds}",
    sparse_crossover: r"(\frac{b}{a})^{*}",
    synchronous_seconds: "s",
    asynchronous_seconds: "r",
    later_updates: "h",
    restart_seconds: "o",
    saved_seconds: r"\text{seconds saved}",
}
"""How they print."""
