"""Letters of the statements on lower bounds, heterogeneous workers, compression both ways, and gossip.

`theory/language/symbols.py` collects them with all others: import them from there.
"""

import sympy

chain_length = sympy.Symbol("chain_length", integer=True, positive=True)
"""Number N of links of a chain: coordinates that a gradient shows one after the other."""
distance_share = sympy.Symbol("distance_share", nonnegative=True)
"""E‖x_T − x*‖²/‖x_0 − x*‖²."""
mean_distance = sympy.Symbol("mean_distance", nonnegative=True)
"""sup lim sup (1/T) Σ_{t<T} ‖x_t − x*‖² over functions, compressors and starts of a class."""
spectral_gap = sympy.Symbol("spectral_gap", positive=True)
"""ρ: the smallest eigenvalue of I − W on vectors of mean zero, for the weights W with which workers mix."""
widest_gap = sympy.Symbol("widest_gap", positive=True)
"""β: the largest eigenvalue of I − W, at most 2."""
best_mixing = sympy.Symbol("best_mixing", positive=True)
"""The mixing strength γ with the smallest worst-case rate."""
server_model = sympy.Symbol("server_model", real=True)
"""One coordinate of the model w_t that workers know."""
known_model = sympy.Symbol("known_model", real=True)
"""One coordinate of the x_t of error feedback."""
residual = sympy.Symbol("residual", real=True)
"""One coordinate of the e_t of error feedback."""
exact_model = sympy.Symbol("exact_model", real=True)
"""One coordinate of the model that only the server knows."""
delta_up = sympy.Symbol("delta_up", positive=True)
"""Contraction factor δ of the compressors of the workers."""
delta_down = sympy.Symbol("delta_down", positive=True)
"""Contraction factor δ of the compressor of the server."""
server_energy = sympy.Symbol("server_energy", nonnegative=True)
"""min_{t<T} ‖∇f(x_t)‖² at the model x_t of the server."""

LATEX_NAMES = {
    chain_length: "N",
    distance_share: r"\frac{\mathbb{E}\,\lVert x_T-x^{*}\rVert^{2}}{\lVert x_0-x^{*}\rVert^{2}}",
    mean_distance: r"\sup\limsup_{T\to\infty}\frac{1}{T}\sum_{t<T}\lVert x_t-x^{*}\rVert^{2}",
    spectral_gap: r"\rho",
    widest_gap: r"\beta",
    best_mixing: r"\gamma^{*}",
    server_model: "w_t",
    known_model: "x_t",
    residual: "e_t",
    exact_model: r"\tilde{x}_t",
    delta_up: r"\delta_{\uparrow}",
    delta_down: r"\delta_{\downarrow}",
    server_energy: r"\min_{t<T}\lVert\nabla f(x_t)\rVert^{2}",
}
"""How these symbols print in the paper."""
