"""How many entries of each layer hide under the backward pass? One entry after the other, and what proves it best.

Layers are sent in the order of the backward pass, one message after the other. That the last message ends in time is a
capacity for each suffix of the messages: the capacities are nested. Greedy allocation under nested capacities is
classical; in these terms statements and proofs are ours.
"""

import sympy

from sparsync.theory.delay.stability import decided
from sparsync.theory.language.stated import by_label
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import (
    captured_energy,
    greedy_energy,
    largest_energy,
    priced_capacity,
    squares_above,
)

NESTED = (
    r"of message $l=1,\dots,m$ the $k_l$ largest of $d_l$ squares are sent, $0\leq k_l\leq d_l$, besides what is sent "
    r"in any case; $E_l(k_l)$ is their sum",
    r"$\sum_{l\geq b}k_l\leq C_b$ for all $b$",
)

_START, _READY, _LENGTH, _WAIT = sympy.symbols("start ready length wait", nonnegative=True)
_ROOM = sympy.Symbol("room", integer=True, nonnegative=True)
_BEFORE, _OFFSET, _OTHER = sympy.symbols("before offset other", integer=True, nonnegative=True)
_SUFFIX = sympy.Symbol("b", integer=True)
_SQUARE, _FALL, _LEAD = sympy.symbols("v fall lead", nonnegative=True)
_PRICES, _PRICE, _COUNT, _PAID = sympy.symbols("prices price count paid", nonnegative=True)
"""Of the first layers, and of one more; entries of that one, and what the first ones pay."""
_UNUSED = sympy.symbols("unused unsent", nonnegative=True)
"""The price of capacity that is not used, and squares above a threshold that are not sent."""


def nested_greedy() -> Statement:
    """No counts capture more than those that are raised one by one, each time where the next square is largest.

    The capacities are those of an exchange that overlaps with the backward pass: messages that are ready at R_b and
    take α + βk_b each end at max_b(R_b + Σ_{l≥b} (α + βk_l)), so by the time T iff Σ_{l≥b} k_l ≤ C_b for all b, with
    C_b = ⌊(T − R_b − (m − b + 1)α)/β⌋; α holds what is sent in any case.

    Source: classical (greedy allocation, nested capacities); in these terms ours.
    """
    bound = largest_energy
    return Statement(
        label="nested_greedy",
        title="Entries by layer under a deadline, one by one",
        assumptions=(
            *NESTED,
            r"from all $k_l=0$, again and again the layer sends one entry more whose next square is largest among "
            r"those with room in all $C_b$, $b\leq l$; until there is none",
        ),
        relation=sympy.Eq(greedy_energy, bound),
        domain=(),
        source="classical; in these terms ours",
        derivation=(
            Step("the end max(R, F) + x of a message is max(R + x, F + x), by whether it waits", _unrolled),
            Step(
                "let a best k* have all that was sent so far, k, and not the next entry, of layer j; if C_b is the "
                "last capacity of j that k* exhausts, k* has more than k of some layer i ≥ b",
                _some_layer_has_more,
            ),
            Step("if it exhausts none, it has room for the entry, whose square is not negative", _added),
            Step(
                "the next entry of i after k had room as well: k* has it, and all that was sent, in every suffix",
                _had_room,
            ),
            Step("one entry of j for one of i: capacities up to C_b hold both and are used as before", _outer_suffixes),
            Step("those of j behind C_b had room for one, and those behind j hold at most i", _inner_suffixes),
            Step("j's next square is the largest, and squares fall: nothing is lost", _nothing_is_lost),
            Step(
                "so k* may be taken to hold every entry that is sent, and none has room in the end",
                lambda: _gain(sympy.Integer(0)) + bound - largest_energy,
                concludes=bound,
            ),
        ),
    )


def threshold_prices() -> Statement:
    """Whatever prices the capacities have, no counts capture more than they cost and the squares above the thresholds.

    λ_l = Σ_{b≤l} p_b is layer l's threshold: it grows in the order of sending, and where no capacity has a price it is
    the same for neighbours. Counts that send the squares above the thresholds, and exhaust what has a price, attain
    the bound: so between exhausted capacities the best counts have one threshold of magnitude, √λ, whatever the law.

    Source: ours (linear-programming duality).
    """
    bound = priced_capacity + squares_above
    return Statement(
        label="threshold_prices",
        title="One threshold of magnitude between exhausted capacities",
        assumptions=(*NESTED, r"$p_b\geq0$, and $\lambda_l=\sum_{b\leq l}p_b$"),
        relation=sympy.Le(captured_energy, bound, evaluate=False),
        domain=(),
        source="ours",
        derivation=(
            Step("v ≤ λ + (v − λ)_+ for each entry that is sent", _below_threshold),
            Step(
                "Σ_l λ_l·k_l = Σ_b p_b Σ_{l≥b} k_l: both are 0 of no layers, and of one more layer both gain its λ·k",
                _by_parts,
            ),
            Step(
                "of which no sum exceeds its capacity, and what is not sent adds to (v − λ)_+ only",
                lambda: decided((bound - _priced(*_UNUSED)).is_nonnegative),
                concludes=bound,
            ),
            Step(
                "equal where sent squares are at least λ, others at most, and priced capacities are used up",
                lambda: sympy.Abs(bound - _priced(sympy.Integer(0), sympy.Integer(0))) + _above_threshold(),
            ),
        ),
    )


def _unrolled() -> sympy.Basic:
    orders = ((_READY, _READY + _WAIT), (_READY + _WAIT, _READY))
    return decided(
        all(
            sympy.expand(sympy.Max(ready, before) + _LENGTH - sympy.Max(ready + _LENGTH, before + _LENGTH)) == 0
            for ready, before in orders
        )
    )


def _some_layer_has_more() -> sympy.Basic:
    # k and the next entry keep within C_b, which k* uses up.
    so_far = sympy.Symbol("k", integer=True, positive=True)
    capacity = so_far + 1 + _ROOM
    return decided((capacity - so_far).is_positive)


def _added() -> sympy.Basic:
    return decided(_SQUARE.is_nonnegative)


def _had_room() -> sympy.Basic:
    # k* has the entry of i more than k, and keeps within the capacity.
    so_far, others = sympy.symbols("k others", integer=True, nonnegative=True)
    capacity = so_far + 1 + others + _ROOM
    return decided((capacity - (so_far + 1)).is_nonnegative)


def _holds(suffix: sympy.Expr, layer: sympy.Expr) -> sympy.Expr:
    """1 where the suffix that begins there holds the layer, else 0."""
    return sympy.Integer(1) if (layer - suffix).is_nonnegative else sympy.Integer(0)


def _used(suffix: sympy.Expr, more: sympy.Expr, fewer: sympy.Expr) -> sympy.Expr:
    """What an entry more of one layer and one fewer of another change in the suffix."""
    return _holds(suffix, more) - _holds(suffix, fewer)


def _outer_suffixes() -> sympy.Expr:
    return _used(_SUFFIX - _BEFORE, _SUFFIX + _OFFSET, _SUFFIX + _OTHER)


def _inner_suffixes() -> sympy.Basic:
    layer = _SUFFIX + _OFFSET
    within = [_used(layer - _BEFORE, layer, other) for other in (layer + _OTHER, layer - _BEFORE - 1 - _OTHER)]
    behind = [_used(layer + 1 + _BEFORE, layer, other) for other in (layer + 1 + _BEFORE + _OTHER, layer)]
    return decided(all(change <= 1 for change in within) and all(change <= 0 for change in behind))


def _gain(change: sympy.Expr) -> sympy.Expr:
    """What the greedy counts capture less than the best, by the entries that are exchanged."""
    return sympy.Min(change, 0)


def _nothing_is_lost() -> sympy.Basic:
    # The next square of i was no larger than that of j, and that which k* sends last of i is no larger again.
    next_of_j = _SQUARE + _LEAD + _FALL
    next_of_i = _SQUARE + _FALL
    return decided((next_of_j - next_of_i).is_nonnegative and (next_of_j - _SQUARE).is_nonnegative)


def _below_threshold() -> sympy.Basic:
    threshold, excess = sympy.symbols("lambda excess", nonnegative=True)
    sides = ((threshold + excess, threshold), (threshold, threshold + excess))
    return decided(
        all((level + sympy.Max(square - level, 0) - square).is_nonnegative for square, level in sides),
    )


def _above_threshold() -> sympy.Expr:
    threshold, excess = sympy.symbols("lambda excess", nonnegative=True)
    sent = threshold + excess
    return sympy.Abs(threshold + sympy.Max(sent - threshold, 0) - sent)


def _by_parts() -> sympy.Expr:
    # The layer has one price more than those before it, which each pay for its entries in their suffixes.
    by_layer = _PAID + (_PRICES + _PRICE) * _COUNT
    by_suffix = _PAID + _PRICES * _COUNT + _PRICE * _COUNT
    return sympy.expand(by_layer - by_suffix)


def _priced(unused: sympy.Expr, unsent: sympy.Expr) -> sympy.Expr:
    """The energy captured, from the price of unused capacity and the squares above a threshold that are not sent."""
    return priced_capacity - unused + squares_above - unsent


STATEMENTS = by_label(__name__, nested_greedy, threshold_prices)
"""The statements of this file."""
