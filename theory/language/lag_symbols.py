"""Letters of the statements on the lag of error feedback: by how many steps what has arrived trails what was found.

`theory/language/symbols.py` collects them with all others: import them from there.
"""

import sympy

total_sent = sympy.Symbol("total_sent", nonnegative=True)
"""Σ_{t<T} ‖C(u_t)‖²: energy that T steps sent."""
total_created = sympy.Symbol("total_created", nonnegative=True)
"""Σ_{t<T} ‖g_t‖²: energy that T steps created."""
total_aligned = sympy.Symbol("total_aligned", real=True)
"""Σ_{t<T} ⟨e_t, g_t⟩."""
first_energy = sympy.Symbol("first_energy", nonnegative=True)
"""‖e_0‖²."""
last_energy = sympy.Symbol("last_energy", nonnegative=True)
"""‖e_T‖²."""

lag = sympy.Symbol("lag", nonnegative=True)
"""Λ = ⟨m, mean e⟩/‖m‖²: steps by which what has arrived of a persistent gradient m trails what was found of it."""
sent_energy = sympy.Symbol("sent_energy", nonnegative=True)
"""E‖C(u)‖², energy sent per step."""
created_energy = sympy.Symbol("created_energy", nonnegative=True)
"""E‖g‖², energy created per step."""
persistent_energy = sympy.Symbol("persistent_energy", positive=True)
"""‖m‖² of the persistent part m = E g."""

level_count = sympy.Symbol("level_count", integer=True, positive=True)
"""Number N of increments from zero to the threshold."""
up_probability = sympy.Symbol("up_probability", positive=True)
"""Chance p of an increment in the direction of the drift."""
send_rate = sympy.Symbol("send_rate", positive=True)
"""Sends r per step of one coordinate, at most 1."""
flatness = sympy.Symbol("flatness", positive=True)
"""φ = ‖m‖₁²/(d‖m‖²), at most 1: 1 where all entries have one magnitude, 1/d where one entry is all."""

sending_period = sympy.Symbol("sending_period", integer=True, positive=True)
"""Number N of steps in which every coordinate is sent once."""
effective_step = sympy.Symbol("effective_step", positive=True)
"""h = ηλ/(1 − γ): by which share of a curvature's distance a gradient moves the model in the end."""
effective_limit = sympy.Symbol("effective_limit", positive=True)
"""The supremum of the stable h."""
period_radius = sympy.Symbol("period_radius", nonnegative=True)
"""Spectral radius ρ of what a period does to one curvature."""
worst_radius = sympy.Symbol("worst_radius", nonnegative=True)
"""The largest ρ of the curvatures of a quadratic."""

LATEX_NAMES = {
    total_sent: r"\sum_{t<T}\lVert C(u_t)\rVert^{2}",
    total_created: r"\sum_{t<T}\lVert g_t\rVert^{2}",
    total_aligned: r"\sum_{t<T}\langle e_t,g_t\rangle",
    first_energy: r"\lVert e_0\rVert^{2}",
    last_energy: r"\lVert e_T\rVert^{2}",
    lag: r"\Lambda",
    sent_energy: r"\mathbb{E}\,\lVert C(u)\rVert^{2}",
    created_energy: r"\mathbb{E}\,\lVert g\rVert^{2}",
    persistent_energy: r"\lVert m\rVert^{2}",
    level_count: "N",
    up_probability: "p",
    send_rate: "r",
    flatness: r"\varphi",
    sending_period: "N",
    effective_step: "h",
    effective_limit: r"\sup\{\frac{\eta\lambda}{1-\gamma} : x_t\to 0\text{ from every start}\}",
    period_radius: r"\rho",
    worst_radius: r"\rho_{\max}",
}
"""How these symbols print in the paper."""
