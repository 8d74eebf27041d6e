"""Does Top-k of one long random vector leave behind what the law says, up to its own standard error?

The energy left is min over thresholds y of Σ min(u², y) less k y, attained at y = the k-th largest square; so to first
order the choice of that square does not matter, and what Top-k leaves less ε times the total is a sum of independent
terms min(u², y) − εu², whose variance the sample gives. Ours.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from sparsync.theory.statements import STATEMENTS
from sparsync.verify.tools.outcome import Outcome, Profile

DIMENSION = 2**20
"""Length of a vector: the neglected second order is about one standard error divided by √d = 1024."""
DENSITIES = (Fraction(1, 64), Fraction(1, 8), Fraction(1, 2), Fraction(7, 8))
"""Values of κ; each k = κd is an integer."""
LARGEST_DEVIATION = 6.0
"""In standard errors: a normal variable exceeds it with probability 2·10⁻⁹, any of the 60 comparisons with 2·10⁻⁷."""
SEED = 20_170_515

Numbers = Mapping[str, float]
Sampler = Callable[..., np.ndarray]


@dataclass(frozen=True)
class Sampled:
    """How a law is sampled and with which parameters.

    Args:
        draw: a generator, the count and the parameters to coordinates or their magnitudes.
        cases: values of the parameters; the eighth moment is finite, so that a variance of squares is itself known.
    """

    draw: Sampler
    cases: tuple[Numbers, ...] = ({},)


def _mixture(generator: np.random.Generator, count: int, share: float, scale: float) -> np.ndarray:
    spikes = generator.random(count) < share
    return generator.standard_normal(count) * np.where(spikes, scale, 1.0)


SAMPLED: dict[str, Sampled] = {
    "gaussian_law": Sampled(lambda generator, count: generator.standard_normal(count)),
    "laplace_law": Sampled(lambda generator, count: generator.laplace(size=count)),
    "uniform_law": Sampled(lambda generator, count: generator.uniform(-1.0, 1.0, count)),
    "student_t_law": Sampled(
        lambda generator, count, df: generator.standard_t(df, count), cases=({"df": 10.0}, {"df": 32.0})
    ),
    "generalised_gaussian_law": Sampled(
        lambda generator, count, beta: generator.gamma(1 / beta, size=count) ** (1 / beta),
        cases=({"beta": 0.75}, {"beta": 4.0}),
    ),
    "gamma_law": Sampled(
        lambda generator, count, shape: generator.gamma(shape, size=count), cases=({"shape": 0.5}, {"shape": 3.0})
    ),
    "weibull_law": Sampled(
        lambda generator, count, shape: generator.weibull(shape, count), cases=({"shape": 0.75}, {"shape": 3.0})
    ),
    "shifted_gaussian_law": Sampled(
        lambda generator, count, mean: generator.normal(mean, 1.0, count), cases=({"mean": 0.5}, {"mean": 3.0})
    ),
    "spike_mixture_law": Sampled(_mixture, cases=({"share": 0.0625, "scale": 4.0}, {"share": 0.5, "scale": 0.25})),
}
"""By the label of the law; the samplers are numpy's."""


def standard_errors(squares: np.ndarray, count: int, ratio: float) -> float:
    """By how many standard errors the energy that Top-k leaves differs from ratio times the total.

    Args:
        squares: [d] float64, in any order.
        count: k, in 1..d − 1.
        ratio: ε.

    Raises:
        ValueError: k is not in 1..d − 1.
    """
    if not 0 < count < len(squares):
        raise ValueError(f"k must be in 1..{len(squares) - 1}, got {count}")
    # The smallest d − k squares come first, and then the k-th largest.
    split = np.partition(squares, len(squares) - count)
    threshold = split[len(squares) - count]
    difference = split[: len(squares) - count].sum() - ratio * squares.sum()
    terms = np.minimum(squares, threshold) - ratio * squares
    return float(difference / (terms.std() * np.sqrt(len(squares))))


def sample_check(_profile: Profile, *, label: str) -> Outcome:
    """`simulated`: Top-k of one vector for every case, at every density, deviates by less than `LARGEST_DEVIATION`."""
    sampled, statement = SAMPLED[label], STATEMENTS[label]
    deviations = []
    for position, numbers in enumerate(sampled.cases):
        squares = sampled.draw(np.random.default_rng((SEED, position)), DIMENSION, **numbers) ** 2
        deviations += [
            standard_errors(squares, int(density * DIMENSION), statement.evaluate(kappa=density, **numbers))
            for density in DENSITIES
        ]
    return Outcome(
        earned=max(map(abs, deviations)) < LARGEST_DEVIATION,
        detail={
            "comparisons_count": len(deviations),
            "dimension": DIMENSION,
            "largest_deviation_in_standard_errors": max(map(abs, deviations)),
        },
    )
