"""What becomes of the density up to which sparse collectives are faster when workers are many, and up to how many?

The crossovers are those of `crossovers.py`. Ours.
"""

import sympy

from sparsync.theory.cost.collectives import ENTRY_BYTES, VECTOR_BYTES
from sparsync.theory.cost.crossovers import (
    ONCE_SENT,
    SHARED,
    TWICE_SENT,
    balanced_crossover,
    gather_crossover,
    global_top_k_doubling_crossover,
)
from sparsync.theory.language.statement import Statement, by_label
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


def gather_crossover_limit() -> Statement:
    """κ* → α/(d(s + j)(β + γ)): for so many entries an all-gather's fewer rounds pay, however many workers.

    Source: ours.
    """
    bound = message_seconds / (d * ENTRY_BYTES * ONCE_SENT)
    return Statement(
        label="gather_crossover_limit",
        title="Density up to which a ring all-gather is faster with any number of workers",
        assumptions=(*SHARED, r"$\kappa^{*}$ is that of all-gather and all-reduce on a ring"),
        relation=sympy.Eq(density_limit, bound),
        domain=(),
        source="ours",
        derivation=(
            Step(
                "only its second term falls, as 1/n",
                lambda: sympy.limit(gather_crossover().bound, n, sympy.oo) - bound,
                concludes=bound,
            ),
            Step("and it stays above", lambda: sympy.factor(gather_crossover().bound - bound) > 0),
        ),
    )


def gather_crossover_bandwidth() -> Statement:
    """nκ* ≤ 2s/(s + j) where messages cost only their bytes: the density falls as 2/(n(1 + j/s)), at most.

    It is attained for γ = 0; where adding takes longest, half of it is left.

    Source: ours.
    """
    bound = 2 * value_bytes / ENTRY_BYTES
    product = n * gather_crossover().bound.subs(message_seconds, 0)
    return Statement(
        label="gather_crossover_bandwidth",
        title="Density up to which a ring all-gather is faster where rounds cost nothing",
        assumptions=(*SHARED, r"$\alpha=0$, and $\kappa^{*}$ is that of all-gather and all-reduce on a ring"),
        relation=sympy.Le(workers_times_density, bound),
        domain=(),
        source="ours",
        derivation=(
            Step("nκ* is s(2β + γ)/((s + j)(β + γ))", lambda: product - bound / 2 * TWICE_SENT / ONCE_SENT),
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
        derivation=(
            Step(
                "Dκ* is (n − 1)/n of it",
                lambda: sympy.limit(doubling_count * global_top_k_doubling_crossover().bound, n, sympy.oo) - bound,
                concludes=bound,
            ),
        ),
    )


def balanced_crossover_limit() -> Statement:
    """nκ* → s(2β + γ)/((s + j)β): owners of regions lose as 1/n too where no two workers select the same.

    Source: ours.
    """
    bound = value_bytes * TWICE_SENT / (ENTRY_BYTES * byte_seconds)
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
        derivation=(
            Step(
                "of (1 + n)β + γ in the denominator nβ is left",
                lambda: sympy.limit(n * balanced_crossover().bound.subs(union_ratio, n), n, sympy.oo) - bound,
                concludes=bound,
            ),
        ),
    )


def gather_workers() -> Statement:
    """n* = ds(2β + γ)/(κd(s + j)(β + γ) − α): with fewer workers than n* an all-gather on a ring is faster.

    At densities up to the limit of κ* there is no such number: it is faster with any.

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
        derivation=(
            Step(
                "with n* workers κ* is κ",
                lambda: sympy.cancel(gather_crossover().bound.subs(n, bound) - kappa),
                concludes=bound,
            ),
            Step("with more it is less", lambda: sympy.diff(gather_crossover().bound, n) < 0),
        ),
    )


STATEMENTS = by_label(
    __name__,
    gather_crossover_limit(),
    gather_crossover_bandwidth(),
    global_top_k_crossover_limit(),
    balanced_crossover_limit(),
    gather_workers(),
)
"""The statements of this file."""
