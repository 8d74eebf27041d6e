"""What evidence is there for compression both ways, besides the derivations? Runs in exact fractions, and two solvers.

EF21-P and error feedback with Top-1 of two coordinates run side by side (`property`, `rational`); EF21 both ways runs
with compressors that keep any share they may, on quadratics that need not be convex (`property`). Ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import sympy
from hypothesis import strategies as st

from sparsync.theory.language.symbols import T, eta, gap, known_model, residual
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.tools.edges import Edge, Remark, Unneeded
from sparsync.verify.tools.outcome import Check, Grade, Outcome, Profile
from sparsync.verify.tools.properties import Members, property_check
from sparsync.verify.tools.smt import Query, smt_check

IDENTITY, RATE = "server_feedback", "bidirectional_rate"
ZERO, ONE = Fraction(0), Fraction(1)
RUN_LENGTH = 6
"""Steps of the listed runs of the identity."""

Pair = tuple[Fraction, Fraction]


def top_one(vector: Pair) -> Pair:
    """The entry of larger magnitude, the first of two equal ones."""
    return (vector[0], ZERO) if abs(vector[0]) >= abs(vector[1]) else (ZERO, vector[1])


def plus(one: Pair, other: Pair, share: Fraction = ONE) -> Pair:
    """one + share·other."""
    return one[0] + share * other[0], one[1] + share * other[1]


def identity_error(curvatures: Pair, centre: Pair, start: Pair, memory: Pair, step: Fraction) -> Fraction:
    """How far the two methods' models are from what is stated, summed over a run.

    Args:
        curvatures: of f = Σ λ_j(x_j − c_j)²/2.
        centre: c.
        start: w_0.
        memory: e_0 = w_0 − x̃_0.
        step: η.
    """

    def gradient(x: Pair) -> Pair:
        return curvatures[0] * (x[0] - centre[0]), curvatures[1] * (x[1] - centre[1])

    known, exact = start, plus(start, memory, -ONE)
    model, kept, error = start, memory, ZERO
    for _ in range(RUN_LENGTH):
        exact = plus(exact, gradient(known), -step)
        known = plus(known, top_one(plus(exact, known, -ONE)))
        pushed = plus(kept, gradient(model), step)
        mirrored = top_one((-pushed[0], -pushed[1]))
        model, kept = plus(model, mirrored), plus(pushed, mirrored)
        stated = [
            STATEMENTS[IDENTITY].fraction(known_model=one, residual=other)
            for one, other in zip(model, kept, strict=True)
        ]
        error += sum((abs(one - other) for one, other in zip(exact, stated, strict=True)), ZERO)
        error += sum((abs(one - other) for one, other in zip(known, model, strict=True)), ZERO)
    return error


def identity_margin(*case: object) -> Fraction:
    """0 if all agree."""
    return -identity_error(*case)  # type: ignore[arg-type]  # drawn by `identity_cases`


@dataclass(frozen=True)
class Run:
    """EF21 both ways in one dimension, f_i = λ_i(x − c_i)²/2 with Σ λ_i > 0.

    Args:
        down: a = √(1 − δ↓).
        up: c = √(1 − δ↑).
        share: η over the step 1/(L(1 + K)).
        curvatures: λ_i.
        centres: c_i.
        start: x_0.
        kept: in every round, the share of a that the server keeps back and the shares of c of every worker.
    """

    down: Fraction
    up: Fraction
    share: Fraction
    curvatures: tuple[Fraction, ...]
    centres: tuple[Fraction, ...]
    start: Fraction
    kept: tuple[tuple[Fraction, tuple[Fraction, ...]], ...]

    @property
    def smoothness(self) -> Fraction:
        """L."""
        return max(map(abs, self.curvatures))

    @property
    def step(self) -> Fraction:
        """η."""
        factor = (self.down + self.up) / ((1 - self.down) * (1 - self.up))
        return self.share / (self.smoothness * (1 + factor))

    @property
    def gap(self) -> Fraction:
        """f(x_0) − f*."""
        mean = sum(self.curvatures, ZERO) / len(self.curvatures)
        return self.slope(self.start) ** 2 / (2 * mean)

    def slope(self, x: Fraction) -> Fraction:
        """f'."""
        slopes = self.slopes(x)
        return sum(slopes, ZERO) / len(slopes)

    def slopes(self, x: Fraction) -> list[Fraction]:
        """f_i'."""
        return [curvature * (x - centre) for curvature, centre in zip(self.curvatures, self.centres, strict=True)]

    def least_energy(self) -> Fraction:
        """min_t |f'(x_t)|²."""
        exact = known = self.start
        told = self.slopes(known)
        energies = []
        for server, workers in self.kept:
            energies.append(self.slope(exact) ** 2)
            exact -= self.step * sum(told, ZERO) / len(told)
            known = exact - server * self.down * (exact - known)
            told = [
                slope - share * self.up * (slope - other)
                for slope, other, share in zip(self.slopes(known), told, workers, strict=True)
            ]
        return min(energies)

    def stated(self) -> Fraction:
        """The bound."""
        return STATEMENTS[RATE].fraction(
            gap=self.gap, step_size=self.step, smoothness=self.smoothness, T=len(self.kept),
            delta_down=1 - self.down**2, delta_up=1 - self.up**2,
        )  # fmt: skip


def rate_margin(run: Run) -> Fraction:
    """1 − min_t |f'(x_t)|²/bound; 1 where f' is 0 from the start."""
    return 1 - run.least_energy() / run.stated() if run.gap else ONE


_ENTRIES = st.integers(-3, 3).map(Fraction)
_PAIRS = st.tuples(_ENTRIES, _ENTRIES)
_SHARES = st.sampled_from([ZERO, Fraction(1, 2), ONE, -ONE])


def identity_cases() -> Members:
    """Quadratics with step sizes at which both converge, and others."""
    curvatures = st.tuples(*[st.sampled_from([Fraction(1, 2), ONE, Fraction(3)])] * 2)
    steps = st.sampled_from([Fraction(1, 5), Fraction(1, 2), Fraction(2)])
    return st.tuples(curvatures, _PAIRS, _PAIRS, _PAIRS, steps)


def rate_cases() -> Members:
    """Runs of one to three workers; and one step of gradient descent, which attains the bound."""
    roots = st.integers(0, 7).map(lambda part: Fraction(part, 8))

    def runs_of(workers: int) -> Members:
        curvatures = st.lists(
            st.sampled_from([ONE, Fraction(3), Fraction(-1, 2)]), min_size=workers, max_size=workers
        ).map(lambda drawn: (*drawn[:-1], Fraction(3)))
        centres = st.lists(_ENTRIES, min_size=workers, max_size=workers).map(tuple)
        kept = st.lists(st.tuples(_SHARES, st.tuples(*[_SHARES] * workers)), min_size=1, max_size=5).map(tuple)
        share = st.integers(1, 8).map(lambda part: Fraction(part, 8))
        return st.builds(Run, roots, roots, share, curvatures, centres, _ENTRIES, kept)

    free = st.integers(1, 3).flatmap(runs_of)
    return st.one_of(free, st.sampled_from([one_step(Fraction(1)), one_step(Fraction(3))])).map(lambda run: (run,))


def one_step(curvature: Fraction) -> Run:
    """Everything is sent, η = 1/L, T = 1: |f'(x_0)|² = 2L(f(x_0) − f*)."""
    return Run(ZERO, ZERO, ONE, (curvature,), (ZERO,), ONE, ((ZERO, (ZERO,)),))


def identity_check(_profile: Profile) -> Outcome:
    """`rational`: listed runs of both methods agree in every step."""
    pairs = ((Fraction(1, 3), ONE), (Fraction(-2), Fraction(5, 7)))
    errors = [
        identity_error((ONE, Fraction(4)), centre, start, memory, step)
        for centre, start, memory, step in product(pairs, pairs, ((ZERO, ZERO), (ONE, -ONE)), (Fraction(1, 8), ONE))
    ]
    return Outcome(earned=all(error == 0 for error in errors), detail={"runs_count": len(errors)})


def energy_of(runs: Sequence[Run]) -> list[Fraction]:
    """min_t |f'(x_t)|² of each run over its bound."""
    return [run.least_energy() / run.stated() for run in runs]


def rate_check(_profile: Profile) -> Outcome:
    """`rational`: one step of gradient descent attains the bound, and slow compressors stay below it."""
    roots = (Fraction(1, 4), Fraction(3, 4))
    slow = [
        Run(down, up, ONE, (ONE, Fraction(2)), (ZERO, ONE), Fraction(3), ((-ONE, (-ONE, -ONE)),) * 8)
        for down, up in product(roots, roots)
    ]
    attained, others = energy_of([one_step(ONE), one_step(Fraction(2, 7))]), energy_of(slow)
    return Outcome(
        earned=all(share == 1 for share in attained) and max(others) <= 1,
        detail={"runs_count": len(attained) + len(others), "largest_share_of_slow_runs": float(max(others))},
    )


_a, _c, _h, _K, _M, _P, _Q, _G, _F, _n = sympy.symbols("a c h K M P Q G F n", real=True)
_x, _e, _g, _s = sympy.symbols("x e g s", real=True)


def identity_queries() -> tuple[Query, ...]:
    """One step from a state that agrees: C is given s in place of x̃⁺ − w, and D the negative."""
    bound = STATEMENTS[IDENTITY].bound
    exact = bound.xreplace({known_model: _x, residual: _e})
    pushed = _e + _g
    following = bound.xreplace({known_model: _x + _s, residual: pushed + _s})
    return (
        Query("x̃⁺ = x⁺ − e⁺", (), sympy.Eq(exact - _g, following), sympy.Eq(exact + _g, following)),
        Query("what C is given", (), sympy.Eq(exact - _g - _x, -pushed), sympy.Eq(exact + _g - _x, -pushed)),
    )


def rate_queries() -> tuple[Query, ...]:
    """Roots P, Q and M of sums of p², q² and m², L = 1, n = T: P + Q ≤ hKM, and the mean of ‖∇f‖² is then small."""
    bound = STATEMENTS[RATE].bound.xreplace({gap: _F, eta: _h, T: _n})
    above, below = sympy.fraction(sympy.cancel(bound))
    left = (1 - _a) * (1 - _c)
    roots = (_a >= 0, _a < 1, _c >= 0, _c < 1, _M >= 0, _P * (1 - _a) <= _a * _M, _Q * left <= _c * (1 + _a) * _M)
    signs = (_h > 0, _n >= 1, _F >= 0, _M >= 0, _P >= 0, _G >= 0, _K >= 0)
    summed = 2 * _F - _h * (1 - _h) * _M**2 + _h * _P**2 >= _h * _n * _G
    return (
        Query(
            "(P + Q)/h ≤ KM",
            roots,
            sympy.Le(sympy.expand((_P + _Q) * left), sympy.expand((_a + _c) * _M)),
            sympy.Le(sympy.expand(2 * (_P + _Q) * left), sympy.expand((_a + _c) * _M)),
        ),
        Query(
            "mean ‖∇f‖² ≤ bound",
            (*signs, _h * _K * _M >= _P, (_h * _K) ** 2 + _h <= 1, summed),
            sympy.Le(sympy.expand(_G * below), above),
            sympy.Le(sympy.expand(100 * _G * below), 99 * above),
        ),
    )


CHECKS: dict[str, dict[Grade, Check]] = {
    IDENTITY: {
        "smt": smt_check(identity_queries),
        "rational": identity_check,
        "property": property_check(identity_cases, identity_margin),
    },
    RATE: {
        "smt": smt_check(rate_queries),
        "rational": rate_check,
        "property": property_check(rate_cases, rate_margin),
    },
}
"""Every check of these statements, by label and grade."""

_BEYOND = Fraction(33, 32)
_NOTHING_NEAR = (
    "the bound is attained where nothing is kept back; where something is, the worst run tried, of linear compressors "
    "with a = c = 1/2 at the largest step, comes to 0.30 of it"
)
SLACK: dict[str, dict[str, str]] = {RATE: {"kept_down": _NOTHING_NEAR, "kept_up": _NOTHING_NEAR}}
"""Which assumed numbers may be a little other."""
EDGES: dict[str, tuple[Remark, ...]] = {
    IDENTITY: (),
    RATE: (
        Unneeded("delta_down <= 1", "what a compressor keeps back has no negative energy"),
        Unneeded("delta_up <= 1", "what a compressor keeps back has no negative energy"),
        Edge(
            str(STATEMENTS[RATE].domain[2]),
            {"delta_down": 1, "delta_up": 1, "step_size": _BEYOND, "smoothness": 1, "gap": Fraction(1, 2), "T": 1},
            lambda: one_step(ONE).least_energy(),
        ),
    ),
}
"""What lies beyond the conditions."""
