"""What evidence is there for the bounds on the residual in `theory/feedback/residual.py`, besides their derivations?

Error feedback is run exactly, in fractions, on vectors of the plane: e⁺ = a·s·R(e + ηg) with R orthogonal, s in [0, 1]
and ‖g‖ ≤ σ drawn at every step is every effect that a contraction can have on its residual. Ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from typing import Any

from hypothesis import strategies as st

from sparsync.theory.statements import STATEMENTS
from sparsync.verify.feedback.admission import bound_at
from sparsync.verify.feedback.queries import residual_queries
from sparsync.verify.tools.edges import Edge, Remark
from sparsync.verify.tools.outcome import Check, Grade, Outcome, Profile
from sparsync.verify.tools.properties import property_check
from sparsync.verify.tools.smt import smt_check

LARGEST_STEP_COUNT = 10
"""Longest run that a search draws; the exact fractions grow with it."""
LONG_ROOT, LONG_COUNT = Fraction(255, 256), 2000
"""A run long enough for the residual to come near its limit where a is so near 1 that both bounds nearly agree."""
LONGEST_DENOMINATOR = 2**256
"""Beyond it coordinates are rounded towards zero, to multiples of 2⁻⁶⁴: a compressor may keep back less."""
ROOTS = tuple(Fraction(numerator, 16) for numerator in range(16))
"""Values of a = √(1 − δ) that are drawn."""
Vector = tuple[Fraction, Fraction]
Action = tuple[Fraction, Vector]
"""How much of a is used, and the rotation R as (cosine, sine)."""


def residual_path(
    root: Fraction, step: Fraction, gradients: Sequence[Vector], actions: Sequence[Action]
) -> list[Vector]:
    """e_1, …, e_T of error feedback from e_0 = 0, where the compressor keeps back a·s·R(u)."""
    residual, path = (Fraction(0), Fraction(0)), []
    for gradient, (share, (cosine, sine)) in zip(gradients, actions, strict=True):
        first, second = (e + step * g for e, g in zip(residual, gradient, strict=True))
        scale = root * share
        residual = (_short(scale * (cosine * first - sine * second)), _short(scale * (sine * first + cosine * second)))
        path.append(residual)
    return path


def _short(value: Fraction) -> Fraction:
    """The value, or where its denominator is too long, one that is nearer to zero."""
    return value if value.denominator <= LONGEST_DENOMINATOR else Fraction(int(value * 2**64), 2**64)


def all_or_nothing_energy(root: Fraction, step: Fraction, gradients: Sequence[Vector]) -> Fraction:
    """max_t E‖e_t‖² for the compressor that keeps everything back with probability 1 − δ and nothing otherwise."""
    kept = root**2
    mean, energy, largest = (Fraction(0), Fraction(0)), Fraction(0), Fraction(0)
    for gradient in gradients:
        push = tuple(step * g for g in gradient)
        energy = kept * (energy + 2 * sum(m * p for m, p in zip(mean, push, strict=True)) + _square(push))
        mean = (kept * (mean[0] + push[0]), kept * (mean[1] + push[1]))
        largest = max(largest, energy)
    return largest


def residual_margin(
    root: Fraction, step: Fraction, run: Sequence[tuple[Vector, Action]], second_moment: Fraction, *, label: str
) -> Fraction:
    """1 − max_t E‖e_t‖²/bound over both compressors, in a long run over the first; 1 where nothing is kept back.

    Raises:
        ValueError: a gradient is longer than σ.
    """
    gradients, actions = [gradient for gradient, _ in run], [action for _, action in run]
    if any(_square(gradient) > second_moment for gradient in gradients):
        raise ValueError(f"gradients must have squares of at most {second_moment}, got {gradients}")
    path = residual_path(root, step, gradients, actions)
    largest = max(_square(e) for e in path)
    if len(run) <= LARGEST_STEP_COUNT:
        largest = max(largest, all_or_nothing_energy(root, step, gradients))
    bound = bound_at(label, {"delta": 1 - root**2, "step_size": step, "second_moment": second_moment})
    return 1 - largest / bound if bound else Fraction(1) - largest


def worst_case_check(_profile: Profile, *, label: str, factor: str) -> Outcome:
    """`numeric`: the worst case e⁺ = a(e + ησ), iterated to rest, is the bound times the factor claimed.

    After t steps it is short of its limit by the factor 1 − a^t, and every step rounds three times.
    """
    errors = []
    for numerator in range(1, 16):
        root, residual, step_count = numerator / 16, 0.0, 1000
        for _ in range(step_count):
            residual = root * (residual + 1.0)
        bound = STATEMENTS[label].evaluate(delta=1 - root**2, step_size=1, second_moment=1)
        claimed = {"sharp": 1.0, "lemma": (1 + root) ** 2 / 4}[factor]
        # A rounding is damped by a at every later step: 3 ε/(1 − a) in all, twice that for the square.
        tolerance = 2 * (root**step_count + 3 * 2.0**-52 / (1 - root)) + 2.0**-50
        errors.append(abs(residual**2 / bound - claimed) / tolerance)
    return Outcome(
        earned=max(errors) <= 1,
        detail={"recursions_count": len(errors), "largest_error_over_tolerance": max(errors)},
    )


def planar_runs(second_moment_root: Fraction) -> st.SearchStrategy[list[tuple[Vector, Action]]]:
    """Gradients of length at most σ with the compressor's action at each step; all alike, or all arbitrary."""
    directions = st.sampled_from([(Fraction(1), Fraction(0)), *map(_direction, range(-6, 7))])
    sizes = st.sampled_from([Fraction(1), Fraction(1), Fraction(1, 2), Fraction(0)])
    gradients = st.tuples(directions, sizes).map(
        lambda pair: (second_moment_root * pair[1] * pair[0][0], second_moment_root * pair[1] * pair[0][1])
    )
    actions = st.tuples(sizes, directions)
    steady = st.integers(1, LARGEST_STEP_COUNT).map(lambda count: [_plain(second_moment_root)] * count)
    return st.one_of(steady, st.lists(st.tuples(gradients, actions), min_size=1, max_size=LARGEST_STEP_COUNT))


def _direction(parameter: int) -> Vector:
    """A rational point of the unit circle."""
    t = Fraction(parameter, 3)
    return ((1 - t**2) / (1 + t**2), 2 * t / (1 + t**2))


def _square(vector: Sequence[Fraction]) -> Fraction:
    return sum((value**2 for value in vector), Fraction(0))


_POSITIVE = st.sampled_from([Fraction(1, 3), Fraction(1), Fraction(5, 2)])


def _residual_cases() -> st.SearchStrategy[Any]:
    drawn = st.tuples(st.sampled_from(ROOTS), _POSITIVE, _POSITIVE).flatmap(
        lambda drawn: st.tuples(st.just(drawn[0]), st.just(drawn[1]), planar_runs(drawn[2]), st.just(drawn[2] ** 2))
    )
    return st.one_of(drawn, drawn, st.tuples(_POSITIVE, _POSITIVE).map(_long_case))


def _long_case(sizes: tuple[Fraction, Fraction]) -> Any:
    step, magnitude = sizes
    return LONG_ROOT, step, [_plain(magnitude)] * LONG_COUNT, magnitude**2


def _plain(magnitude: Fraction) -> tuple[Vector, Action]:
    """A gradient of this length, and a compressor that keeps back au."""
    return (magnitude, Fraction(0)), (Fraction(1), (Fraction(1), Fraction(0)))


EDGES: dict[str, tuple[Remark, ...]] = {
    label: (Edge("delta <= 1", {"delta": Fraction(33, 32), "second_moment": 3, "step_size": 3}),)
    for label in ("residual_bound", "residual_minkowski")
}
"""Points just beyond the conditions of these statements, and why some are not needed."""

CHECKS: dict[str, dict[Grade, Check]] = {
    label: {
        "smt": smt_check(partial(residual_queries, label)),
        "numeric": partial(worst_case_check, label=label, factor=factor),
        "property": property_check(_residual_cases, partial(residual_margin, label=label)),
    }
    for label, factor in (("residual_bound", "lemma"), ("residual_minkowski", "sharp"))
}
"""Every check of these statements, by label and grade."""
