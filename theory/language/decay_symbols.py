"""Letters of the statements on decayed error feedback and local steps.

`theory/language/symbols.py` collects them with all others: import them from there.
"""

import sympy

residual_decay = sympy.Symbol("residual_decay", nonnegative=True)
"""Decay β of the residual: u = βe + Δ; β = 1 forgets nothing, β = 0 keeps no memory."""
mean_residual = sympy.Symbol("mean_residual", real=True)
"""One coordinate of ē_t, the mean of the workers' residuals."""
mean_change = sympy.Symbol("mean_change", real=True)
"""One coordinate of Δ̄_t, the mean of what the workers' local steps change."""
forgotten_energy = sympy.Symbol("forgotten_energy", nonnegative=True)
"""E‖Σ_{t<T} h_t − Σ_{t<T} C(u_t) − e_T‖²: what T steps created, and neither sent nor kept."""
local_bias = sympy.Symbol("local_bias", nonnegative=True)
"""E‖E_t[Δ̄_t]/η − ∇f(x_t)‖²: how far the mean of local steps is from the gradient where they start."""
memory_weight = sympy.Symbol("memory_weight", positive=True)
"""Weight w of the residuals in a Lyapunov function, times the step size."""
resting_energy = sympy.Symbol("resting_energy", nonnegative=True)
"""‖∇f(x)‖² at a state that the algorithm does not leave."""
slope_share = sympy.Symbol("slope_share", positive=True)
"""Share λ of the largest slope that a coordinate can have and never be sent."""
spectral_factor = sympy.Symbol("spectral_factor", nonnegative=True)
"""inf over the step sizes η of sup_{f,C} limsup_T ‖x_T − x*‖^{2/T}: the worst-case rate, whatever is measured."""

LATEX_NAMES = {
    residual_decay: r"\beta",
    mean_residual: r"\bar{e}_t",
    mean_change: r"\bar{\Delta}_t",
    forgotten_energy: r"\mathbb{E}\,\lVert\sum_{t<T}(h_t-C(u_t))-e_T\rVert^{2}",
    local_bias: r"\mathbb{E}\,\lVert\mathbb{E}_t[\bar{\Delta}_t]/\eta-\nabla f(x_t)\rVert^{2}",
    memory_weight: "w",
    slope_share: r"\lambda",
    resting_energy: r"\lVert\nabla f(x)\rVert^{2}",
    spectral_factor: r"\inf_{\eta}\sup_{f,C}\limsup_T\lVert x_T-x^{*}\rVert^{2/T}",
}
