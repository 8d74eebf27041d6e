"""What does it cost to keep an operator's parameters on every device, or a part of them on each?

A message of b bytes takes α + bβ seconds, and every device sends one and receives one at a time. A pass round a ring of
n devices is n − 1 messages of the d/n values of a part. A replicated operator's gradients are summed up in 2 passes, a
sharded one's parameters are gathered twice and its gradients scattered, in 3. The setting is that of Jiang, Fu, Miao,
Nie, Cui 2023 (OSDP), which was not read; the laws are ours where they do not say otherwise.
"""

import sympy

from sparsync.theory.language.given import Given
from sparsync.theory.language.stated import by_label
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import (
    byte_seconds,
    d,
    index_bytes,
    least_exchange_seconds,
    least_state_bytes,
    memory_bytes,
    message_seconds,
    n,
    relaxation_excess,
    replica_density,
    replica_price,
    sample_bytes,
    sample_seconds,
    sample_throughput,
    sharding_ratio,
    split_choices,
    state_bytes,
    value_bytes,
)

PASSES = (
    r"a message of $b$ bytes takes $\alpha+b\beta$",
    r"each of $n$ devices passes $n-1$ parts of $d/n$ values of $s$ bytes on, twice if all keep the $d$ values "
    "and three times if each keeps a part",
)
CHOICES = (
    "of each operator one of several ways to keep it is chosen, with its bytes and its seconds",
    "the bytes together are bounded",
)
GATHERED = r"of the replica's gradients $\kappa d$ entries of $s+j$ bytes are all-gathered"
ENTRY_BYTES = value_bytes + index_bytes

_ROUND = sympy.Symbol("t", integer=True, positive=True)
_DENSITY = sympy.Symbol("density", positive=True)
_BATCH = sympy.Symbol("b", positive=True)
_EXCHANGE = sympy.Symbol("exchange", nonnegative=True)
_SHARE, _OTHER_SHARE = sympy.symbols("share other_share", nonnegative=True)
"""Of one choice, and of the other, which add up to one."""
_FIRST, _SECOND, _THIRD, _FOURTH = sympy.symbols("w1:5", real=True)
"""Bytes of choices."""


def sharding_traffic() -> Statement:
    """3/2: sharded parameters are gathered once more than gradients are, whatever the network and the operator.

    Source: ours.
    """
    bound = sympy.Rational(3, 2)
    return Statement(
        label="sharding_traffic",
        title="Seconds of a sharded operator, to those of a replicated one",
        assumptions=PASSES,
        relation=sympy.Eq(sharding_ratio, bound),
        domain=(sympy.Ge(n, 2),),
        source="ours",
        kind="definition",
        derivation=(
            Step("a pass is n − 1 messages, one after the other", _pass_by_messages),
            Step(
                "three passes to two", lambda: sympy.cancel(sharded_seconds() / _replicated()) - bound, concludes=bound
            ),
        ),
    )


def replica_crossover() -> Statement:
    """κ* = min(1, 3s/(n(s + j)) + 2α/(d(s + j)β)): with fewer entries a replica is quicker, and with α = 0 sends less.

    The price of an all-gather grows with n and that of a pass does not, so that κ* falls as 1/n. Where the sum is 1 or
    more, as it is with many messages of few bytes, a replica is no slower with all its entries. A device alone takes no
    time in any way.

    Source: ours.
    """
    equal = crossing_density()
    bound = sympy.Min(1, equal)
    return Statement(
        label="replica_crossover",
        title="Largest density at which a replicated operator takes no longer than a sharded one",
        assumptions=(*PASSES, GATHERED),
        relation=sympy.Eq(replica_density, bound),
        domain=(sympy.Ge(n, 2),),
        source="ours",
        kind="definition",
        derivation=(
            Step(
                "n − 1 messages of κd entries take as long as three passes at κ = 3s/(n(s + j)) + 2α/(d(s + j)β)",
                lambda: sympy.simplify(gathered_seconds(equal) - sharded_seconds()),
            ),
            Step(
                "more entries take longer: of all densities up to 1 those up to κ* take no longer",
                lambda: sympy.diff(gathered_seconds(_DENSITY), _DENSITY).subs(n, n + 1) > 0,
                concludes=bound,
            ),
        ),
    )


def replica_saving() -> Statement:
    """(nα/d + sβ)/c: a byte of memory saves more seconds in a small operator than in a large one.

    So the relaxation of the choice replicates operators in the order of their sizes, the smallest first.

    Source: ours.
    """
    bound = (n * message_seconds / d + value_bytes * byte_seconds) / state_bytes
    return Statement(
        label="replica_saving",
        title="Seconds that a byte of memory saves where an operator is replicated",
        assumptions=(*PASSES, "states take $c$ bytes a parameter"),
        relation=sympy.Eq(replica_price, bound),
        domain=(sympy.Ge(n, 2),),
        source="ours",
        kind="definition",
        derivation=(
            Step(
                "a pass is saved for all parts but one's own",
                lambda: sympy.cancel((sharded_seconds() - _replicated()) / (state_bytes * (d - d / n))) - bound,
                concludes=bound,
            ),
            Step("no more in a larger operator", lambda: sympy.diff(bound, d) <= 0),
        ),
    )


def divided_choices() -> Statement:
    """≤ 2: the relaxation divides one operator between two of its choices, or none.

    Source: classical (multiple-choice knapsack); the proof, by directions in which a point can move both ways, is ours.
    """
    bound = sympy.Integer(2)
    return Statement(
        label="divided_choices",
        title="Choices that are taken in part, at a vertex of the relaxation",
        assumptions=(*CHOICES, "choices may be taken in part, and add up to one of each operator"),
        relation=sympy.Le(split_choices, bound),
        domain=(),
        source="classical; this proof is ours",
        derivation=(
            Step("three choices of one operator can move both ways, with the same sum and bytes", _three_move),
            Step("and so can two choices each of two operators, while a vertex cannot move", _two_pairs_move),
            Step(
                "so at most two choices are divided of at most one operator: one less than three and than two",
                lambda: _most_left() - bound,
                concludes=bound,
            ),
        ),
    )


def rounded_relaxation() -> Statement:
    """≤ (n − 1)(α + dsβ/n): a pass of the one operator that is divided is all that whole choices can lose.

    Nearly attained by one operator with memory for nearly all of its replica.

    Source: ours.
    """
    bound = _pass()
    return Statement(
        label="rounded_relaxation",
        title="Seconds that the best whole choice takes longer than the relaxation",
        assumptions=(
            *PASSES,
            Given("largest_operator", "d_o", "≤", d, words="the number of parameters of each operator $o$ is {}"),
            "operators are replicated or sharded",
        ),
        relation=sympy.Le(relaxation_excess, bound),
        domain=(),
        source="ours",
        derivation=(
            Step(
                "to shard all of what is divided takes no more bytes",
                lambda: (
                    (_mixed(state_bytes * d / n, state_bytes * d) - state_bytes * d / n)
                    .subs(_SHARE, 1 - _OTHER_SHARE)
                    .subs(n, n + 1)
                    .factor()
                    >= 0
                ),
            ),
            Step(
                "and the share of a pass that was replicated",
                lambda: sympy.expand(
                    (sharded_seconds() - _mixed(sharded_seconds(), _replicated())).subs(_SHARE, 1 - _OTHER_SHARE)
                    - _OTHER_SHARE * bound
                ),
            ),
            Step(
                "which is a pass at most",
                lambda: ((1 - _OTHER_SHARE) * bound).subs(n, n + 1).subs(_OTHER_SHARE, 1 - _SHARE) >= 0,
                concludes=bound,
            ),
        ),
    )


def sharded_throughput() -> Statement:
    """≤ n/(t + aT/(M − S)): memory for activations is what bounds the batch over which the exchange is spread.

    Source: ours.
    """
    bound = n / (sample_seconds + sample_bytes * least_exchange_seconds / (memory_bytes - least_state_bytes))
    return Statement(
        label="sharded_throughput",
        title="Samples per second of any plan",
        assumptions=(
            "a device of $M$ bytes keeps states, and $a$ bytes for each sample of its batch",
            Given("states", r"\text{bytes of states}", "≥", least_state_bytes),
            "a step takes $t$ seconds for each sample of a device's batch, and those of its exchange",
            Given("exchange", r"\text{seconds of exchange}", "≥", least_exchange_seconds),
        ),
        relation=sympy.Le(sample_throughput, bound),
        domain=(sympy.Lt(least_state_bytes, memory_bytes),),
        source="ours",
        derivation=(
            Step(
                "the throughput does not fall with the batch",
                lambda: sympy.factor(sympy.diff(_rate(_BATCH), _BATCH)) >= 0,
            ),
            Step(
                "and does not rise with the exchange",
                lambda: sympy.factor(sympy.diff(_rate(_BATCH), _EXCHANGE)) <= 0,
            ),
            Step(
                "of batches, (M − S)/a is the largest that could fit",
                lambda: sympy.simplify(
                    _rate((memory_bytes - least_state_bytes) / sample_bytes).subs(_EXCHANGE, least_exchange_seconds)
                    - bound
                ),
                concludes=bound,
            ),
        ),
    )


def _pass() -> sympy.Expr:
    return (n - 1) * (message_seconds + d / n * value_bytes * byte_seconds)


def _replicated() -> sympy.Expr:
    return 2 * _pass()


def sharded_seconds() -> sympy.Expr:
    """Three passes."""
    return 3 * _pass()


def crossing_density() -> sympy.Expr:
    """κ at which gathering κd entries takes as long as three passes, be it a density or above 1."""
    return 3 * value_bytes / (n * ENTRY_BYTES) + 2 * message_seconds / (d * ENTRY_BYTES * byte_seconds)


def gathered_seconds(density: sympy.Expr) -> sympy.Expr:
    """n − 1 messages of so many of d entries."""
    return (n - 1) * (message_seconds + density * d * ENTRY_BYTES * byte_seconds)


def _pass_by_messages() -> sympy.Expr:
    message = message_seconds + d / n * value_bytes * byte_seconds
    return sympy.simplify(sympy.summation(message, (_ROUND, 1, n - 1)) - _pass())


def _moved(weights: tuple[sympy.Expr, ...], direction: tuple[sympy.Expr, ...]) -> sympy.Expr:
    """By how much the bytes of choices change."""
    return sympy.Add(*(weight * change for weight, change in zip(weights, direction, strict=True)))


def _three_move() -> sympy.Basic:
    """Where the direction is nothing, all three choices have equal bytes, and two of them can be exchanged."""
    weights = (_FIRST, _SECOND, _THIRD)
    direction = (_SECOND - _THIRD, _THIRD - _FIRST, _FIRST - _SECOND)
    equal = sympy.solve(direction, [_FIRST, _SECOND], dict=True)
    exchange = _moved(weights, (1, -1, 0)).subs(equal[0])
    return sympy.Abs(sympy.expand(_moved(weights, direction))) + sympy.Abs(sympy.Add(*direction)) + sympy.Abs(exchange)


def _two_pairs_move() -> sympy.Basic:
    """Where the direction is nothing, the first two have equal bytes, and so have the others: each pair moves alone."""
    weights = (_FIRST, _SECOND, _THIRD, _FOURTH)
    one, other = _FIRST - _SECOND, _THIRD - _FOURTH
    direction = (other, -other, -one, one)
    alone = sympy.Abs(_moved(weights, (1, -1, 0, 0)).subs(_FIRST, _SECOND))
    sums = sympy.Abs(direction[0] + direction[1]) + sympy.Abs(direction[2] + direction[3])
    return sympy.Abs(sympy.expand(_moved(weights, direction))) + sums + alone


def _most_left() -> sympy.Integer:
    """Three choices of one operator, and two of two operators, are too many."""
    choices, operators = sympy.Integer(3) - 1, sympy.Integer(2) - 1
    return choices * operators


def _mixed(one: sympy.Expr, other: sympy.Expr) -> sympy.Expr:
    """A share of what is sharded, and the rest of what is replicated."""
    return _SHARE * one + _OTHER_SHARE * other


def _rate(batch: sympy.Expr) -> sympy.Expr:
    return n * batch / (_EXCHANGE + batch * sample_seconds)


STATEMENTS = by_label(
    __name__,
    sharding_traffic,
    replica_crossover,
    replica_saving,
    divided_choices,
    rounded_relaxation,
    sharded_throughput,
)
"""The statements of this file."""
