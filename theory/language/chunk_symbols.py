"""Letters of the statements on chunk-wise selection and on values written in few bits.

`theory/language/symbols.py` collects them with all others: import them from there.
"""

import sympy

chunk_size = sympy.Symbol("chunk_size", integer=True, positive=True)
"""Number b of entries of a chunk."""
chunk_number = sympy.Symbol("chunk_number", integer=True, positive=True)
"""Number m of chunks of a vector."""
chunk_excess = sympy.Symbol("chunk_excess", nonnegative=True)
"""Relative error of Top-k in each chunk, minus that of Top-mk in the whole vector."""
mean_chunk_excess = sympy.Symbol("mean_chunk_excess", nonnegative=True)
"""The same, averaged over all assignments of the entries to chunks."""
chunk_law_ratio = sympy.Symbol("chunk_law_ratio", nonnegative=True)
"""ε_b: the relative error of Top-k in chunks of b independent entries of a law, as the number of chunks grows."""
law_excess = sympy.Symbol("law_excess", nonnegative=True)
"""ε_b − ε(k/b): the same, minus the relative error of the law at that density."""
excess_slope = sympy.Symbol("excess_slope", nonnegative=True)
"""lim b(ε_b − ε(k/b)) at a fixed density k/b."""
density_at_level = sympy.Symbol("density_at_level", positive=True)
"""Density f(z) of the magnitudes of a law at the level z that Top-k keeps."""
kept_level = sympy.Symbol("kept_level", positive=True)
"""Level z that a magnitude exceeds with probability κ."""
selected_ratio = sympy.Symbol("selected_ratio", nonnegative=True)
"""Share r of the energy that a selection leaves behind at most."""
value_error = sympy.Symbol("value_error", nonnegative=True)
"""q, where writing the selected values v loses at most q‖v‖²."""
value_count = sympy.Symbol("value_count", integer=True, positive=True)
"""Number n of values that share a scale or two levels."""
lost_share = sympy.Symbol("lost_share", nonnegative=True)
"""‖v − Q(v)‖²/‖v‖² of the values v of one block."""

LATEX_NAMES = {
    chunk_size: "b",
    chunk_number: "m",
    chunk_excess: r"\rho(\text{Top-}k\text{ in each chunk})-\rho(\text{Top-}mk)",
    mean_chunk_excess: r"\mathbb{E}\,[\rho(\text{Top-}k\text{ in each chunk})-\rho(\text{Top-}mk)]",
    chunk_law_ratio: r"\epsilon_{b}",
    law_excess: r"\epsilon_{b}-\epsilon",
    excess_slope: r"\lim_{b\to\infty}b(\epsilon_{b}-\epsilon)",
    density_at_level: "f(z)",
    kept_level: "z",
    selected_ratio: "r",
    value_error: "q",
    value_count: "n",
    lost_share: r"\frac{\lVert v-Q(v)\rVert^{2}}{\lVert v\rVert^{2}}",
}
