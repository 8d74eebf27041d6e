"""What evidence is there for the boundaries of farms? Farms of all sizes are played, and the fastest is looked for.

Times that are played fix the form of the time in the number of workers, A + BK + C/K or its like in a tree: where that
is least for real K is found from them, exactly or in balls, and not from the formula of the statement. Ours.
"""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import count, product

import sympy
from flint import arb, ctx
from hypothesis import strategies as st

from sparsync.theory.statements import STATEMENTS
from sparsync.verify.cost.farms import (
    TREES,
    Star,
    Tree,
    counted,
    phased_seconds,
    times,
    tree_numbers,
    tree_seconds,
    trees,
)
from sparsync.verify.tools.balls import PRECISION_BITS, exact_ball
from sparsync.verify.tools.outcome import Check, Grade, Outcome, Profile
from sparsync.verify.tools.properties import Members, property_check

CLOSE, NEAR = Fraction(1, 2**40), Fraction(1, 128)
"""Relative distances from a boundary at which times must differ: of listed trees, and of drawn ones."""
ALMOST_NOTHING = Fraction(1, 64)
"""Of a latency: what a selection leaves to tell where the most that it can gain is all but gained."""


def first_best(seconds: Callable[[int], Fraction], first: int) -> int:
    """The least argument of the shortest time, where times fall to it and do not fall after it."""
    return next(size for size in count(first) if seconds(size + 1) >= seconds(size))


def worked(farm: Star, size: Fraction | int) -> Star:
    """The farm with as much work as makes so many workers its boundary."""
    return replace(farm, work=(2 * farm.latency + farm.send) * Fraction(size) ** 2)


def real_best(seconds: Callable[[int], Fraction]) -> Fraction:
    """The square of the real K ≥ 1 with the shortest time A + BK + C/K, by the times of three sizes.

    Raises:
        ValueError: other sizes do not have times of this form.
    """
    steps = [seconds(size + 1) - seconds(size) for size in (1, 2)]
    shared = 3 * (steps[1] - steps[0])
    each = steps[0] + shared / 2
    if any(seconds(size) - seconds(1) != (size - 1) * (each - shared / size) for size in (4, 7)):
        raise ValueError("the times have another form")
    return max(Fraction(1), shared / each)


def _square(label: str, **numbers_by_name: Fraction) -> Fraction:
    """Of a bound that is a root."""
    square = sympy.Rational(STATEMENTS[label].exact(**numbers_by_name) ** 2)
    return Fraction(int(square.p), int(square.q))


def boundary_margin(farm: Star, size: Fraction | int) -> Fraction:
    """Minus the distance, in squares, of the stated boundary from the best real and whole size of a farm.

    It has the work that makes this size, or one worker, the boundary.
    """
    farm, label = worked(farm, size), "star_farm_boundary"
    stated = _square(label, latency=farm.latency, send_time=farm.send, work_time=farm.work)
    return -_distance(partial(phased_seconds, farm, label=label), stated)


def _distance(seconds: Callable[[int], Fraction], stated: Fraction) -> Fraction:
    """The larger of two distances from the square of a best size: of the best real one, and of the best whole one."""
    return max(abs(real_best(seconds) - stated), abs(first_best(seconds, 1) ** 2 - stated))


def optimum_margin(farm: Star) -> Fraction:
    """Minus the distance of the stated best size from that of the farm."""
    label = "star_farm_optimum"
    stated = STATEMENTS[label].fraction(latency=farm.latency, send_time=farm.send, work_time=farm.work)
    return -abs(first_best(partial(phased_seconds, farm, label=label), 1) - stated)


def speed_up_margin(farm: Star, best: int, size: int) -> Fraction:
    """Room above the speed-up of a farm of this size; minus the distance from that of the best size, if it is more."""
    farm, label = worked(farm, best), "star_farm_speed_up"
    bound = STATEMENTS[label].fraction(
        latency=farm.latency,
        send_time=farm.send,
        receive_time=farm.receive,
        master_time=farm.master,
        work_time=farm.work,
    )
    alone = phased_seconds(farm, 1, label)
    return min(
        bound - alone / phased_seconds(farm, size, label), -abs(bound - alone / phased_seconds(farm, best, label))
    )


def selected_margin(farm: Star, size: Fraction | int, share: Fraction) -> Fraction:
    """As `boundary_margin` with a share of what is told."""
    sent, label = worked(replace(farm, send=share * farm.send), size), "selected_farm_boundary"
    stated = _square(
        label,
        latency=farm.latency,
        send_time=farm.send,
        payload_share=share,
        work_time=sent.work,
    )
    return -_distance(partial(phased_seconds, sent, label=label), stated)


def gain_margin(farm: Star, size: Fraction | int, share: Fraction) -> Fraction:
    """Room, in squares, above what a selection gains a farm whose boundary is this size, or one worker.

    Where next to nothing is told, less room than it may leave there, 2L/(2L + L/64) of the bound, is a failure too.
    """
    farm, label = worked(farm, size), "selected_farm_gain"
    bound = _square(label, latency=farm.latency, send_time=farm.send)

    def gained(farm: Star, share: Fraction) -> Fraction:
        sent = replace(farm, send=share * farm.send)
        ends = (real_best(partial(phased_seconds, each, label=label)) for each in (sent, farm))
        return next(ends) / next(ends)

    nearly = gained(worked(farm, 1 + size), ALMOST_NOTHING * farm.latency / farm.send)
    least = bound * 2 / (2 + ALMOST_NOTHING)
    return min(bound - gained(farm, share), bound - nearly, nearly - least)


def turn_margin(label: str, tree: Tree, parts: int, beside: Fraction) -> float:
    """By how much the time falls to the stated boundary and grows after it, relative to the work; in balls.

    Played times fix the form A + Bq + C2^q + D/2^q, whose derivative by q is taken at this relative distance before the
    boundary and after it. Beyond one worker, or one a part, nothing is asked.
    """
    rounds, folds, work = tree_form(label, tree, parts)
    numbers = {str(name): value for name, value in tree_numbers(tree, parts).items()}
    with ctx.workprec(PRECISION_BITS):
        boundary = arb(str(sympy.N(STATEMENTS[label].exact(**numbers), 36)))

        def slope(size: arb) -> arb:
            natural = exact_ball(rounds) / arb(2).log()
            return (natural + exact_ball(folds) * size - exact_ball(work) / size) / exact_ball(work)

        before, after = boundary * exact_ball(1 - beside), boundary * exact_ball(1 + beside)
        room = [arb(1)] if not before >= 1 else [-slope(before)]
        room += [arb(1)] if not after <= parts else [slope(after)]
        room += [boundary * exact_ball(1 + beside) - 1, parts - boundary * exact_ball(1 - beside)]
        return min(float(ball.lower()) for ball in room)


def tree_form(label: str, tree: Tree, parts: int) -> tuple[Fraction, Fraction, Fraction]:
    """B, C and D of the time A + Bq + C2^q + D/2^q of a tree, by the times of four depths.

    Raises:
        ValueError: another depth has no time of this form.
    """
    is_gathered = label.startswith("gathered")
    played = [_even_seconds(label, tree, depth, parts, master_folds=is_gathered) for depth in range(5)]
    first, second, third, last = (played[depth + 1] - played[depth] for depth in range(4))
    work = Fraction(8, 3) * (2 * (second - first) - (third - second))
    folds = second - first - work / 4
    rounds = first - folds + work / 2
    if last != rounds + 8 * folds - work / 16:
        raise ValueError("the times have another form")
    return rounds, folds, work


def depth_margin(tree: Tree, parts: int) -> Fraction:
    """Minus the distance of the stated best depth from the best one."""
    return -abs(best_depth(tree, parts) - STATEMENTS["tree_farm_depth"].fraction(**tree_numbers(tree, parts)))


def best_depth(tree: Tree, parts: int) -> int:
    """The least best depth of folding trees with at most a worker a part."""
    label, depths = "tree_farm_depth", range(parts.bit_length())
    return min(depths, key=lambda depth: (_even_seconds(label, tree, depth, parts, master_folds=False), depth))


def _even_seconds(label: str, tree: Tree, depth: int, parts: int, *, master_folds: bool) -> Fraction:
    """A tree is played with a part a worker; each worker has the folds of an equal share, a fraction if need be."""
    size = 2**depth
    played = tree_seconds(tree, depth, size, master_folds=master_folds, label=label)
    return played + (Fraction(parts, size) - 1) * tree.fold


HALF = Fraction(1, 2)
SIZES = (HALF, Fraction(1), Fraction(7))
"""Boundaries of farms, were there no less than one worker."""
FARMS = tuple(Star(*map(Fraction, listed)) for listed in product((1, 2), (1, 50), (0, 3), (0, 2), (1,)))
"""Farms of listed times; how much work they have is said besides."""


def boundary_check(_profile: Profile) -> Outcome:
    """`rational`: listed farms with the work for up to nine workers."""
    return counted([boundary_margin(farm, size) for farm in FARMS for size in (HALF, *range(1, 10))])


def optimum_check(_profile: Profile) -> Outcome:
    """`rational`: the same farms with any work, whose boundary is not whole."""
    return counted(
        [optimum_margin(replace(farm, work=Fraction(work))) for farm in FARMS for work in (1, 10, 48, 200, 301)]
    )


def speed_up_check(_profile: Profile) -> Outcome:
    """`rational`: the best size attains the bound."""
    return counted([speed_up_margin(farm, best, 2) for farm in FARMS for best in range(1, 8)])


def selected_check(_profile: Profile) -> Outcome:
    """`rational`: listed densities."""
    cases = product(FARMS, SIZES, (Fraction(1, 100), Fraction(1), Fraction(3, 2)))
    return counted([selected_margin(*case) for case in cases])


def gain_check(_profile: Profile) -> Outcome:
    """`rational`: listed densities, and one that leaves next to nothing."""
    cases = product(FARMS, SIZES, (Fraction(1, 100), Fraction(3, 2)))
    return counted([gain_margin(*case) for case in cases])


def turn_check(label: str) -> Check:
    """`ball`: the time of listed trees turns at the boundary, to 2^-40."""

    def check(_profile: Profile) -> Outcome:
        margins = [turn_margin(label, *case, CLOSE) for case in (*LISTED, *AT_EDGES)]
        return Outcome(
            earned=min(margins) > 0, detail={"cases_count": len(margins), "smallest_margin": str(min(margins))}
        )

    return check


def depth_check(_profile: Profile) -> Outcome:
    """`rational`: the best depth of listed trees."""
    return counted([depth_margin(*case) for case in (*LISTED, *AT_EDGES)])


def with_list(tree: Tree, parts: int, share: Fraction) -> tuple[Tree, int]:
    """The tree with so long a map that a part's takes this share of a round."""
    return replace(tree, mapping=share * parts * (tree.down + tree.up)), parts


LISTED = tuple(
    with_list(tree, parts, Fraction(share, 3)) for tree in TREES for parts in (1, 3, 8, 50) for share in (1, 3, 9)
)
"""Trees with lists."""
AT_EDGES = tuple(
    (Tree(Fraction(1), Fraction(2), Fraction(1), Fraction(mapping), Fraction(0)), 40)
    for mapping in (24, 25, 26, 88, 89)
)
"""The same where a power of two is hardly the best, or hardly is no more."""
SIZE = st.integers(1, 12)


def farms() -> st.SearchStrategy[Star]:
    """Farms of any times; their work is said besides."""
    return st.builds(Star, times(), times(), times(0), times(0), times())


def boundary_cases() -> Members:
    """A farm and the size that is to be best, or less than one worker."""
    return st.tuples(farms(), SIZE | st.just(HALF))


def optimum_cases() -> Members:
    """A farm with any work."""
    return st.tuples(st.builds(lambda farm, work: replace(farm, work=20 * work), farms(), times()))


def speed_up_cases() -> Members:
    """A farm, the size that is to be best, and another."""
    return st.tuples(farms(), SIZE, SIZE)


def selected_cases() -> Members:
    """A farm, the size that is to be best, or less than one worker, and a share."""
    return st.tuples(farms(), SIZE | st.just(HALF), st.builds(Fraction, SIZE, SIZE))


def tree_cases() -> Members:
    """A tree and the length of its list, the map of a part of which may be longer than a round."""
    share = st.builds(Fraction, SIZE, SIZE)
    return st.builds(with_list, trees(), st.integers(1, 60), share)


def turn_property(label: str) -> Check:
    """`property`: the time of drawn trees turns near the boundary."""

    def margin(tree: Tree, parts: int) -> float:
        return turn_margin(label, tree, parts, NEAR)

    return property_check(tree_cases, margin)


CHECKS: dict[str, dict[Grade, Check]] = {
    "star_farm_boundary": {"rational": boundary_check, "property": property_check(boundary_cases, boundary_margin)},
    "star_farm_optimum": {"rational": optimum_check, "property": property_check(optimum_cases, optimum_margin)},
    "star_farm_speed_up": {"rational": speed_up_check, "property": property_check(speed_up_cases, speed_up_margin)},
    "selected_farm_boundary": {
        "rational": selected_check,
        "property": property_check(selected_cases, selected_margin),
    },
    "selected_farm_gain": {"rational": gain_check, "property": property_check(selected_cases, gain_margin)},
    "tree_farm_boundary": {"ball": turn_check("tree_farm_boundary"), "property": turn_property("tree_farm_boundary")},
    "tree_farm_depth": {"rational": depth_check, "property": property_check(tree_cases, depth_margin)},
    "gathered_farm_boundary": {
        "ball": turn_check("gathered_farm_boundary"),
        "property": turn_property("gathered_farm_boundary"),
    },
}
"""Every check of these statements, by label and grade."""

SLACK: dict[str, dict[str, str]] = {
    "selected_farm_gain": {
        "part": "with any share of the work, t_w/K times 17/16 or 2, both boundaries move by one factor, its root"
    }
}
"""Which assumed numbers may be a little other."""
