"""Letters of the statements on EF21, EControl, convex functions under error feedback, and momentum beside it.

`theory/language/symbols.py` collects them with all others: import them from there.
"""

import sympy

mean_smoothness = sympy.Symbol("mean_smoothness", positive=True)
"""L̃ ≥ L: (1/n) Σ_i ‖∇f_i(x) − ∇f_i(y)‖² ≤ L̃²‖x − y‖²."""
estimate_energy = sympy.Symbol("estimate_energy", nonnegative=True)
"""S: (1/n) Σ_i E‖∇f_i(x_0) − h_i‖² at the start, h_i the estimate that a worker keeps of its gradient."""
free_share = sympy.Symbol("free_share", positive=True)
"""r < 1: the share of the contraction that pays for the moves of x; free."""
averaging = sympy.Symbol("averaging", positive=True)
"""α: the weight of the newest gradient in a worker's average of its gradients."""
control = sympy.Symbol("control", positive=True)
"""α: the share of its residual that a worker adds to what it sends."""
start_distance = sympy.Symbol("start_distance", nonnegative=True)
"""‖x_0 − x*‖²."""
mean_excess = sympy.Symbol("mean_excess", nonnegative=True)
"""(1/T) Σ_{t<T} E f(x_t) − f*, which the excess of the average iterate does not exceed."""
weighted_excess = sympy.Symbol("weighted_excess", nonnegative=True)
"""Σ_t w_t (E f(x_t) − f*)/Σ_t w_t for weights w_t that grow geometrically."""
virtual_distance = sympy.Symbol("virtual_distance", nonnegative=True)
"""E‖x_T − e_T − x*‖² + E‖e_T‖²/√ε: how far the virtual iterate of error feedback is from the minimiser."""
lag_energy = sympy.Symbol("lag_energy", nonnegative=True)
"""E‖x_t − z_t‖²: how far the virtual iterate of error feedback with momentum is from the iterate."""

LATEX_NAMES = {
    mean_smoothness: r"\tilde{L}",
    estimate_energy: "S",
    free_share: "r",
    averaging: r"\alpha",
    control: r"\alpha",
    start_distance: r"\lVert x_0-x^{*}\rVert^{2}",
    mean_excess: r"\frac{1}{T}\sum_{t<T}\mathbb{E}\,f(x_t)-f^{*}",
    weighted_excess: r"\frac{\sum_t w_t(\mathbb{E}\,f(x_t)-f^{*})}{\sum_t w_t}",
    virtual_distance: r"\mathbb{E}\,\lVert x_T-e_T-x^{*}\rVert^{2}+\mathbb{E}\,\lVert e_T\rVert^{2}/\sqrt{\epsilon}",
    lag_energy: r"\mathbb{E}\,\lVert x_t-z_t\rVert^{2}",
}
"""See `theory/language/symbols.py`."""
