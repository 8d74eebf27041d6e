"""At which momenta, curvatures and distances from it is a limit of the step size tested? For fixed delays and in turn.

A limit is a number that roots or runs must bracket: stable just below it, unstable just above it. Ours.
"""

from fractions import Fraction

from hypothesis import strategies as st

MOMENTA = (Fraction(0), Fraction(1, 2), Fraction(9, 10), Fraction(99, 100))
"""The momenta at which a limit is tested."""
OFFSET = Fraction(1, 10**9)
"""Relative distance from a limit at which stability is tested; a float's rounding is below 10⁻¹⁵."""
CURVATURES = ((2, -1, 0), (-1, 3, -1), (0, -1, 2))
"""A Hessian with the eigenvalues 1, 2 and 4."""
LARGEST_CURVATURE = 4
"""Its largest eigenvalue."""
SIMULATED_OFFSET = 0.01
"""Relative distance from a limit at which the recursion itself is run."""
SIMULATED_MOMENTA = (Fraction(0), Fraction(1, 2), Fraction(9, 10))
"""The momenta with which the recursion is run."""
HALF_PERIODS_COUNT = 400
"""Length of such a run, in half periods of the boundary root or longer."""


def offsets() -> st.SearchStrategy[Fraction]:
    """Relative offsets of the step from a limit, of either sign, from 9/10¹⁰ to 9/10 in size."""
    sizes = st.integers(0, 9).map(lambda power: Fraction(1, 10**power) * Fraction(9, 10))
    return st.tuples(sizes, st.sampled_from([-1, 1])).map(lambda pair: pair[0] * pair[1])


DELAYS = range(21)
"""The delays at which a limit is tested."""
LARGEST_DELAY = 10
"""Largest delay that a search draws."""
