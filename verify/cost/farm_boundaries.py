"""What evidence is there for the boundaries of farms? Farms of all sizes are played, and the fastest is looked for.

Times are chosen so that a boundary is whole where it has a root; where it has a logarithm, times a little before and
after it are longer. Ours.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import count, product

import sympy
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
from sparsync.verify.tools.outcome import Check, Grade, Outcome, Profile
from sparsync.verify.tools.properties import Members, property_check

BESIDE = 1 / 16
"""By so many doublings sizes beside a boundary differ from it; a boundary that is a sixteenth off lies farther away."""


def first_best(seconds: Callable[[int], Fraction], first: int) -> int:
    """The least argument of the shortest time, where times fall to it and do not fall after it."""
    return next(size for size in count(first) if seconds(size + 1) >= seconds(size))


def is_best(farm: Star, size: int) -> bool:
    """Whether one worker more or fewer is slower."""
    best = phased_seconds(farm, size)
    others = [other for other in (size - 1, size + 1) if other]
    return all(phased_seconds(farm, other) > best for other in others)


def worked(farm: Star, size: int) -> Star:
    """The farm with as much work as makes so many workers its boundary."""
    return replace(farm, work=(2 * farm.latency + farm.send) * size**2)


def _square(label: str, **numbers_by_name: Fraction) -> Fraction:
    """Of a bound that is a root."""
    square = sympy.Rational(STATEMENTS[label].exact(**numbers_by_name) ** 2)
    return Fraction(int(square.p), int(square.q))


def boundary_margin(farm: Star, size: int) -> Fraction:
    """Minus the distance of the stated boundary from the best size of a farm with the work for it, in squares."""
    farm = worked(farm, size)
    stated = _square("star_farm_boundary", latency=farm.latency, send_time=farm.send, work_time=farm.work)
    return -abs(first_best(lambda size: phased_seconds(farm, size), 1) ** 2 - stated)


def optimum_margin(farm: Star) -> Fraction:
    """Minus the distance of the stated best size from that of the farm."""
    stated = STATEMENTS["star_farm_optimum"].fraction(latency=farm.latency, send_time=farm.send, work_time=farm.work)
    return -abs(first_best(lambda size: phased_seconds(farm, size), 1) - stated)


def speed_up_margin(farm: Star, best: int, size: int) -> Fraction:
    """Room above the speed-up of a farm of this size and of the best size."""
    farm = worked(farm, best)
    bound = STATEMENTS["star_farm_speed_up"].fraction(
        latency=farm.latency,
        send_time=farm.send,
        receive_time=farm.receive,
        master_time=farm.master,
        work_time=farm.work,
    )
    alone = phased_seconds(farm, 1)
    return min(bound - alone / phased_seconds(farm, workers) for workers in (best, size))


def selected_margin(farm: Star, size: int, share: Fraction) -> Fraction:
    """As `boundary_margin` with a share of what is told."""
    sent = worked(replace(farm, send=share * farm.send), size)
    stated = _square(
        "selected_farm_boundary",
        latency=farm.latency,
        send_time=farm.send,
        payload_share=share,
        work_time=sent.work,
    )
    return -abs(first_best(lambda size: phased_seconds(sent, size), 1) ** 2 - stated)


def gain_margin(latency: Fraction, above: int, below: int, closeness: int) -> Fraction:
    """Room, in squares, above a quotient of boundaries, (above + below)N/(below(N + 1)) with closeness N; −1: none.

    Without a selection t_s/(2L) + 1 is the square of (above + below)/below.
    """
    factor, spare = Fraction(above + below, below), Fraction(closeness + 1, closeness)
    send = 2 * latency * (factor**2 - 1)
    share = (spare**2 - 1) / (factor**2 - 1)
    before, after = below * (closeness + 1), (above + below) * closeness
    farm = worked(Star(latency, send, Fraction(1), Fraction(1), Fraction(1)), before)
    are_best = is_best(farm, before) and is_best(replace(farm, send=share * send), after)
    bound = _square("selected_farm_gain", latency=latency, send_time=send)
    return bound - Fraction(after, before) ** 2 if are_best and share <= 1 else Fraction(-1)


def power_margin(tree: Tree, parts: int) -> Fraction:
    """Room of the best power of two above K*/(2 ln 2), and below K*/ln 2 unless it is 1."""
    stated = STATEMENTS["tree_farm_boundary"].exact(**tree_numbers(tree, parts))
    ratio = sympy.Rational(stated / sympy.log(2))
    reach, best = Fraction(int(ratio.p), int(ratio.q)), 1 << best_depth(tree, parts)
    return min(best - reach / 2, reach - best if best > 1 else Fraction(1))


def depth_margin(tree: Tree, parts: int) -> Fraction:
    """Minus the distance of the stated best depth from the best one."""
    return -abs(best_depth(tree, parts) - STATEMENTS["tree_farm_depth"].fraction(**tree_numbers(tree, parts)))


def best_depth(tree: Tree, parts: int) -> int:
    """The least best depth of folding trees with at most a worker a part."""
    depths = range(parts.bit_length())
    return min(depths, key=lambda depth: (_even_seconds(tree, depth, parts), depth))


def _even_seconds(tree: Tree, depth: int, parts: int) -> Fraction:
    """A tree is played with a part a worker; each worker has the folds of an equal share, a fraction if need be."""
    size = 2**depth
    return tree_seconds(tree, depth, size, master_folds=False) + (Fraction(parts, size) - 1) * tree.fold


def turn_margin(tree: Tree, parts: int) -> float:
    """By how much longer an iteration is with a few workers more or fewer than the stated boundary; relative.

    In doubles: a term is right to 1e-15, and the times differ by some 1e-3.
    """
    return _turn_margin("tree_farm_boundary", tree, parts, folds=0.0)


def gathered_turn_margin(tree: Tree, parts: int) -> float:
    """The same where the master folds."""
    return _turn_margin("gathered_farm_boundary", tree, parts, folds=float(tree.fold))


def _turn_margin(label: str, tree: Tree, parts: int, folds: float) -> float:
    boundary = STATEMENTS[label].evaluate(**tree_numbers(tree, parts))
    level = float(tree.down + tree.up) + (0.0 if folds else float(tree.fold))
    work = float(tree.mapping + parts * tree.fold) / boundary
    longer = [
        level * way + folds * boundary * math.expm1(way * math.log(2)) + work * math.expm1(-way * math.log(2))
        for way in (-BESIDE, BESIDE)
    ]
    return min(longer) / work


FARMS = tuple(Star(*map(Fraction, listed)) for listed in product((1, 2), (1, 5), (0, 3), (0, 2), (1,)))
"""Farms of listed times; how much work they have is said besides."""


def boundary_check(_profile: Profile) -> Outcome:
    """`rational`: listed farms with the work for up to nine workers."""
    return counted([boundary_margin(farm, size) for farm in FARMS for size in range(1, 10)])


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
    shares = (Fraction(1, 100), Fraction(1, 3), Fraction(1))
    return counted([selected_margin(farm, size, share) for farm in FARMS for size in (1, 4, 7) for share in shares])


def gain_check(_profile: Profile) -> Outcome:
    """`rational`: shares that leave less and less."""
    cases = product((1, 3), (1, 2), (1, 2, 3), (6, 40))
    return counted([gain_margin(Fraction(1, part), above, below, close) for part, above, below, close in cases])


def power_check(_profile: Profile) -> Outcome:
    """`rational`: the best power of two lies where the boundary says, for listed trees."""
    return counted([power_margin(*case) for case in (*LISTED, *AT_EDGES)])


def depth_check(_profile: Profile) -> Outcome:
    """`rational`: the best depth of listed trees."""
    return counted([depth_margin(*case) for case in (*LISTED, *AT_EDGES)])


def with_list(tree: Tree, parts: int, share: Fraction) -> tuple[Tree, int]:
    """The tree with so long a map that a part's takes this share of a round."""
    return replace(tree, mapping=share * parts * (tree.down + tree.up)), parts


LISTED = tuple(
    with_list(tree, parts, Fraction(share, 3)) for tree in TREES for parts in (1, 3, 8, 50) for share in (1, 3)
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
    """A farm and the size that is to be best."""
    return st.tuples(farms(), SIZE)


def optimum_cases() -> Members:
    """A farm with any work."""
    return st.tuples(st.builds(lambda farm, work: replace(farm, work=20 * work), farms(), times()))


def speed_up_cases() -> Members:
    """A farm, the size that is to be best, and another."""
    return st.tuples(farms(), SIZE, SIZE)


def selected_cases() -> Members:
    """A farm, the size that is to be best, and a share."""
    return st.tuples(farms(), SIZE, st.builds(Fraction, st.just(1), SIZE))


def gain_cases() -> Members:
    """A latency, two numbers whose quotient is the gain, and how closely it is approached."""
    return st.tuples(times(), st.integers(1, 4), st.integers(1, 4), st.integers(4, 40))


def tree_cases() -> Members:
    """A tree and the length of its list."""
    share = st.builds(lambda part, more: Fraction(part, part + more), SIZE, st.integers(0, 12))
    return st.builds(with_list, trees(), st.integers(1, 60), share)


CHECKS: dict[str, dict[Grade, Check]] = {
    "star_farm_boundary": {"rational": boundary_check, "property": property_check(boundary_cases, boundary_margin)},
    "star_farm_optimum": {"rational": optimum_check, "property": property_check(optimum_cases, optimum_margin)},
    "star_farm_speed_up": {"rational": speed_up_check, "property": property_check(speed_up_cases, speed_up_margin)},
    "selected_farm_boundary": {
        "rational": selected_check,
        "property": property_check(selected_cases, selected_margin),
    },
    "selected_farm_gain": {"rational": gain_check, "property": property_check(gain_cases, gain_margin)},
    "tree_farm_boundary": {"rational": power_check, "property": property_check(tree_cases, turn_margin)},
    "tree_farm_depth": {"rational": depth_check, "property": property_check(tree_cases, depth_margin)},
    "gathered_farm_boundary": {"property": property_check(tree_cases, gathered_turn_margin)},
}
"""Every check of these statements, by label and grade."""
