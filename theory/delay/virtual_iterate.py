"""What does a delay never change? The virtual iterate, whatever is late or kept back.

A gradient that is late, or kept back by a compressor, is not lost: the virtual iterate counts it when it is taken. How
late it may be is decided in `theory/delay/stability.py` and `theory/delay/delayed_rate.py` (a fixed delay), in
`theory/delay/turn_stability.py` (workers that report in turn) and in `theory/delay/staleness.py` and
`theory/delay/stale_regret.py` (workers that wait for one another).
"""

import sympy

from sparsync.theory.delay.stability import decided
from sparsync.theory.language.stated import by_label
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import T, eta, gradient, next_virtual_iterate, tau, virtual_iterate


def delayed_virtual_iterate() -> Statement:
    """x̃_{t+1} = x̃_t − η g_t for x̃_t = x_t − e_t − η Σ gradients under way: residual and delay only postpone.

    The compressor is arbitrary, and gradients may arrive in any order; e_t is the residual.

    Source: Mania et al. 2017 for delay, Stich and Karimireddy 2019 for residuals and delay in one frame; both at once
    with arrivals in any order: ours.
    """
    bound = _next_virtual(virtual_iterate, gradient)
    return Statement(
        label="delayed_virtual_iterate",
        title="Virtual iterate, residual and delay together",
        assumptions=(
            r"$x_{t+1}=x_t-c_t$ and $e_{t+1}=e_t+\eta a_t-c_t$ for any $c_t$, where $a_t$ sums the gradients that "
            r"arrive at step $t$",
            r"$\tilde{x}_t=x_t-e_t-\eta\sum_{l\text{ under way}}g_l$, in each coordinate",
        ),
        relation=sympy.Eq(next_virtual_iterate, bound),
        domain=(),
        source="Mania et al. 2017; Stich and Karimireddy 2019; any order of arrival: ours",
        derivation=(
            Step("Σ_{l=t+1−τ}^{t} g_l = Σ_{l=t−τ}^{t−1} g_l + g_t − g_{t−τ}", _window_moves),
            Step("x̃_{t+1} = x̃_t − ηg_t for any arrivals and any compressor", _virtual_step, concludes=bound),
            Step("hence x_T − e_T − η Σ under way = x_0 − η Σ_{t<T} g_t: nothing is lost", _virtual_sum),
        ),
    )


def _window_moves() -> sympy.Expr:
    prefix = sympy.Function("S")
    now = sympy.Symbol("t", integer=True)

    def under_way(step: sympy.Expr) -> sympy.Expr:
        return prefix(step) - prefix(step - tau)

    def taken(step: sympy.Expr) -> sympy.Expr:
        return prefix(step + 1) - prefix(step)

    return under_way(now + 1) - (under_way(now) + taken(now) - taken(now - tau))


def _virtual_step() -> sympy.Expr:
    iterate, residual, under_way, arrived, sent = sympy.symbols("x e under_way arrived sent", real=True)

    def virtual(x: sympy.Expr, e: sympy.Expr, outstanding: sympy.Expr) -> sympy.Expr:
        return x - e - eta * outstanding

    after = virtual(iterate - sent, residual + eta * arrived - sent, under_way + gradient - arrived)
    now = virtual(iterate, residual, under_way)
    stated = _next_virtual(virtual_iterate, gradient).subs(virtual_iterate, now)
    return sympy.expand(after - stated)


def _virtual_sum() -> sympy.Expr:
    # The claimed closed form starts at x_0 and obeys the one-step identity.
    start, prefix = sympy.Symbol("x_0", real=True), sympy.Function("S")

    def closed(step: sympy.Expr) -> sympy.Expr:
        return start - eta * (prefix(step) - prefix(0))

    step_differs = closed(T + 1) - _next_virtual(closed(T), prefix(T + 1) - prefix(T))
    return decided(sympy.expand(step_differs) == 0 and closed(sympy.Integer(0)) == start)


def _next_virtual(virtual: sympy.Expr, taken: sympy.Expr) -> sympy.Expr:
    return virtual - eta * taken


STATEMENTS = by_label(__name__, delayed_virtual_iterate)
"""The statements of this file."""
