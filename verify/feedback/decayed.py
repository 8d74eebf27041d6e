"""What evidence is there for what a decaying memory keeps and loses, `theory/feedback/decayed.py`, but derivations?

Vectors of the plane are compressed by every effect that a contraction can have, in fractions; any workers and
compressors for the virtual iterate; for equal magnitudes the real Top-k and a sort of this file. Ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import sympy
import torch
from hypothesis import strategies as st

from sparsync.kernels.selection import SELECTORS
from sparsync.theory.language.symbols import (
    delta,
    eta,
    mean_change,
    mean_residual,
    residual_decay,
    sigma_squared,
    virtual_iterate,
)
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.feedback.queries import bound_sides
from sparsync.verify.feedback.residual import _POSITIVE, ROOTS, Action, Vector, _plain, _square, planar_runs
from sparsync.verify.feedback.runs.decayed_runs import ONE, ZERO, bound_above, contraction, scale
from sparsync.verify.tools.edges import Edge, Remark, Unneeded
from sparsync.verify.tools.outcome import Check, Grade, Outcome, Profile
from sparsync.verify.tools.properties import property_check
from sparsync.verify.tools.smt import Query, smt_check

DECAYS = tuple(Fraction(numerator, 8) for numerator in range(9))
"""Values of β that are drawn."""
LONG_CASES = (
    (Fraction(31, 32), ONE, 160),
    (Fraction(31, 32), Fraction(7, 8), 40),
    (Fraction(1, 2), Fraction(1, 2), 10),
)
"""a, β and the length of runs that come near the largest residual."""
WORST_COUNTS = (1, 2, 3, 5, 8)
"""Lengths of the runs that lose as much as any."""
SETTLED_STEP_COUNT = 3
"""Steps beyond d/k of a run of equal magnitudes, whose ratio must stay."""


def decayed_path(
    root: Fraction, decay: Fraction, step: Fraction, run: Sequence[tuple[Vector, Action]]
) -> tuple[list[Vector], Vector]:
    """e_1, …, e_T of u = βe + ηg, where the compressor keeps back a·s·R(u); and Σ ηg − Σ sent − e_T."""
    residual, path, sums = (ZERO, ZERO), [], [ZERO, ZERO]
    for gradient, (share, (cosine, sine)) in run:
        first, second = (decay * e + step * g for e, g in zip(residual, gradient, strict=True))
        factor = root * share
        residual = (factor * (cosine * first - sine * second), factor * (sine * first + cosine * second))
        path.append(residual)
        for place, whole in enumerate((first, second)):
            sums[place] += step * gradient[place] - (whole - residual[place])
    return path, (sums[0] - residual[0], sums[1] - residual[1])


def decayed_margin(
    label: str,
    root: Fraction,
    decay: Fraction,
    step: Fraction,
    run: Sequence[tuple[Vector, Action]],
    second_moment: Fraction,
) -> Fraction:
    """1 − (largest residual, or what was forgotten)²/bound; 1 where nothing is kept back.

    Raises:
        ValueError: a gradient is longer than σ.
    """
    if any(_square(gradient) > second_moment for gradient, _ in run):
        raise ValueError(f"gradients must have squares of at most {second_moment}, got {run}")
    path, forgotten = decayed_path(root, decay, step, run)
    numbers: dict[str, Fraction | int] = {
        "delta": contraction(label, root),
        "residual_decay": decay,
        "step_size": step,
        "second_moment": second_moment / scale(label, "change_energy"),
    }
    largest = max(_square(e) for e in path)
    if label == "forgotten_mass":
        numbers["T"], largest = len(run), _square(forgotten)
    bound = bound_above(label, **numbers)
    return 1 - largest / bound if bound else ONE - largest


def worst_runs(_profile: Profile, *, label: str) -> Outcome:
    """`rational`: a constant gradient and C(u) = (1 − a)u: at every T it loses the bound, and never keeps more.

    The residual is short of its bound by the factor (1 − (βa)^T)², exactly.
    """
    equal, count = 0, 0
    for root in ROOTS:
        for decay in DECAYS:
            for steps in WORST_COUNTS:
                path, forgotten = decayed_path(root, decay, ONE, [_plain(Fraction(2))] * steps)
                numbers = {"delta": 1 - root**2, "residual_decay": decay, "step_size": 1, "second_moment": 4}
                if label == "forgotten_mass":
                    found, stated = _square(forgotten), STATEMENTS[label].fraction(**numbers, T=steps)
                else:
                    found = _square(path[-1])
                    stated = STATEMENTS[label].fraction(**numbers) * (1 - (decay * root) ** steps) ** 2
                equal += found == stated
                count += 1
    return Outcome(earned=count > 0 and equal == count, detail={"runs_count": count, "equal_count": equal})


def residual_queries() -> tuple[Query, ...]:
    """‖e‖² ≤ bound is kept by e⁺ = a(βe + ησ)."""
    root, push = sympy.symbols("a h", positive=True)
    numerator, denominator = bound_sides(
        "decayed_residual", {delta: 1 - root**2, eta: push, sigma_squared: sympy.Integer(1)}
    )
    kept, decay, a, h = sympy.symbols("r residual_decay a h", real=True)
    left = (a * (decay * kept + h)) ** 2 * denominator
    below = sympy.Le(kept**2 * denominator, numerator)
    return (
        Query(
            claim="‖e‖² ≤ bound is kept",
            premises=(a > 0, a < 1, decay >= 0, decay <= 1, kept >= 0, h >= 0, below),
            conclusion=sympy.Le(left, numerator),
            false_twin=sympy.Le(2 * left, numerator),
        ),
    )


def path_queries() -> tuple[Query, ...]:
    """One worker sends any c of βe + Δ."""
    x, e, sent, change, decay = sympy.symbols("x e c Delta beta", real=True)
    values = {virtual_iterate: x - e, mean_change: change, mean_residual: e, residual_decay: decay}
    stated = STATEMENTS["decayed_virtual_iterate"].bound.subs(values, simultaneous=True)
    moved = (x - sent) - (decay * e + change - sent)
    return (
        Query(
            claim="x̃ moves by −Δ + (1 − β)e, whatever is sent",
            premises=(),
            conclusion=sympy.Eq(moved, stated, evaluate=False),
            false_twin=sympy.Eq(moved, stated + e, evaluate=False),
        ),
    )


def path_margin(start: Fraction, decay: Fraction, run: Sequence[Sequence[tuple[Fraction, Fraction]]]) -> Fraction:
    """−(what the statement misses by) over a run: x − ē after each step, and the account of what was created.

    Args:
        start: x_0.
        decay: β.
        run: per step and worker what the local steps change, and what it sends, whatever that is.
    """
    count = len(run[0])
    x, residuals, missed = start, [ZERO] * count, ZERO
    sent_sum = kept_sum = created = ZERO
    for workers in run:
        mean_kept, mean_new = _mean(residuals), _mean([change for change, _ in workers])
        expected = STATEMENTS["decayed_virtual_iterate"].fraction(
            virtual_iterate=x - mean_kept, mean_change=mean_new, mean_residual=mean_kept, residual_decay=decay
        )
        residuals = [decay * e + change - sent for e, (change, sent) in zip(residuals, workers, strict=True)]
        mean_sent = _mean([sent for _, sent in workers])
        x -= mean_sent
        sent_sum, kept_sum, created = sent_sum + mean_sent, kept_sum + mean_kept, created + mean_new
        missed += abs(x - _mean(residuals) - expected)
        missed += abs(sent_sum + _mean(residuals) + (1 - decay) * kept_sum - created)
    return -missed


def drift_margin(count: int, levels: int, decay: Fraction) -> Fraction:
    """−|ratio − stated ratio| of the real Top-k after d/k steps of a constant gradient of ones.

    Args:
        count: k.
        levels: d/k.
        decay: β, a multiple of 1/2 or 1/4: few steps of it are exact in float64.
    """
    dimension = count * levels
    residual = corrected = torch.zeros(dimension, dtype=torch.float64)
    for _ in range(levels):
        corrected = residual * float(decay) + 1
        payload = SELECTORS["top_k"](corrected, count)
        residual = payload.remainder(corrected)
    kept, total = (
        sum((Fraction(value) ** 2 for value in vector.tolist()), Fraction(0)) for vector in (residual, corrected)
    )
    stated = STATEMENTS["decayed_drift_equal"].fraction(k=count, d=dimension, residual_decay=decay)
    return -abs(stated - kept / total)


def drift_runs(profile: Profile) -> Outcome:
    """`rational`: for every d and every k that divides it, d/k steps in fractions leave the stated ratio for ever."""
    cases = [
        (count, d, decay)
        for d in profile.dimensions
        for count in range(1, d + 1)
        if d % count == 0
        for decay in (ZERO, Fraction(1, 3), Fraction(9, 10))
    ]
    agreed = [settled_ratios(*case) == {_stated_ratio(*case)} for case in cases]
    return Outcome(earned=bool(agreed) and all(agreed), detail={"runs_count": len(agreed)})


def settled_ratios(count: int, dimension: int, decay: Fraction) -> set[Fraction]:
    """The ratios of the last steps of a run of a constant gradient of ones, with a sort for Top-k."""
    levels, ratios = [ZERO] * dimension, []
    for _ in range(dimension // count + SETTLED_STEP_COUNT):
        corrected = sorted((decay * level + 1 for level in levels), reverse=True)
        levels = [ZERO] * count + corrected[count:]
        ratios.append(_square(levels) / _square(corrected))
    return set(ratios[-SETTLED_STEP_COUNT - 1 :])


def _stated_ratio(count: int, dimension: int, decay: Fraction) -> Fraction:
    return STATEMENTS["decayed_drift_equal"].fraction(k=count, d=dimension, residual_decay=decay)


def _mean(values: Sequence[Fraction]) -> Fraction:
    return sum(values, ZERO) / len(values)


_NUMBERS = st.integers(-8, 8).map(lambda numerator: Fraction(numerator, 4))


def _planar_cases() -> st.SearchStrategy[Any]:
    drawn = st.tuples(st.sampled_from(ROOTS), st.sampled_from(DECAYS), _POSITIVE, _POSITIVE).flatmap(
        lambda drawn: st.tuples(*map(st.just, drawn[:3]), planar_runs(drawn[3]), st.just(drawn[3] ** 2))
    )
    return st.one_of(drawn, drawn, st.tuples(st.sampled_from(LONG_CASES), _POSITIVE, _POSITIVE).map(_long_case))


def _long_case(drawn: Any) -> Any:
    (root, decay, count), step, magnitude = drawn
    return root, decay, step, [_plain(magnitude)] * count, magnitude**2


def _path_cases() -> st.SearchStrategy[Any]:
    decays = st.integers(0, 8).map(lambda numerator: Fraction(numerator, 8))
    return st.integers(1, 4).flatmap(
        lambda count: st.tuples(
            _NUMBERS,
            decays,
            st.lists(st.lists(st.tuples(_NUMBERS, _NUMBERS), min_size=count, max_size=count), min_size=1, max_size=6),
        )
    )


def _drift_cases() -> st.SearchStrategy[Any]:
    decays = st.sampled_from([ZERO, Fraction(1, 2), Fraction(1, 4), Fraction(3, 4)])
    return st.tuples(st.integers(1, 4), st.integers(1, 12), decays)


CHECKS: dict[str, dict[Grade, Check]] = {
    "decayed_residual": {
        "smt": smt_check(residual_queries),
        "rational": partial(worst_runs, label="decayed_residual"),
        "property": property_check(_planar_cases, partial(decayed_margin, "decayed_residual")),
    },
    "decayed_virtual_iterate": {
        "smt": smt_check(path_queries),
        "property": property_check(_path_cases, path_margin),
    },
    "forgotten_mass": {
        "rational": partial(worst_runs, label="forgotten_mass"),
        "property": property_check(_planar_cases, partial(decayed_margin, "forgotten_mass")),
    },
    "decayed_drift_equal": {
        "rational": drift_runs,
        "property": property_check(_drift_cases, drift_margin),
    },
}
"""Every check of these statements, by label and grade."""

_BEYOND = {"delta": Fraction(33, 32), "residual_decay": 1, "step_size": 1, "second_moment": 1}
_UNBOUNDED = {
    "delta": 1 - Fraction(32, 33) ** 2,
    "residual_decay": Fraction(33, 32),
    "step_size": 1,
    "second_moment": 1,
}
_CONTRACTION_EDGE = Edge("delta <= 1", _BEYOND)
_DECAY_EDGE = Edge("residual_decay <= 1", _UNBOUNDED)


def _third_step_ratio() -> Fraction:
    """At k = 2 of d = 3, where k does not divide d: the ratio keeps changing; that of the last step run."""
    levels, ratio = [ZERO] * 3, ZERO
    for _ in range(4):
        corrected = sorted((level / 2 + 1 for level in levels), reverse=True)
        levels = [ZERO] * 2 + corrected[2:]
        ratio = _square(levels) / _square(corrected)
    return ratio


EDGES: dict[str, tuple[Remark, ...]] = {
    "decayed_residual": (_CONTRACTION_EDGE, _DECAY_EDGE),
    "forgotten_mass": (
        Edge("delta <= 1", _BEYOND | {"residual_decay": Fraction(1, 2), "T": 2}),
        Edge("residual_decay <= 1", _UNBOUNDED | {"T": 2}),
    ),
    "decayed_drift_equal": (
        Unneeded("k <= d", "it follows from k | d, and is there to be read"),
        Edge("Eq(Mod(d, k), 0)", {"k": 2, "d": 3, "residual_decay": Fraction(1, 2)}, _third_step_ratio),
        Edge("residual_decay < 1", {"k": 1, "d": 2, "residual_decay": 1}),
        Unneeded(
            "residual_decay < 1",
            "for β > 1 the formula is still true: u grows by a factor, and levels keep their order",
            widened=True,
        ),
    ),
}
"""Of every condition a point beyond it at which the statement is false, or why it is not needed."""
