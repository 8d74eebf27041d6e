"""What is left of pairwise masks when the server has added up, and what do fixed-point integers cost?

Client i of those that shared secrets sends x_i + b_i + Σ_j s_ij m_ij, with s_ij = 1 for i < j and −1 for i > j, in
integers modulo 2^w. The protocol is that of Bonawitz et al. 2017; the statements and proofs are ours.
"""

from itertools import combinations

import sympy

from sparsync.theory.language.given import Given
from sparsync.theory.language.stated import by_label
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import (
    encoded_magnitude,
    encoding_error,
    fixed_scale,
    input_sum,
    magnitude_bound,
    n,
    unknown_masks,
    unmasked_sum,
)

CLIENTS = range(1, 5)
"""Of whom all sets of survivors are gone through; a mask is one client's, or two clients'."""
FIXED = (
    Given(
        "magnitude", r"|x_i|", "≤", magnitude_bound, words="$x_i$ of $n$ clients have {}, and $r b$ is a whole number"
    ),
    r"each sends the nearest integer to $r x_i$; the sum over $r$ is what is decoded",
)

_FRACTION = sympy.Symbol("f", nonnegative=True)
_CLIENT = sympy.Symbol("c", integer=True, positive=True)


def masks_cancel() -> Statement:
    """Σ_{i∈S} y_i less the masks that are known is Σ_{i∈S} x_i + M mod 2^w: M are the masks that nobody took off.

    Two survivors' masks cancel, so that M = 0 once the survivors' own masks are known, and those which they share with
    each client that is lost. The threshold is that of the secret sharing: so many survivors suffice, whoever they are.
    A mask that is lost is uniform modulo 2^w, and so is then the sum.

    Source: Bonawitz et al. 2017 for the protocol; the statement is ours.
    """
    bound = input_sum + unknown_masks
    return Statement(
        label="masks_cancel",
        title="Sum of masked vectors",
        assumptions=(
            "clients agreed on a mask for every two of them, and have one each; the set $S$ of them survives",
            r"the server takes off own masks of clients in $S$, and masks of pairs with one in $S$; $M$ is the rest",
            r"integers modulo $2^w$",
        ),
        relation=sympy.Eq(unmasked_sum, bound),
        domain=(),
        source="ours; the protocol is that of Bonawitz et al. 2017",
        derivation=(
            Step("s_ij + s_ji = 0", _signs_cancel, argued="for more than four clients"),
            Step(
                "so masks of two survivors are in no sum, whoever survives",
                _pairs_are_gone,
                argued="for more than four clients",
            ),
            Step(
                "with all other masks taken off the inputs are left",
                _inputs_left,
                argued="for more than four clients",
            ),
            Step(
                "a mask that is not taken off is added, and all holds modulo 2^w",
                _difference_of_lost,
                concludes=bound,
                argued="for more than four clients, and for several masks; that no step divides",
            ),
        ),
    )


def fixed_point_error() -> Statement:
    """|decoded sum − Σ x_i| ≤ n/(2r): half a step for each client, attained where all are rounded the same way.

    Source: classical.
    """
    bound = n / (2 * fixed_scale)
    return Statement(
        label="fixed_point_error",
        title="Rounding of a sum in fixed point",
        assumptions=(*FIXED[1:], "no sum of integers leaves the range"),
        relation=sympy.Le(encoding_error, bound),
        domain=(),
        source="classical",
        derivation=(
            Step("a fraction f ≤ 1/2 is rounded by f, a larger one by 1 − f: 1/2 at most", _half_a_step),
            Step(
                "n of them, in steps of 1/r",
                lambda: sympy.summation(sympy.Rational(1, 2), (_CLIENT, 1, n)) / fixed_scale - bound,
                concludes=bound,
            ),
        ),
    )


def fixed_point_room() -> Statement:
    """|Σ of the integers| ≤ nrb: as long as this is below 2^(w − 1) the sum modulo 2^w is the sum.

    Source: classical.
    """
    bound = n * fixed_scale * magnitude_bound
    return Statement(
        label="fixed_point_room",
        title="Largest sum in fixed point",
        assumptions=FIXED,
        relation=sympy.Le(encoded_magnitude, bound),
        domain=(),
        source="classical",
        derivation=(
            Step("rb is whole: nothing between it and rx ≤ rb is nearer to rx than what lies below it", _rounds_inside),
            Step(
                "n integers of rb",
                lambda: sympy.summation(fixed_scale * magnitude_bound, (_CLIENT, 1, n)) - bound,
                concludes=bound,
            ),
        ),
    )


def _sign(client: int, other: int) -> int:
    return 1 if client < other else -1


def _own(client: int) -> sympy.Symbol:
    return sympy.Symbol(f"b{client}")


def _shared(client: int, other: int) -> sympy.Symbol:
    first, second = sorted((client, other))
    return sympy.Symbol(f"m{first}{second}")


def _message(client: int) -> sympy.Expr:
    shared = (_sign(client, other) * _shared(client, other) for other in CLIENTS if other != client)
    return sympy.Symbol(f"x{client}") + _own(client) + sympy.Add(*shared)


def survivor_sets() -> list[tuple[int, ...]]:
    """All but the empty one."""
    return [some for size in range(1, len(CLIENTS) + 1) for some in combinations(CLIENTS, size)]


def masks_taken_off(survivors: tuple[int, ...]) -> dict[sympy.Symbol, sympy.Expr]:
    """What is taken off, by the mask that it takes to know."""
    lost = [client for client in CLIENTS if client not in survivors]
    found: dict[sympy.Symbol, sympy.Expr] = {_own(client): _own(client) for client in survivors}
    for client in survivors:
        found |= {_shared(client, other): _sign(client, other) * _shared(client, other) for other in lost}
    return found


def _signs_cancel() -> sympy.Expr:
    return sympy.Integer(sum(abs(_sign(i, j) + _sign(j, i)) for i, j in combinations(CLIENTS, 2)))


def _pairs_are_gone() -> sympy.Basic:
    return sympy.And(
        *(
            sympy.sympify(_shared(i, j) not in sympy.Add(*map(_message, survivors)).free_symbols)
            for survivors in survivor_sets()
            for i, j in combinations(survivors, 2)
        )
    )


def left(survivors: tuple[int, ...], taken: dict[sympy.Symbol, sympy.Expr]) -> sympy.Expr:
    """What is left beside the inputs."""
    inputs = sympy.Add(*(sympy.Symbol(f"x{client}") for client in survivors))
    return sympy.expand(sympy.Add(*map(_message, survivors)) - sympy.Add(*taken.values()) - inputs)


def _inputs_left() -> sympy.Basic:
    return sympy.And(*(sympy.Eq(left(survivors, masks_taken_off(survivors)), 0) for survivors in survivor_sets()))


def _difference_of_lost() -> sympy.Basic:
    claims = []
    for survivors in survivor_sets():
        masks = masks_taken_off(survivors)
        for mask in masks:
            known = {other: value for other, value in masks.items() if other != mask}
            claims.append(sympy.Eq(left(survivors, known), masks[mask]))
    return sympy.And(*claims)


def _half_a_step() -> sympy.Basic:
    """f = 1/2 − x or 1/2 + x with x ≥ 0."""
    below, above = sympy.Rational(1, 2) - _FRACTION, sympy.Rational(1, 2) + _FRACTION
    return sympy.And(sympy.Rational(1, 2) - below >= 0, sympy.Rational(1, 2) - (1 - above) >= 0)


def _rounds_inside() -> sympy.Basic:
    """rx = rb − f with f ≥ 0 is rounded to rb − ⌈f − 1/2⌉ at most, and a whole number above −1 is at least 0."""
    return sympy.sympify(_FRACTION - sympy.Rational(1, 2) > -1)


STATEMENTS = by_label(__name__, masks_cancel, fixed_point_error, fixed_point_room)
"""The statements of this file."""
