"""Which wrong statements about counts by layer and the seconds of a run must the evidence notice? Ours."""

import sympy

from sparsync.theory.cost import densities
from sparsync.theory.delay.stability import decided
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import (
    dense_seconds,
    entry_gain,
    fixed_seconds,
    later_updates,
    n,
    priced_capacity,
    restart_seconds,
    squares_above,
    whole_steps,
)
from sparsync.verify.ledger.mutation import Mutant, wrong_bound, wrong_step


def _exchanged_with_any() -> sympy.Basic:
    """Whether the capacity that j exhausts stays kept where i lies in front of it."""
    suffix = sympy.Symbol("b", integer=True)
    offset, before = sympy.symbols("offset before", integer=True, nonnegative=True)
    return decided(densities._used(suffix, suffix + offset, suffix - 1 - before) <= 0)


MUTANTS: dict[str, Mutant] = {
    "nested_greedy_any_layer": wrong_step(
        "nested_greedy",
        "an entry of any layer makes room",
        lambda: (Step("one entry of j for one of any layer", _exchanged_with_any),),
    ),
    "threshold_prices_larger": wrong_bound(
        "threshold_prices",
        "the larger of both for their sum",
        lambda _bound: sympy.Max(priced_capacity, squares_above),
        "rational",
        "property",
    ),
    "linear_gain_seconds_root": wrong_bound(
        "linear_gain_seconds", "θ for θ²", lambda bound: 2 * bound, "numeric", "property", "simulated"
    ),
    "linear_gain_seconds_all": wrong_bound(
        "linear_gain_seconds",
        "all entries travel",
        lambda bound: bound.subs(dense_seconds, entry_gain * dense_seconds),
        "numeric",
        "property",
        "simulated",
    ),
    "best_density_linear": wrong_bound(
        "best_density",
        "δ = cκ at the largest density, 1/c",
        lambda _bound: whole_steps * (fixed_seconds + dense_seconds / entry_gain),
        "rational",
        "property",
    ),
    "best_density_gain": wrong_bound(
        "best_density", "a for (c − 1)a", lambda bound: bound.subs(entry_gain - 1, 1), "rational", "property"
    ),
    "sparse_overtakes_ring_workers": wrong_bound(
        "sparse_overtakes_ring",
        "n for n − 1",
        lambda _bound: (n * (sympy.sqrt(entry_gain - 1) + sympy.sqrt(entry_gain)) / (entry_gain - n)) ** 2,
        "numeric",
        "property",
    ),
    "switch_saving_back": wrong_bound(
        "switch_saving", "there and back", lambda bound: bound - restart_seconds, "rational", "property"
    ),
    "switch_saving_one_more": wrong_bound(
        "switch_saving",
        "one update more",
        lambda bound: bound.subs(later_updates, later_updates + 1),
        "rational",
        "property",
    ),
}
"""Every mutant of these statements, by name."""
