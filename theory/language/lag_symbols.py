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
}
"""How these symbols print in the paper."""
