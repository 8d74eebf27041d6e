"""When are replicas that send few entries quicker than shards, if what memory they leave decides on the batch?

A plan keeps each operator of a network sharded, or replicated with error feedback. Its exchange is spread over the
largest batch that fits beside its states, which are larger where operators are replicated. Ours.
"""

import sympy

from sparsync.theory.cost.sharding import ENTRY_BYTES, gathered_seconds, sharded_seconds
from sparsync.theory.delay.stability import decided
from sparsync.theory.language.given import Given
from sparsync.theory.language.stated import by_label
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import (
    d,
    memory_bytes,
    message_seconds,
    moving_density,
    n,
    residual_bytes,
    sample_bytes,
    sample_seconds,
    state_bytes,
    value_bytes,
)

_SHARE = sympy.Symbol("share", nonnegative=True)
"""Of the parameters that are replicated."""
_DENSITY, _LEFT = sympy.symbols("density left", positive=True)
"""κ, and the bytes that shards alone leave for samples."""
_SPREAD = sympy.Symbol("spread", nonnegative=True)
"""T/(M − S)."""


def replica_plans() -> Statement:
    """min(1, 3s(M − (c + r)d)₊/((s + j)(nM − cd))): with so many entries all plans that fit are equally quick.

    With fewer entries a plan is the quicker the more it replicates, with more the slower, on any link and with any
    samples, so that the quickest plan moves from shards to replicas at once; with M ≤ (c + r)d bytes it never does.
    Messages that take time besides their bytes, whole batches, and replicas that send whole gradients are not covered.

    Source: ours.
    """
    moving = 3 * value_bytes * _left(1) / (ENTRY_BYTES * (n * memory_bytes - state_bytes * d))
    bound = sympy.Min(1, sympy.Max(0, moving))
    return Statement(
        label="replica_plans",
        title="Density at which the quickest plan moves from shards to replicas",
        assumptions=(
            r"$b$ bytes take $b\beta$ on each link of a ring of $n$; operators with $d$ parameters in all are sharded, "
            r"in three passes of $n-1$ parts of values of $s$ bytes, or replicated, and of their gradients every "
            r"device gathers $\kappa$ of all entries, of $s+j$ bytes, of each other one",
            Given("shard_bytes", "c_1", "=", state_bytes / n, words="a sharded parameter takes {} bytes of a device"),
            Given("replica_bytes", "c_2", "=", state_bytes + residual_bytes, words="a replicated one {}"),
            r"a step takes $t$ for each sample of a device's batch, and its exchange; samples of $a$ bytes each, whole "
            r"or not, fill what states leave of a device's $M$ bytes",
        ),
        relation=sympy.Eq(moving_density, bound),
        domain=(sympy.Ge(n, 2), sympy.Gt(memory_bytes, state_bytes * d / n)),
        source="ours",
        derivation=(
            Step("n/(t + aT/(M − S)), for T of exchange and S bytes of states, falls as T/(M − S) grows", _falls),
            Step(
                "(M − S)² times the slope of T/(M − S) in the replicated share is T_2(M − c_1 d) − T_1(M − c_2 d), "
                "with T_1 of shards and T_2 of replicas alone: it has one sign for all shares",
                lambda: sympy.expand(_slope() - _sign()),
            ),
            Step(
                "which is (T_2/κ)(M − c_1 d) times κ less 3s(M − (c + r)d)/((s + j)(nM − cd))",
                lambda: sympy.cancel(_sign() - _exchanged(1) / _DENSITY * _left(0) * (_DENSITY - moving)),
            ),
            Step("T_2/κ > 0", lambda: decided(sympy.factor(_exchanged(1) / _DENSITY).subs(n, n + 1).is_positive)),
            Step(
                "the number has the sign of M − (c + r)d: without room for all replicas that of the slope is positive",
                lambda: decided(_over_room(moving).is_positive),
                concludes=bound,
            ),
        ),
    )


def _left(share: sympy.Expr | int) -> sympy.Expr:
    """M − S: what states leave where so large a share of the parameters is replicated."""
    return memory_bytes - d * ((1 - share) * state_bytes / n + share * (state_bytes + residual_bytes))


def _exchanged(share: sympy.Expr | int) -> sympy.Expr:
    """T, likewise."""
    seconds = (1 - share) * sharded_seconds() + share * gathered_seconds(_DENSITY)
    return seconds.subs(message_seconds, 0)


def _falls() -> sympy.Basic:
    return decided((-sympy.diff(n / (sample_seconds + sample_bytes * _SPREAD), _SPREAD)).is_positive)


def _slope() -> sympy.Expr:
    left = _left(_SHARE)
    return sympy.cancel(sympy.diff(_exchanged(_SHARE) / left, _SHARE) * left**2)


def _sign() -> sympy.Expr:
    return _exchanged(1) * _left(0) - _exchanged(0) * _left(1)


def _over_room(moving: sympy.Expr) -> sympy.Expr:
    """The number over M − (c + r)d, where shards alone leave some bytes."""
    return sympy.factor(sympy.cancel(moving / _left(1)).subs(memory_bytes, state_bytes * d / n + _LEFT))


STATEMENTS = by_label(__name__, replica_plans)
"""The statements of this file."""
