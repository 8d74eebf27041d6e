"""How much of what is sent does a backward pass hide? A gradient in buckets is a stream: one is sent, one is made.

One link sends the buckets in their order, each when it is ready and the one before has passed. The first has to be
made before anything is sent, and the last is sent while nothing is computed. Everything here is ours.
"""

import sympy

from sparsync.theory.cost.maxima import agree_in_both_orders, ordered, same_maximum, terms
from sparsync.theory.cost.whole_roots import no_longer_falls, whole_root
from sparsync.theory.delay.stability import decided
from sparsync.theory.language.given import Given
from sparsync.theory.language.stated import by_label
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import (
    backward_total,
    best_bucket_count,
    bucket_backward,
    bucket_count,
    bucket_makespan,
    bucket_sending,
    byte_seconds,
    equal_makespan,
    first_backward,
    forward_time,
    gradient_bytes,
    last_sending,
    message_latency,
    mismatch_total,
    sending_total,
)

LINK = "one link sends buckets in their order, each when it is made and the one before has passed"
EQUAL = (
    r"a forward pass takes $T_f$; then each of $B$ buckets is made in $c$, one after the other, and sent in $t$",
    LINK,
)
ANY = (
    r"a forward pass takes $T_f$; then bucket $b$ of $B$ is made in $c_b$, one after the other, $W$ in all, and sent "
    r"in $t_b$, $S$ in all",
    LINK,
)
_PLACE = sympy.Symbol("b", integer=True, positive=True)
_ONE, _OTHER = sympy.symbols("x y", nonnegative=True)


def equal_buckets() -> Statement:
    """T_f + B max(c, t) + min(c, t): all buckets take the longer of the two, and one takes both.

    Source: ours.
    """
    bound = (
        forward_time
        + bucket_count * sympy.Max(bucket_backward, bucket_sending)
        + sympy.Min(bucket_backward, bucket_sending)
    )
    return Statement(
        label="equal_buckets",
        title="Time of a step with equal buckets",
        assumptions=EQUAL,
        relation=sympy.Eq(equal_makespan, bound),
        domain=(),
        source="ours",
        derivation=(
            Step(
                "F_1 = T_f + c + t",
                lambda: same_maximum(_passed(sympy.Integer(1)), forward_time + bucket_backward + bucket_sending),
            ),
            Step("F_b = T_f + max(bc + t, c + bt) has passed: F_{b + 1} = max(T_f + (b + 1)c, F_b) + t", _next_passes),
            Step("of two orders either has c ≥ t", lambda: _is_makespan(bound), concludes=bound),
        ),
    )


def bucket_floor() -> Statement:
    """T_f + max(W + t_B, c_1 + S) at least: the last bucket is sent after all are made, all after the first is.

    Attained where every bucket takes longer to make than the one before takes to send, or none does. No buckets have
    c_1 > W or t_B > S.

    Source: ours.
    """
    bound = forward_time + sympy.Max(backward_total + last_sending, first_backward + sending_total)
    return Statement(
        label="bucket_floor",
        title="Least time of a step with buckets",
        assumptions=ANY,
        relation=sympy.Ge(bucket_makespan, bound, evaluate=False),
        domain=(sympy.Le(first_backward, backward_total), sympy.Le(last_sending, sending_total)),
        source="ours",
        derivation=(
            Step(
                "F_b = max_{j≤b} (T_f + c_1 + … + c_j + t_j + … + t_b): F_{b+1} = max(T_f + c_1 + … + c_{b+1}, F_b) "
                "+ t_{b+1} has these terms, for all b",
                _spreads,
            ),
            Step("j = B and j = 1 are two of its terms", lambda: _two_terms(bound), concludes=bound),
            Step(
                "term j + 1 is c_{j+1} − t_j more than term j: where none is negative the last is the largest, where "
                "none is positive the first",
                _next_term,
            ),
        ),
    )


def bucket_cap() -> Statement:
    """T_f + (W + S + c_1 + t_B + D)/2 at most, D = Σ_{b>1} |c_b − t_{b−1}|: that of hypersteps with a barrier each.

    It is T_f + c_1 + Σ_{b>1} max(c_b, t_{b−1}) + t_B: bucket b is made while the one before is sent. Attained where
    the floor is. No buckets have other totals than the domain admits.

    Source: ours.
    """
    bound = forward_time + (backward_total + sending_total + first_backward + last_sending + mismatch_total) / 2
    return Statement(
        label="bucket_cap",
        title="Most time of a step with buckets",
        assumptions=(*ANY, r"$D=\sum_{b>1}|c_b-t_{b-1}|$"),
        relation=sympy.Le(bucket_makespan, bound, evaluate=False),
        domain=(
            sympy.Le(first_backward, backward_total),
            sympy.Le(last_sending, sending_total),
            sympy.Ge(mismatch_total, sympy.Abs(backward_total - first_backward - sending_total + last_sending)),
            sympy.Le(mismatch_total, backward_total - first_backward + sending_total - last_sending),
        ),
        source="ours",
        derivation=(
            Step("max(x, y) = (x + y + |x − y|)/2", _maximum_is_half),
            Step(
                "bucket b begins to be sent at T_f + c_1 + Σ_{1<i≤b} max(c_i, t_{i−1}) or before, as it is made by "
                "then, and the one before has passed",
                _is_ready_in_time,
            ),
            Step("and t_B after that all have passed", lambda: _with_barriers() - bound, concludes=bound),
        ),
    )


def bucket_optimum() -> Statement:
    """⌈√(1/4 + W/α) − 1/2⌉ equal buckets are best if each is sent no sooner than made: a farm with α for 2L + t_s.

    A step takes T_f + W/B + αB + βm: what is made before anything is sent, and a latency a bucket. What a selection
    leaves of m changes the time, and not the best B, until W hides it.

    Source: ours.
    """
    bound = sympy.ceiling(whole_root(backward_total / message_latency))
    return Statement(
        label="bucket_optimum",
        title="Best number of equal buckets",
        assumptions=(
            *EQUAL,
            Given("making", "c", "=", backward_total / bucket_count),
            Given(
                "sending",
                "t",
                "=",
                message_latency + byte_seconds * gradient_bytes / bucket_count,
                words="{} of a gradient of $m$ bytes",
            ),
        ),
        relation=sympy.Eq(best_bucket_count, bound),
        domain=(sympy.Le(backward_total, byte_seconds * gradient_bytes + message_latency * bound),),
        source="ours",
        derivation=(
            Step(
                "a step takes T_f + W/B + αB + βm if t ≥ c, which is W ≤ βm + αB, and no less if t < c",
                _sending_decides,
            ),
            Step("one bucket more takes α − W/(B(B + 1)) of that more, which grows with B", _one_bucket_more),
            Step(
                "it is ≥ 0 iff B ≥ √(1/4 + W/α) − 1/2; the first such B is the bound, where t ≥ c by the domain",
                no_longer_falls,
                concludes=bound,
            ),
        ),
    )


def _passed(buckets: sympy.Expr) -> sympy.Expr:
    """F_b: when so many equal buckets have passed."""
    made, sent = bucket_backward, bucket_sending
    return forward_time + sympy.Max(buckets * made + sent, made + buckets * sent)


def _next_passes() -> sympy.Basic:
    """The recursion has the terms of F_{b + 1} and one more, a mean of two of them with weights 1/b and 1 − 1/b."""
    ready = forward_time + (_PLACE + 1) * bucket_backward
    recursion = terms(sympy.Max(ready, _passed(_PLACE)) + bucket_sending)
    closed = terms(_passed(_PLACE + 1))
    between = forward_time + _PLACE * bucket_backward + 2 * bucket_sending
    first = forward_time + bucket_backward + (_PLACE + 1) * bucket_sending
    mean = first / _PLACE + (1 - 1 / _PLACE) * (ready + bucket_sending)
    return decided(
        closed < recursion and recursion - closed == {sympy.expand(between)} and sympy.expand(mean - between) == 0
    )


def _is_makespan(bound: sympy.Expr) -> sympy.Basic:
    """B = 1 and more, in both orders."""
    further = sympy.Symbol("further", integer=True, nonnegative=True)
    last = 1 + further
    passed, stated = _passed(last), bound.subs(bucket_count, last)
    orders = ({bucket_backward: bucket_sending + _ONE}, {bucket_sending: bucket_backward + _ONE})
    gaps = [sympy.expand((passed - stated).subs(order)) for order in orders]
    return decided(all(ordered(gap) == 0 for gap in gaps))


def _made(buckets: sympy.Expr) -> sympy.Expr:
    """c_1 + … + c_b."""
    return sympy.Function("C")(buckets)


def _sent(buckets: sympy.Expr) -> sympy.Expr:
    """t_1 + … + t_b."""
    return sympy.Function("S")(buckets)


def _term(place: sympy.Expr, buckets: sympy.Expr) -> sympy.Expr:
    """c_1 + … + c_j + t_j + … + t_b."""
    return _made(place) + _sent(buckets) - _sent(place - 1)


def _spreads() -> sympy.Basic:
    """By b = 1, and from b to b + 1: the terms j ≤ b, and that of the new bucket."""
    earlier = sympy.Symbol("j", integer=True, positive=True)
    ready, passed, sending = sympy.symbols("r F t", positive=True)
    new = _sent(_PLACE + 1) - _sent(_PLACE)
    return decided(
        same_maximum(sympy.Max(ready, passed) + sending, sympy.Max(ready + sending, passed + sending)) == sympy.true
        and sympy.expand(_term(sympy.Integer(1), sympy.Integer(1)) - _made(1) - _sent(1) + _sent(0)) == 0
        and sympy.expand(_term(earlier, _PLACE) + new - _term(earlier, _PLACE + 1)) == 0
        and sympy.expand(_made(_PLACE + 1) + new - _term(_PLACE + 1, _PLACE + 1)) == 0
    )


def _two_terms(bound: sympy.Expr) -> sympy.Basic:
    totals = {
        first_backward: _made(1),
        last_sending: _sent(_PLACE) - _sent(_PLACE - 1),
        backward_total: _made(_PLACE),
        sending_total: _sent(_PLACE) - _sent(0),
    }
    stated = {sympy.expand(term.subs(totals)) for term in terms(sympy.expand(bound - forward_time))}
    return decided(stated == {_term(_PLACE, _PLACE), _term(sympy.Integer(1), _PLACE)})


def _next_term() -> sympy.Expr:
    earlier = sympy.Symbol("j", integer=True, positive=True)
    making, sending = _made(earlier + 1) - _made(earlier), _sent(earlier) - _sent(earlier - 1)
    return sympy.expand(_term(earlier + 1, _PLACE) - _term(earlier, _PLACE) - (making - sending))


def _maximum_is_half() -> sympy.Basic:
    half = (_ONE + _OTHER + sympy.Abs(_ONE - _OTHER)) / 2
    return agree_in_both_orders(sympy.Max(_ONE, _OTHER), half, _ONE, _OTHER)


def _is_ready_in_time() -> sympy.Basic:
    """From the start s of a bucket that is ready x and free y before it to the next, max(c, t) later."""
    start, early, free, making, sending, more = sympy.symbols("s x y c t more", nonnegative=True)
    gaps = []
    for order in ({making: sending + more}, {sending: making + more}):
        after = start + sympy.Max(making, sending)
        ready, passed = start - early + making, sympy.Max(start - early, start - free) + sending
        for end in (ready, *terms(passed)):
            gaps.append(sympy.expand((after - end).subs(order)))
    return decided(all(gap.is_nonnegative for gap in gaps))


def _with_barriers() -> sympy.Expr:
    """T_f + c_1 + Σ max + t_B, the sum as half of three."""
    making, sending = backward_total - first_backward, sending_total - last_sending
    return sympy.expand(forward_time + first_backward + (making + sending + mismatch_total) / 2 + last_sending)


def _equal_parts() -> sympy.Expr:
    """A step with t ≥ c, the gradient in equal buckets."""
    sent = message_latency + byte_seconds * gradient_bytes / bucket_count
    return forward_time + bucket_count * sent + backward_total / bucket_count


def _sending_decides() -> sympy.Basic:
    making = backward_total / bucket_count
    sending = message_latency + byte_seconds * gradient_bytes / bucket_count
    longer = byte_seconds * gradient_bytes + message_latency * bucket_count - backward_total
    # With t = c + y, and with c = t + y; of 1 + further buckets.
    slow = equal_buckets().bound.subs({bucket_backward: _ONE, bucket_sending: _ONE + _OTHER})
    fast = equal_buckets().bound.subs({bucket_backward: _ONE + _OTHER, bucket_sending: _ONE})
    further = sympy.Symbol("further", integer=True, nonnegative=True)
    exact = sympy.expand(slow - forward_time - bucket_count * (_ONE + _OTHER) - _ONE)
    more = sympy.expand((fast - forward_time - bucket_count * _ONE - _ONE - _OTHER).subs(bucket_count, 1 + further))
    stated = forward_time + making + message_latency * bucket_count + byte_seconds * gradient_bytes
    return decided(
        sympy.expand(bucket_count * (sending - making) - longer) == 0
        and exact == 0
        and more.is_nonnegative
        and sympy.expand(_equal_parts() - stated) == 0
    )


def _one_bucket_more() -> sympy.Basic:
    size = sympy.Symbol("size", positive=True)
    gained = _equal_parts().subs(bucket_count, bucket_count + 1) - _equal_parts()
    stated = message_latency - backward_total / (bucket_count * (bucket_count + 1))
    slope = sympy.diff(-1 / (size * (size + 1)), size)
    return decided(sympy.simplify(gained - stated) == 0 and sympy.simplify(slope).is_positive)


STATEMENTS = by_label(__name__, equal_buckets, bucket_floor, bucket_cap, bucket_optimum)
"""The statements of this file."""
