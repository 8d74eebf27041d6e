"""What does a solver say of a linear programme? One answer in floating point, and how far it may be from the truth.

`verify/contraction/worst_case.py` asks the solvers; `verify/contraction/certificates.py` makes the answer exact and
needs none of them. Ours.
"""

from dataclasses import dataclass

SOLVER_TOLERANCE = 1e-9
"""The gaps and feasibility tolerances that both solvers are given; anything less accurate is an error."""


@dataclass(frozen=True)
class WorstCase:
    """The solution of one programme, in floating point.

    Args:
        count: k.
        optimum: the largest relative error in the class.
        squares: v [d], a vector that attains it, Σ v = 1.
        multipliers: y [rows] ≥ 0, one per row of A.
        status: the solver's word, always "optimal".
    """

    count: int
    optimum: float
    squares: tuple[float, ...]
    multipliers: tuple[float, ...]
    status: str

    @property
    def positive(self) -> tuple[bool, ...]:
        """[d] which coordinates are positive rather than zero, read off the solution.

        Σ v = 1, so Clarabel's relative feasibility test leaves a zero coordinate below a few tolerances; ten of them
        separate it from the smallest positive one, w_d/Σ w, for all d we solve. A misreading is caught by the
        certificate made from it.
        """
        return tuple(value > 10 * SOLVER_TOLERANCE for value in self.squares)

    @property
    def tolerance(self) -> float:
        """How far the optimum may be from the truth: 3·tol·(2 + Σ y).

        Clarabel bounds each violated constraint by tol·(|right side| + |v| + |slack|) ≤ 3·tol here, in maximum norms,
        HiGHS by tol.
        Violating Σ v = 1 and the rows moves the optimum by at most 3·tol·(λ + Σ y) with λ ≤ 1; the gap between primal
        and dual adds at most tol·(1 + λ) ≤ 2·tol.
        """
        return 3.0 * SOLVER_TOLERANCE * (2.0 + sum(self.multipliers))
