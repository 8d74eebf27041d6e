"""Letters of the statements on the cost of communication, memory and rounds.

`theory/language/symbols.py` collects them with all others: import them from there.
"""

import sympy

# Collectives.

# Farms.

# Hypersteps.

# Regular samples.

# Sharding.
message_seconds = sympy.Symbol("message_seconds", nonnegative=True)
"""Time α of a message, whatever it holds; between nodes where there are nodes."""
byte_seconds = sympy.Symbol("byte_seconds", positive=True)
"""Time β of a byte that travels; between nodes where there are nodes."""
state_bytes = sympy.Symbol("state_bytes", positive=True)
"""Bytes c of a parameter, its gradient and what the optimiser keeps of it."""
sample_bytes = sympy.Symbol("sample_bytes", positive=True)
"""Bytes a that a sample leaves for the backward pass."""
sample_seconds = sympy.Symbol("sample_seconds", positive=True)
"""Seconds t that a device computes on a sample."""
memory_bytes = sympy.Symbol("memory_bytes", positive=True)
"""Bytes M of a device."""
least_state_bytes = sympy.Symbol("least_state_bytes", nonnegative=True)
"""Bytes S of states that a device keeps at least."""
least_exchange_seconds = sympy.Symbol("least_exchange_seconds", nonnegative=True)
"""Seconds T of communication that a step takes at least."""

sharding_ratio = sympy.Symbol("sharding_ratio", positive=True)
"""Seconds of communication of a sharded operator, to those of a replicated one."""
replica_density = sympy.Symbol("replica_density", positive=True)
"""Density κ* at which a replicated operator takes as long as a sharded one."""
replica_price = sympy.Symbol("replica_price", positive=True)
"""Seconds that replicating an operator saves, to the bytes that it takes more."""
split_choices = sympy.Symbol("split_choices", integer=True, nonnegative=True)
"""Number of choices that are taken neither whole nor not at all."""
relaxation_excess = sympy.Symbol("relaxation_excess", nonnegative=True)
"""Seconds of the best whole choice, less those of the relaxation."""
sample_throughput = sympy.Symbol("sample_throughput", nonnegative=True)
"""Samples per second of all devices."""

LATEX_NAMES: dict[sympy.Symbol, str] = {
    message_seconds: r"\alpha",
    byte_seconds: r"\beta",
    state_bytes: "c",
    sample_bytes: "a",
    sample_seconds: "t",
    memory_bytes: "M",
    least_state_bytes: "S",
    least_exchange_seconds: "T",
    sharding_ratio: r"\frac{\text{seconds sharded}}{\text{seconds replicated}}",
    replica_density: r"\kappa^{*}",
    replica_price: r"\frac{\text{seconds saved}}{\text{bytes more}}",
    split_choices: r"\text{divided choices}",
    relaxation_excess: r"\text{seconds}-\text{seconds relaxed}",
    sample_throughput: r"\text{samples per second}",
}
"""How they print."""
