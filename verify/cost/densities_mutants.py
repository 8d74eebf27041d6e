"""Which wrong statements about counts by layer must the evidence notice? Ours."""

import sympy

from sparsync.theory.cost import densities
from sparsync.theory.delay.stability import decided
from sparsync.theory.language.statement import Step
from sparsync.theory.language.symbols import priced_capacity, squares_above
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
}
"""Every mutant of these statements, by name."""
