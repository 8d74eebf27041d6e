"""What becomes of the density up to which sparse collectives are faster when workers are many, and up to how many?

The crossovers are those of `crossovers.py`; they and their limits are at most the largest density that there can be.
Ours.
"""

import sympy

from sparsync.theory.cost.collectives import ENTRY_BYTES, VECTOR_BYTES
from sparsync.theory.cost.crossovers import (
    ONCE_SENT,
    SHARED,
    TWICE_SENT,
    equal_balanced_density,
    equal_gather_density,
    global_top_k_doubling_crossover,
)
from sparsync.theory.language.stated import by_label
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import (
    byte_seconds,
    crossover_workers,
    d,
    density_limit,
    doubling_count,
    doublings_density_limit,
    kappa,
    merge_seconds,
    message_seconds,
    n,
    union_ratio,
    value_bytes,
    workers_density_limit,
    workers_times_density,
)

_LESSER = "and the lesser of that and the largest density tends to the lesser of their limits"
_CONTINUOUS = "that the lesser of two numbers depends continuously on them"


def gather_crossover_limit() -> Statement:
    """κ* → min(1, α/(d(s + j)(β + γ))): for so many entries an all-gather's fewer rounds pay, however many workers.

    Source: ours.
    """
    limit = message_seconds / (d * ENTRY_BYTES * ONCE_SENT)
    bound = sympy.Min(1, limit)
    return Statement(
        label="gather_crossover_limit",
        title="Density up to which a ring all-gather is faster with any number of workers",
        assumptions=(*SHARED, r"$\kappa^{*}$ is that of all-gather and all-reduce on a ring"),
        relation=sympy.Eq(density_limit, bound),
        domain=(),
        source="ours",
        kind="definition",
        derivation=(
            Step(
                "of the density at which both take equally long the second term falls as 1/n",
                lambda: sympy.diff(sympy.expand(n * (equal_gather_density() - limit)), n),
            ),
            Step("so the first is left", lambda: sympy.limit(equal_gather_density(), n, sympy.oo) - limit),
            Step("and the sum stays above", lambda: sympy.factor(equal_gather_density() - limit) > 0),
            Step(_LESSER, lambda: sympy.Min(1, limit) - bound, concludes=bound, argued=_CONTINUOUS),
        ),
    )


def gather_crossover_bandwidth() -> Statement:
    """nκ* ≤ 2s/(s + j) where messages cost only their bytes: the density falls as 2/(n(1 + j/s)), at most.

    It is attained for γ = 0; where adding takes longest, half of it is left.

    Source: ours.
    """
    bound = 2 * value_bytes / ENTRY_BYTES
    product = n * equal_gather_density().subs(message_seconds, 0)
    return Statement(
        label="gather_crossover_bandwidth",
        title="Density up to which a ring all-gather is faster where rounds cost nothing",
        assumptions=(
            r"a message of $b$ bytes takes $b\beta$, and a worker sends one and receives one at a time",
            *SHARED[1:],
            r"$\kappa^{*}$ is that of all-gather and all-reduce on a ring",
        ),
        relation=sympy.Le(workers_times_density, bound),
        domain=(),
        source="ours",
        derivation=(
            Step(
                "nκ* is s(2β + γ)/((s + j)(β + γ)), or n if that is less",
                lambda: product - bound / 2 * TWICE_SENT / ONCE_SENT,
            ),
            Step(
                "it is 2s/(s + j) where γ = 0",
                lambda: sympy.cancel(product.subs(merge_seconds, 0) - bound),
                concludes=bound,
            ),
            Step("and falls with γ", lambda: sympy.factor(sympy.diff(product, merge_seconds)) < 0),
            Step("to a half", lambda: sympy.limit(product, merge_seconds, sympy.oo) - bound / 2),
        ),
    )


def global_top_k_crossover_limit() -> Statement:
    """Dκ* → s/(s + j): against an all-reduce by doubling a tree of merges loses only as 1/log₂ n.

    Source: ours.
    """
    bound = value_bytes / ENTRY_BYTES
    return Statement(
        label="global_top_k_crossover_limit",
        title="Density up to which a tree of merges is faster, with many workers",
        assumptions=(
            *SHARED,
            r"$D=\lceil\log_2 n\rceil$, and $\kappa^{*}$ is that of a tree of merges and an all-reduce by doubling",
        ),
        relation=sympy.Eq(doublings_density_limit, bound),
        domain=(),
        source="ours",
        kind="definition",
        derivation=(
            Step("Dκ* is (n − 1)/n of it", lambda: _doubled_density() - (n - 1) / n * bound),
            Step("which tends to it", lambda: sympy.limit(_doubled_density(), n, sympy.oo) - bound, concludes=bound),
        ),
    )


def balanced_crossover_limit() -> Statement:
    """nκ* → min(1, s(2β + γ)/((s + j)β)): owners of regions lose as 1/n too where no two workers select the same.

    Where it is 1 they are faster up to the density 1/n, at which every coordinate is selected by somebody.

    Source: ours.
    """
    limit = value_bytes * TWICE_SENT / (ENTRY_BYTES * byte_seconds)
    bound = sympy.Min(1, limit)
    return Statement(
        label="balanced_crossover_limit",
        title="Density up to which owners of regions are faster, with many workers that select apart",
        assumptions=(
            *SHARED,
            r"$\kappa^{*}$ is that of owners of regions and a ring all-reduce, where no two select the same",
        ),
        relation=sympy.Eq(workers_density_limit, bound),
        domain=(),
        source="ours",
        kind="definition",
        derivation=(
            Step(
                "of (1 + n)β + γ in the denominator nβ is left",
                lambda: sympy.limit(n * equal_balanced_density().subs(union_ratio, n), n, sympy.oo) - limit,
            ),
            Step(_LESSER, lambda: sympy.Min(n / n, limit) - bound, concludes=bound, argued=_CONTINUOUS),
        ),
    )


def gather_workers() -> Statement:
    """n* = ds(2β + γ)/(κd(s + j)(β + γ) − α): with fewer workers than n* an all-gather on a ring is faster.

    n* need not be whole: below 2 the all-reduce is faster with any. At densities up to the limit of κ* there is no such
    number: the all-gather is faster with any.

    Source: ours.
    """
    entries = kappa * d * ENTRY_BYTES * ONCE_SENT
    bound = VECTOR_BYTES * TWICE_SENT / (entries - message_seconds)
    return Statement(
        label="gather_workers",
        title="Workers up to which a ring all-gather of payloads is faster than a ring all-reduce",
        assumptions=SHARED,
        relation=sympy.Eq(crossover_workers, bound),
        domain=(sympy.Gt(entries, message_seconds),),
        source="ours",
        kind="definition",
        derivation=(
            Step(
                "with n* workers both take equally long at κ",
                lambda: sympy.cancel(equal_gather_density().subs(n, bound) - kappa),
                concludes=bound,
            ),
            Step("with more they do at less", lambda: sympy.diff(equal_gather_density(), n) < 0),
        ),
    )


def _doubled_density() -> sympy.Expr:
    return doubling_count * global_top_k_doubling_crossover().bound


STATEMENTS = by_label(
    __name__,
    gather_crossover_limit,
    gather_crossover_bandwidth,
    global_top_k_crossover_limit,
    balanced_crossover_limit,
    gather_workers,
)
"""The statements of this file."""
