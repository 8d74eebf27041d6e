"""What does a bulk-synchronous program cost whose data are streamed from an external memory while it computes?

Supersteps are those of Valiant 1990: work, words that are exchanged, a barrier. Hypersteps are supersteps during which
the next tokens of the streams are fetched: the setting is that of Buurlage, Bannink and Wits 2016, arXiv 1608.07200,
which was not read. That nothing is fetched while something is computed is said to be that of Gerbessiotis' MBSP, which
was not read either. All laws here are ours.
"""

import sympy

from sparsync.theory.cost.maxima import agree_in_both_orders, ordered
from sparsync.theory.delay.stability import decided
from sparsync.theory.language.stated import by_label
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import (
    barrier_cost,
    computing_total,
    core_count,
    fetch_cost,
    fetching_total,
    hyperstep_count,
    hyperstep_work,
    inner_product_time,
    mismatch_total,
    relation_size,
    streamed_time,
    superstep_time,
    superstep_work,
    token_words,
    unoverlapped_time,
    vector_length,
    whole_stream_time,
    word_cost,
)

STREAMED_SETTING = "ours; the setting is that of Buurlage et al. 2016, which was not read"
STREAMED = (
    r"the supersteps of hyperstep $h$ take $T_h$; while they run, $C_h$ words are fetched, $e$ each, which the next "
    r"one needs; it begins when both have ended, and what the first one needs is there"
)
TOTALS = r"$W=\sum_h T_h$, $E=\sum_h eC_h$, $D=\sum_h|T_h-eC_h|$"
_STEP = sympy.Symbol("h", integer=True, positive=True)
_WORK = sympy.IndexedBase("T", nonnegative=True)
_FETCH = sympy.IndexedBase("E", nonnegative=True)
_ONE, _OTHER = sympy.symbols("x y", nonnegative=True)


def bsp_superstep() -> Statement:
    """w + gh + l: the most work, the most words that a processor sends or takes, and a barrier.

    h rounds are enough for all words, as the edges of a bipartite graph of degree h have h colours (König 1916), and
    fewer are not.

    Source: the model is Valiant's 1990; its use of rounds is ours.
    """
    bound = superstep_work + word_cost * relation_size + barrier_cost
    return Statement(
        label="bsp_superstep",
        title="Time of a superstep",
        assumptions=(
            r"processors compute, the slowest for $w$; then words pass in rounds of $g$, in each of which every one "
            r"sends at most one word and takes at most one, $h$ rounds for at most $h$ words; then all meet in $l$",
        ),
        relation=sympy.Eq(superstep_time, bound),
        domain=(),
        source="the model is that of Valiant 1990; in these terms ours",
        kind="definition",
        derivation=(
            Step(
                "h rounds of g",
                lambda: sympy.summation(word_cost, (_STEP, 1, relation_size)) - word_cost * relation_size,
            ),
            Step("work, rounds and barrier follow each other", lambda: _superstep() - bound, concludes=bound),
        ),
    )


def streamed_hypersteps() -> Statement:
    """Σ_h max(T_h, eC_h) = (W + E + D)/2: half of what computes, fetches and differs.

    Source: ours; the setting is that of Buurlage, Bannink and Wits 2016, which was not read.
    """
    bound = (computing_total + fetching_total + mismatch_total) / 2
    return Statement(
        label="streamed_hypersteps",
        title="Time of hypersteps",
        assumptions=(STREAMED, TOTALS),
        relation=sympy.Eq(streamed_time, bound),
        domain=(
            sympy.Ge(mismatch_total, sympy.Abs(computing_total - fetching_total)),
            sympy.Le(mismatch_total, computing_total + fetching_total),
        ),
        source=STREAMED_SETTING,
        kind="definition",
        derivation=(
            Step("a hyperstep takes max(x, y) = (x + y + |x − y|)/2", _maximum_is_half),
            Step("so the sum of all is half of three sums", _half_of_sums, concludes=bound),
            Step("it is W and all waits Σ_h max(0, eC_h − T_h) for tokens", _work_and_waits),
        ),
    )


def unoverlapped_hypersteps() -> Statement:
    """2T̃ − D, where T̃ is the time with overlap: what overlap saves, T̃ − D, is a factor from 1 to 2.

    2 iff every hyperstep computes just as long as it fetches, 1 iff each does only one of them.

    Source: ours.
    """
    bound = 2 * streamed_time - mismatch_total
    return Statement(
        label="unoverlapped_hypersteps",
        title="Time of hypersteps without overlap",
        assumptions=(STREAMED, r"$\tilde{T}=\sum_h\max(T_h,eC_h)$, $D=\sum_h|T_h-eC_h|$"),
        relation=sympy.Eq(unoverlapped_time, bound),
        domain=(sympy.Le(mismatch_total, streamed_time),),
        source="ours",
        kind="definition",
        derivation=(
            Step("x + y = 2max(x, y) − |x − y|", _sum_of_two),
            Step("so the sum of all is twice that with overlap, less D", _twice_less, concludes=bound),
            Step("0 ≤ |x − y| ≤ max(x, y), so it is in [T̃, 2T̃]", _difference_is_less),
        ),
    )


def whole_stream() -> Statement:
    """H max(T, eC) + min(T, eC) from the first word to the last operation: one token is hidden behind nothing.

    Source: ours.
    """
    fetched = fetch_cost * token_words
    bound = hyperstep_count * sympy.Max(hyperstep_work, fetched) + sympy.Min(hyperstep_work, fetched)
    return Statement(
        label="whole_stream",
        title="Time of a stream from its first word",
        assumptions=(
            r"each of $H$ hypersteps takes $T$ and needs $C$ words, which are fetched, $e$ each, while the one before "
            r"runs; those of the first are fetched before it, and the last fetches none",
        ),
        relation=sympy.Eq(whole_stream_time, bound),
        domain=(),
        source="ours",
        derivation=(
            Step(
                "hyperstep h begins at eC + (h − 1)max(T, eC), when it has its words and the one before has ended",
                _next_begins,
            ),
            Step("the last one ends T later: eC + (H − 1)max(T, eC) + T", lambda: _last_ends(bound), concludes=bound),
        ),
    )


def streamed_inner_product() -> Statement:
    """(2n/p)max(1, e) + (p − 1)(1 + g) + l: e > 1 makes it wait for memory, whatever the tokens are.

    Where p does not divide n, no processor has n/p entries, and the largest share takes longer than this.

    Source: ours; the setting is that of Buurlage, Bannink and Wits 2016, which was not read.
    """
    local = 2 * vector_length / core_count * sympy.Max(1, fetch_cost)
    bound = local + (core_count - 1) * (1 + word_cost) + barrier_cost
    return Statement(
        label="streamed_inner_product",
        title="Time of an inner product of two streams",
        assumptions=(
            r"$p$ processors have $n/p$ entries each of two vectors, as tokens of $C$ words which divide $n/p$; in a "
            r"hyperstep each multiplies and adds two tokens while two are fetched, $e$ a word, in the last the first "
            r"again; what the first needs is there; in the end each sends its sum to all others and adds theirs up",
        ),
        relation=sympy.Eq(inner_product_time, bound),
        domain=(sympy.Eq(sympy.Mod(vector_length, core_count), 0),),
        source=STREAMED_SETTING,
        kind="definition",
        derivation=(
            Step("n/(pC) hypersteps of max(2C, 2Ce)", lambda: _token_steps(local)),
            Step("a superstep of p − 1 additions and as many words", _final_step),
            Step("are the whole time", lambda: local + _final() - bound, concludes=bound),
            Step("for e ≤ 1 the first part is 2n/p, for e ≥ 1 it is 2ne/p", lambda: _two_regimes(local)),
        ),
    )


def _superstep() -> sympy.Expr:
    rounds = sympy.summation(word_cost, (_STEP, 1, relation_size))
    return superstep_work + rounds + barrier_cost


def _maximum_is_half() -> sympy.Basic:
    half = (_ONE + _OTHER + sympy.Abs(_ONE - _OTHER)) / 2
    return agree_in_both_orders(sympy.Max(_ONE, _OTHER), half, _ONE, _OTHER)


def _half_of_sums() -> sympy.Expr:
    limits = (_STEP, 1, hyperstep_count)
    work, fetch = _WORK[_STEP], _FETCH[_STEP]
    gap = sympy.Abs(work - fetch)
    twice = sympy.Sum(work + fetch + gap, limits).expand()
    named = {
        sympy.Sum(work, limits): computing_total,
        sympy.Sum(fetch, limits): fetching_total,
        sympy.Sum(gap, limits): mismatch_total,
    }
    return twice.xreplace(named) / 2 - streamed_hypersteps().bound


def _work_and_waits() -> sympy.Basic:
    return agree_in_both_orders(sympy.Max(_ONE, _OTHER), _ONE + sympy.Max(0, _OTHER - _ONE), _ONE, _OTHER)


def _sum_of_two() -> sympy.Basic:
    less = 2 * sympy.Max(_ONE, _OTHER) - sympy.Abs(_ONE - _OTHER)
    return agree_in_both_orders(_ONE + _OTHER, less, _ONE, _OTHER)


def _twice_less() -> sympy.Expr:
    """With T̃ as `streamed_hypersteps` has it."""
    return computing_total + fetching_total - (2 * streamed_hypersteps().bound - mismatch_total)


def _difference_is_less() -> sympy.Basic:
    more = sympy.Symbol("more", nonnegative=True)
    gaps = [
        (sympy.Max(_ONE, _OTHER) - sympy.Abs(_ONE - _OTHER)).subs(order)
        for order in ({_ONE: _OTHER + more}, {_OTHER: _ONE + more})
    ]
    return decided(all(sympy.expand(gap).is_nonnegative for gap in gaps))


def _begins(step: sympy.Expr) -> sympy.Expr:
    fetched = fetch_cost * token_words
    return fetched + (step - 1) * sympy.Max(hyperstep_work, fetched)


def _next_begins() -> sympy.Basic:
    """Both the fetching of the next token and the work begin with the hyperstep."""
    fetched = fetch_cost * token_words
    after = sympy.Max(_begins(_STEP) + fetched, _begins(_STEP) + hyperstep_work)
    difference = after - _begins(_STEP + 1)
    orders = ({hyperstep_work: fetched + _ONE}, {token_words: (hyperstep_work + _ONE) / fetch_cost})
    is_same = all(sympy.expand(difference.subs(order)) == 0 for order in orders)
    return decided(is_same and sympy.expand(_begins(sympy.Integer(1)) - fetched) == 0)


def _last_ends(bound: sympy.Expr) -> sympy.Basic:
    fetched = fetch_cost * token_words
    difference = _begins(hyperstep_count) + hyperstep_work - bound
    orders = ({hyperstep_work: fetched + _ONE}, {token_words: (hyperstep_work + _ONE) / fetch_cost})
    return decided(all(sympy.expand(difference.subs(order)) == 0 for order in orders))


def _token_steps(local: sympy.Expr) -> sympy.Basic:
    words, above = sympy.Symbol("words", positive=True), sympy.Symbol("above", nonnegative=True)
    steps = vector_length / (core_count * words)
    difference = steps * sympy.Max(2 * words, 2 * words * fetch_cost) - local
    cases = (1 + above, 1 / (1 + above), sympy.Integer(0))
    return decided(all(sympy.simplify(ordered(difference.subs(fetch_cost, cost))) == 0 for cost in cases))


def _final() -> sympy.Expr:
    numbers = {superstep_work: core_count - 1, relation_size: core_count - 1}
    return bsp_superstep().bound.subs(numbers)


def _final_step() -> sympy.Expr:
    return sympy.expand(_final() - (core_count - 1) * (1 + word_cost) - barrier_cost)


def _two_regimes(local: sympy.Expr) -> sympy.Basic:
    above, share = sympy.Symbol("above", nonnegative=True), 2 * vector_length / core_count
    slow = local.subs(fetch_cost, 1 + above) - share * (1 + above)
    fast = [local.subs(fetch_cost, cost) - share for cost in (1 / (1 + above), sympy.Integer(0))]
    return decided(all(sympy.simplify(ordered(gap)) == 0 for gap in (slow, *fast)))


STATEMENTS = by_label(
    __name__, bsp_superstep, streamed_hypersteps, unoverlapped_hypersteps, whole_stream, streamed_inner_product
)
"""The statements of this file."""
