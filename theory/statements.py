"""Which statements are there? One line each; evidence in `verify/` and tables in the paper run over this dict.

Building a statement builds formulas only; its derivation runs when `Step.holds` is called.
"""

from sparsync.theory.contraction import (
    bell_shaped,
    bell_shaped_discrete,
    random_k,
    square_convex,
    square_convex_discrete,
    top_k,
)
from sparsync.theory.statement import Statement

STATEMENTS: dict[str, Statement] = {
    "random_k": random_k(),
    "top_k": top_k(),
    "square_convex": square_convex(),
    "bell_shaped": bell_shaped(),
    "square_convex_discrete": square_convex_discrete(),
    "bell_shaped_discrete": bell_shaped_discrete(),
}
"""Every statement by label."""
