"""What does distributed K-FAC send? Bytes a step of two schemes, and which of them sends less.

In both, gradients and the upper triangles of factors are averaged. Then either decompositions are handed round, by who
made them, every q steps; or preconditioned gradients, at every step. Numbers have four bytes; what is handed round is
as long as the largest share. The schemes are those of Pauloski, Zhang, Huang, Xu and Foster 2020, as their released
code has them, which sends whole factors; the laws are ours. Headers come on top.
"""

import sympy

from sparsync.theory.language.given import Given
from sparsync.theory.language.stated import by_label
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import (
    basis_entries,
    crossover_period,
    decomposition_period,
    everyone_bytes,
    factor_period,
    input_size,
    n,
    output_size,
    owned_entries,
    owners_bytes,
    parameter_count,
    triangle_entries,
)

NUMBER_BYTES = 4
"""Of a number in single precision."""
SENT = (
    r"$n$ workers; $d$ parameters, $f$ entries in the upper triangles of the factors",
    r"factors are averaged every $p$ steps, decompositions made every $q$ steps",
    Given("number_bytes", r"\text{bytes of a number}", "=", sympy.Integer(NUMBER_BYTES)),
)


def kfac_everyone_bytes() -> Statement:
    """4n(d + f/p + e/q): gradients at every step, triangles every p, and decompositions every q.

    A triangle of m rows has m(m + 1)/2 entries, its vectors and values are m² + m: a decomposition has twice the
    numbers of its factor. Source: ours.
    """
    bound = (
        NUMBER_BYTES * n * (parameter_count + triangle_entries / factor_period + basis_entries / decomposition_period)
    )
    return Statement(
        label="kfac_everyone_bytes",
        title="Everyone preconditions",
        assumptions=(*SENT, r"$e$ numbers are in the largest share of the decompositions"),
        relation=sympy.Eq(everyone_bytes, bound, evaluate=False),
        domain=(),
        source="ours",
        kind="definition",
        derivation=(
            Step(
                "of pq steps q average factors, and p make decompositions", lambda: _of_cycle() - bound, concludes=bound
            ),
            Step("vectors and values are twice the triangle", _twice_the_triangle),
        ),
    )


def kfac_owners_bytes() -> Statement:
    """4n(d + f/p + o): gradients and preconditioned gradients at every step, triangles every p. Source: ours."""
    bound = NUMBER_BYTES * n * (parameter_count + triangle_entries / factor_period + owned_entries)
    return Statement(
        label="kfac_owners_bytes",
        title="Owners of layers precondition",
        assumptions=(*SENT, r"$o$ entries are in the largest share of the preconditioned gradients"),
        relation=sympy.Eq(owners_bytes, bound, evaluate=False),
        domain=(),
        source="ours",
        kind="definition",
        derivation=(
            Step(
                "at every step there are o numbers in the place of e at every q-th",
                lambda: _of_cycle(basis=decomposition_period * owned_entries) - bound,
                concludes=bound,
            ),
        ),
    )


def kfac_crossover() -> Statement:
    """For a layer of m inputs and l outputs both schemes send as much at q* = (m + 1)/l + (l + 1)/m > 2.

    So if shares are even, owners send less where decompositions are made at every second step or more often, and
    everyone does where q is larger than q* for every layer. A single layer on two workers has even shares of factors,
    and none of gradients: there everyone may send less at q = 2. m counts a bias. Source: ours.
    """
    bound = (input_size + 1) / output_size + (output_size + 1) / input_size
    return Statement(
        label="kfac_crossover",
        title="Where both schemes send as much",
        assumptions=(r"a layer of $m$ inputs and $l$ outputs; shares are even",),
        relation=sympy.Eq(crossover_period, bound, evaluate=False),
        domain=(),
        source="ours",
        kind="definition",
        derivation=(
            Step(
                "m² + m + l² + l numbers every q steps are ml at every step",
                lambda: sympy.cancel(_basis(input_size) + _basis(output_size)) / (input_size * output_size) - bound,
                concludes=bound,
            ),
            Step("q* − 2 = ((m − l)² + m + l)/(ml) > 0", _above_two),
        ),
    )


def _of_cycle(basis: sympy.Expr = basis_entries) -> sympy.Expr:
    """Bytes of pq steps, over pq."""
    steps = factor_period * decomposition_period
    numbers = steps * parameter_count + decomposition_period * triangle_entries + factor_period * basis
    return sympy.expand(NUMBER_BYTES * n * numbers / steps)


def _basis(size: sympy.Expr) -> sympy.Expr:
    return size**2 + size


def _twice_the_triangle() -> sympy.Expr:
    place = sympy.Symbol("i", integer=True, positive=True)
    return sympy.expand(_basis(input_size) - 2 * sympy.summation(place, (place, 1, input_size)))


def _above_two() -> sympy.Basic:
    excess = (input_size + 1) / output_size + (output_size + 1) / input_size - 2
    stated = ((input_size - output_size) ** 2 + input_size + output_size) / (input_size * output_size)
    return sympy.S(bool(sympy.simplify(excess - stated) == 0 and stated.is_positive))


STATEMENTS = by_label(__name__, kfac_everyone_bytes, kfac_owners_bytes, kfac_crossover)
"""The statements of this file."""
