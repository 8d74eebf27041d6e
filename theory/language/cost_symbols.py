"""Letters of the statements on the cost of communication, memory and rounds.

`theory/language/symbols.py` collects them with all others: import them from there.
"""

import sympy

# Collectives.

# Farms.

# Hypersteps.

# Regular samples.

# Shares.

flat_time = sympy.Symbol("flat_time", nonnegative=True)
"""Time F = max_i (c_i + m_i x_i) that the slowest worker takes for next to nothing."""
logical_count = sympy.Symbol("logical_count", integer=True, positive=True)
"""Number E of logical workers of a job."""
overload = sympy.Symbol("overload", positive=True)
"""Overload f = max_i A_i/C_i of devices of type i that host A_i logical workers."""
total_capability = sympy.Symbol("total_capability", positive=True)
"""Σ_i N_i C_i, the steps of logical workers per unit of time that all devices could do."""
best_gain = sympy.Symbol("best_gain", real=True)
"""The largest sum of what jobs gain from their devices."""
averager_count = sympy.Symbol("averager_count", integer=True, positive=True)
"""Number m of the n peers that average; the others are clients."""
total_bandwidth = sympy.Symbol("total_bandwidth", positive=True)
"""Σ_i b_i over the peers that average, in vectors per unit of time."""
least_bandwidth = sympy.Symbol("least_bandwidth", positive=True)
"""The least b_i of the peers that average."""
largest_bandwidth = sympy.Symbol("largest_bandwidth", positive=True)
"""The largest b_i of the peers that average."""
gradient_share = sympy.Symbol("gradient_share", positive=True)
"""Part α of a whole vector that one gradient has as it travels."""
mean_share = sympy.Symbol("mean_share", positive=True)
"""Part β of a whole vector that the mean has as it travels."""
entry_cost = sympy.Symbol("entry_cost", positive=True)
"""Number e of values that cost as much as one entry with its index."""

parts_time = sympy.Symbol("parts_time", nonnegative=True)
"""Least time of the slowest worker over all splits of a batch in parts of examples."""
waste = sympy.Symbol("waste", nonnegative=True)
"""Σ_i N_i(C_i − A_i/f) + (Σ_i N_i A_i − E)/f, steps per unit of time that devices could have done."""
greedy_gain = sympy.Symbol("greedy_gain", real=True)
"""The sum of what jobs gain if each device goes where it gains most."""
butterfly_seconds = sympy.Symbol("butterfly_seconds", nonnegative=True)
"""Least time of the slowest peer of a butterfly all-reduce over all shares."""
whole_seconds = sympy.Symbol("whole_seconds", nonnegative=True)
"""Time of the slowest peer of a butterfly whose d values are shared by the rule of Hagenbach-Bischoff."""
scattered_seconds = sympy.Symbol("scattered_seconds", nonnegative=True)
"""Least time of the slowest peer of a butterfly of gradients that have little in common."""
exchange_factor = sympy.Symbol("exchange_factor", nonnegative=True)
"""Time of a butterfly of equal peers that send sparse gradients, over that of whole vectors."""

LATEX_NAMES: dict[sympy.Symbol, str] = {
    flat_time: "F",
    logical_count: "E",
    overload: "f",
    total_capability: r"\sum_iN_iC_i",
    best_gain: "G",
    averager_count: "m",
    total_bandwidth: r"b_{\Sigma}",
    least_bandwidth: r"b_{\min}",
    largest_bandwidth: r"b_{\max}",
    gradient_share: r"\alpha",
    mean_share: r"\beta",
    entry_cost: "e",
    parts_time: r"\text{time of parts of examples}",
    waste: r"\text{waste}",
    greedy_gain: r"\text{sum of the greedy division}",
    butterfly_seconds: r"\min_w\max_i\frac{1+(n-2)w_i}{b_i}",
    whole_seconds: r"\max_i\frac{d+(n-2)d_i}{b_i}",
    scattered_seconds: r"\min_w\max_it_i",
    exchange_factor: r"\frac{\text{time}}{\text{time of whole vectors}}",
}
"""How they print."""
