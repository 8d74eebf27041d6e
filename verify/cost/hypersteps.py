"""What evidence is there for the cost of bulk-synchronous programs? They are run, word by word, on clocks in fractions.

Words of a superstep really pass in rounds in which everybody sends one and takes one: an edge colouring with as many
colours as the degree (König 1916). Inner products are really computed. Ours.
"""

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import product

from hypothesis import strategies as st

from sparsync.theory.statements import STATEMENTS
from sparsync.verify.cost.farms import counted, times
from sparsync.verify.tools.edges import Edge, Remark, Unneeded
from sparsync.verify.tools.outcome import Check, Grade, Outcome, Profile
from sparsync.verify.tools.properties import Members, property_check

Word = tuple[int, int]
"""Who sends it, and who takes it."""


def rounds(words: Sequence[Word]) -> list[list[Word]]:
    """All words in as few rounds as can be, in each of which nobody sends two or takes two."""
    sent: dict[tuple[str, int], dict[int, int]] = {}
    placed: dict[int, int] = {}

    def free(place: tuple[str, int]) -> int:
        used = sent.setdefault(place, {})
        return next(round_ for round_ in range(len(words)) if round_ not in used)

    for number, (sender, taker) in enumerate(words):
        ends = ("sends", sender), ("takes", taker)
        first, second = free(ends[0]), free(ends[1])
        if first != second:
            _swap(words, sent, placed, ends[1], first, second)
        placed[number] = first
        for end in ends:
            sent[end][first] = number
    return [[words[number] for number in placed if placed[number] == round_] for round_ in range(_count(placed))]


def _count(placed: dict[int, int]) -> int:
    return max(placed.values(), default=-1) + 1


def _swap(
    words: Sequence[Word],
    sent: dict[tuple[str, int], dict[int, int]],
    placed: dict[int, int],
    place: tuple[str, int],
    first: int,
    second: int,
) -> None:
    """Along the path of words in two rounds that begins where the second is free, exchange the rounds."""
    path, wanted = [], first
    while wanted in sent.setdefault(place, {}):
        number = sent[place][wanted]
        path.append(number)
        ends = ("sends", words[number][0]), ("takes", words[number][1])
        place = ends[1] if place == ends[0] else ends[0]
        wanted = second if wanted == first else first
    for number in path:
        for end in (("sends", words[number][0]), ("takes", words[number][1])):
            del sent[end][placed[number]]
        placed[number] = second if placed[number] == first else first
    for number in path:
        for end in (("sends", words[number][0]), ("takes", words[number][1])):
            sent[end][placed[number]] = number


def superstep_seconds(works: Sequence[Fraction], words: Sequence[Word], word: Fraction, barrier: Fraction) -> Fraction:
    """A superstep as it is run.

    Raises:
        ValueError: in a round somebody sends or takes two words.
    """
    clock = max(works)
    for passing in rounds(words):
        for end in (0, 1):
            if max(Counter(each[end] for each in passing).values()) > 1:
                raise ValueError(f"a round holds {passing}")
        clock += word
    return clock + barrier


def relation_size(words: Sequence[Word]) -> int:
    """Most words that one sends, or takes."""
    return max((max(Counter(word[end] for word in words).values()) for end in (0, 1) if words), default=0)


def streamed_seconds(works: Sequence[Fraction], fetches: Sequence[Fraction]) -> Fraction:
    """Hypersteps whose next words come while they run."""
    core, memory = Fraction(0), Fraction(0)
    for work, fetch in zip(works, fetches, strict=True):
        begin = max(core, memory)
        core, memory = begin + work, begin + fetch
    return max(core, memory)


def whole_stream_seconds(works: Sequence[Fraction], fetches: Sequence[Fraction]) -> Fraction:
    """The same from the first word; each fetch is that of the hyperstep of the same place."""
    core, memory = Fraction(0), fetches[0]
    for work, fetch in zip(works, (*fetches[1:], Fraction(0)), strict=True):
        begin = max(core, memory)
        core, memory = begin + work, begin + fetch
    return core


def inner_product_seconds(
    left: Sequence[int], right: Sequence[int], cores: int, token: int, costs: tuple[Fraction, Fraction, Fraction]
) -> Fraction:
    """An inner product of two streams as it is computed.

    Args:
        left: entries of one vector, as many for each core, but that the last may have fewer.
        right: of the other.
        cores: how many.
        token: words of a token; the last of a core may have fewer.
        costs: of a word that is sent, of a barrier, and of a word that is fetched.

    Raises:
        ValueError: a core ends without the inner product.
    """
    word, barrier, fetch = costs
    own = -(-len(left) // cores)
    sums, works, fetches = [0] * cores, [], []
    for begin in range(0, own, token):
        operations = [0] * cores
        for core in range(cores):
            for place in range(core * own + begin, min(core * own + begin + token, (core + 1) * own, len(left))):
                sums[core] += left[place] * right[place]
                operations[core] += 2
        works.append(Fraction(max(operations)))
        # As many words as there were operations.
        fetches.append(max(operations) * fetch)
    totals, additions = list(sums), [0] * cores
    words = [(sender, taker) for sender in range(cores) for taker in range(cores) if sender != taker]
    for sender, taker in words:
        totals[taker] += sums[sender]
        additions[taker] += 1
    if set(totals) != {sum(one * other for one, other in zip(left, right, strict=True))}:
        raise ValueError(f"the cores end with {totals}")
    end = superstep_seconds([Fraction(count) for count in additions], words, word, barrier)
    return streamed_seconds(works, fetches) + end


def superstep_margin(works: Sequence[Fraction], words: Sequence[Word], word: Fraction, barrier: Fraction) -> Fraction:
    """Minus the difference of a superstep as it is run from the statement."""
    stated = STATEMENTS["bsp_superstep"].fraction(
        superstep_work=max(works), relation_size=relation_size(words), word_cost=word, barrier_cost=barrier
    )
    return -abs(superstep_seconds(works, words, word, barrier) - stated)


Pairs = Sequence[tuple[Fraction, Fraction]]
"""Of each hyperstep the time of its supersteps, and that of what is fetched meanwhile."""


def streamed_margin(pairs: Pairs) -> Fraction:
    """The same of hypersteps."""
    works, fetches = zip(*pairs, strict=True)
    stated = STATEMENTS["streamed_hypersteps"].fraction(
        computing_total=sum(works),
        fetching_total=sum(fetches),
        mismatch_total=sum(abs(work - fetch) for work, fetch in pairs),
    )
    return -abs(streamed_seconds(works, fetches) - stated)


def unoverlapped_margin(pairs: Pairs) -> Fraction:
    """The same of those that do one thing at a time; −1 if overlap saves more than half."""
    works, fetches = zip(*pairs, strict=True)
    streamed, clock = streamed_seconds(works, fetches), Fraction(0)
    for work, fetch in pairs:
        clock += work
        clock += fetch
    stated = STATEMENTS["unoverlapped_hypersteps"].fraction(
        streamed_time=streamed, mismatch_total=sum(abs(work - fetch) for work, fetch in pairs)
    )
    return -abs(clock - stated) if streamed <= clock <= 2 * streamed else Fraction(-1)


def whole_margin(work: Fraction, words: int, fetch: Fraction, count: int) -> Fraction:
    """The same of equal hypersteps from their first word."""
    stated = STATEMENTS["whole_stream"].fraction(
        hyperstep_work=work, token_words=words, fetch_cost=fetch, hyperstep_count=count
    )
    return -abs(whole_stream_seconds([work] * count, [words * fetch] * count) - stated)


def inner_product_margin(
    cores: int, token: int, steps: int, costs: tuple[Fraction, Fraction, Fraction], seed: int
) -> Fraction:
    """The same of an inner product of vectors of cores·token·steps small integers."""
    length = cores * token * steps
    left = [(seed + 3 * place) % 7 - 3 for place in range(length)]
    right = [(seed * place + 1) % 5 - 2 for place in range(length)]
    stated = STATEMENTS["streamed_inner_product"].fraction(
        vector_length=length, core_count=cores, word_cost=costs[0], barrier_cost=costs[1], fetch_cost=costs[2]
    )
    return -abs(inner_product_seconds(left, right, cores, token, costs) - stated)


COSTS = tuple(
    (Fraction(word), Fraction(barrier), Fraction(fetch, 2))
    for word, barrier, fetch in product((0, 3), (1, 9), (0, 1, 5))
)
"""Of a word that is sent, of a barrier, and of one that is fetched."""


def superstep_check(_profile: Profile) -> Outcome:
    """`rational`: all words to the next, to everybody, to one, and of some who send little."""
    cores = 4
    everybody = [(one, other) for one in range(cores) for other in range(cores) if one != other]
    relations: list[list[Word]] = [
        [],
        [(core, (core + 1) % cores) for core in range(cores)] * 3,
        everybody * 2,
        [(core, 0) for core in range(1, cores)] * 2 + [(0, 1)] * 5,
    ]
    works = [Fraction(core) for core in range(cores)]
    return counted([superstep_margin(works, words, *costs[:2]) for words in relations for costs in COSTS])


def streamed_check(_profile: Profile) -> Outcome:
    """`rational`: three hypersteps that compute, or fetch, longer in every order."""
    lengths = [Fraction(length) for length in (0, 1, 4)]
    pairs = [(work, fetch) for work in lengths for fetch in lengths]
    return counted([streamed_margin(triple) for triple in product(pairs, repeat=3) if any(map(sum, triple))])


def unoverlapped_check(_profile: Profile) -> Outcome:
    """`rational`: likewise."""
    lengths = [Fraction(length) for length in (1, 4, 0)]
    pairs = [(work, fetch) for work in lengths for fetch in lengths]
    return counted([unoverlapped_margin(triple) for triple in product(pairs, repeat=3) if any(map(sum, triple))])


def whole_check(_profile: Profile) -> Outcome:
    """`rational`: one hyperstep and more, bound by work or by memory."""
    cases = product((1, 6), (1, 4), (1, 3), (1, 2, 7))
    return counted(
        [whole_margin(Fraction(work), words, Fraction(fetch, 2), count) for work, words, fetch, count in cases]
    )


def inner_product_check(_profile: Profile) -> Outcome:
    """`rational`: one core and more, small and large tokens."""
    cases = product((1, 2, 4), (1, 3), (1, 4), COSTS)
    return counted([inner_product_margin(*case, seed=2) for case in cases])


def costs() -> st.SearchStrategy[tuple[Fraction, Fraction, Fraction]]:
    """As `COSTS`."""
    return st.tuples(times(0), times(0), times(0))


def superstep_cases() -> Members:
    """Works, words between different cores, and what a word and a barrier cost."""
    core = st.integers(0, 4)
    words = st.lists(st.tuples(core, core).filter(lambda word: word[0] != word[1]), max_size=25)
    return st.tuples(st.lists(times(), min_size=5, max_size=5), words, times(0), times(0))


def stream_cases() -> Members:
    """Pairs of hypersteps."""
    pair = st.tuples(times(0), times(0))
    return st.tuples(st.lists(pair, min_size=1, max_size=6).filter(lambda pairs: any(map(sum, pairs))))


def whole_cases() -> Members:
    """Work, words, their cost, and a count."""
    return st.tuples(times(), st.integers(1, 20), times(0), st.integers(1, 12))


def inner_product_cases() -> Members:
    """Cores, words of a token, tokens, costs, and a seed."""
    return st.tuples(st.integers(1, 5), st.integers(1, 4), st.integers(1, 4), costs(), st.integers(0, 9))


EDGES: dict[str, tuple[Remark, ...]] = {
    "streamed_hypersteps": (
        Unneeded(
            "mismatch_total >= Abs(computing_total - fetching_total)",
            "Σ|x − y| ≥ |Σx − Σy| is true of all hypersteps: none have other totals",
        ),
        Unneeded(
            "mismatch_total <= computing_total + fetching_total",
            "|x − y| ≤ x + y is true of all hypersteps: none have other totals",
        ),
    ),
    "unoverlapped_hypersteps": (
        Unneeded("mismatch_total <= streamed_time", "|x − y| ≤ max(x, y): no hypersteps differ by more than they take"),
    ),
    "streamed_inner_product": (
        # Three entries of one core and two of the other.
        Edge(
            "Eq(Mod(vector_length, core_count), 0)",
            {"vector_length": 5, "core_count": 2, "word_cost": 1, "barrier_cost": 1, "fetch_cost": 2},
            left=lambda: inner_product_seconds([1] * 5, [1] * 5, 2, 1, (Fraction(1), Fraction(1), Fraction(2))),
        ),
    ),
}
"""Points just beyond the conditions of these statements, and why some conditions are not needed."""

CHECKS: dict[str, dict[Grade, Check]] = {
    "bsp_superstep": {"rational": superstep_check, "property": property_check(superstep_cases, superstep_margin)},
    "streamed_hypersteps": {"rational": streamed_check, "property": property_check(stream_cases, streamed_margin)},
    "unoverlapped_hypersteps": {
        "rational": unoverlapped_check,
        "property": property_check(stream_cases, unoverlapped_margin),
    },
    "whole_stream": {"rational": whole_check, "property": property_check(whole_cases, whole_margin)},
    "streamed_inner_product": {
        "rational": inner_product_check,
        "property": property_check(inner_product_cases, inner_product_margin),
    },
}
"""Every check of these statements, by label and grade."""
