"""Letters of the statements on the cost of communication, memory and rounds.

`theory/language/symbols.py` collects them with all others: import them from there.
"""

import sympy

# Collectives.
message_seconds = sympy.Symbol("message_seconds", nonnegative=True)
"""Time α of a message, whatever it holds; between nodes where there are nodes."""
byte_seconds = sympy.Symbol("byte_seconds", positive=True)
"""Time β of a byte that travels; between nodes where there are nodes."""
merge_seconds = sympy.Symbol("merge_seconds", nonnegative=True)
"""Time γ in which a worker adds a byte that it received to what it has."""
inner_message_seconds = sympy.Symbol("inner_message_seconds", nonnegative=True)
"""Time α₁ of a message between two workers of a node."""
inner_byte_seconds = sympy.Symbol("inner_byte_seconds", positive=True)
"""Time β₁ of a byte that travels between two workers of a node."""
doubling_count = sympy.Symbol("doubling_count", integer=True, nonnegative=True)
"""Number D = ⌈log₂ n⌉ of rounds in which one worker's word can reach n."""
node_workers = sympy.Symbol("node_workers", integer=True, positive=True)
"""Number m of workers of a node."""
node_count = sympy.Symbol("node_count", integer=True, positive=True)
"""Number g of nodes."""
node_union_size = sympy.Symbol("node_union_size", integer=True, nonnegative=True)
"""Number u of coordinates that some worker of a node selected, the same at every node."""
union_ratio = sympy.Symbol("union_ratio", positive=True)
"""Coordinates r ≥ 1 that some worker selected, for each of one worker's."""
node_union_ratio = sympy.Symbol("node_union_ratio", positive=True)
"""Coordinates r₁ ≥ 1 that some worker of a node selected, for each of one worker's."""

collective_seconds = sympy.Symbol("collective_seconds", nonnegative=True)
"""Time until the last worker has the result of a collective."""
crossover_density = sympy.Symbol("crossover_density", real=True)
"""Density κ* at which a sparse collective takes as long as a dense one."""
density_limit = sympy.Symbol("density_limit", nonnegative=True)
"""Limit of κ* for many workers."""
doublings_density_limit = sympy.Symbol("doublings_density_limit", nonnegative=True)
"""Limit of Dκ* for many workers."""
workers_density_limit = sympy.Symbol("workers_density_limit", nonnegative=True)
"""Limit of nκ* for many workers."""
workers_times_density = sympy.Symbol("workers_times_density", nonnegative=True)
"""nκ*."""
crossover_workers = sympy.Symbol("crossover_workers", positive=True)
"""Number n* of workers with which an all-gather of payloads takes as long as an all-reduce."""

# Farms.

# Hypersteps.

# Regular samples.

LATEX_NAMES: dict[sympy.Symbol, str] = {
    message_seconds: r"\alpha",
    byte_seconds: r"\beta",
    merge_seconds: r"\gamma",
    inner_message_seconds: r"\alpha_1",
    inner_byte_seconds: r"\beta_1",
    doubling_count: "D",
    node_workers: "m",
    node_count: "g",
    node_union_size: "u",
    union_ratio: "r",
    node_union_ratio: "r_1",
    collective_seconds: r"\text{seconds}",
    crossover_density: r"\kappa^{*}",
    density_limit: r"\lim_{n\to\infty}\kappa^{*}",
    doublings_density_limit: r"\lim_{n\to\infty}D\kappa^{*}",
    workers_density_limit: r"\lim_{n\to\infty}n\kappa^{*}",
    workers_times_density: r"n\kappa^{*}",
    crossover_workers: "n^{*}",
}
"""How they print."""
