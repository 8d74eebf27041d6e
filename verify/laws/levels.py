"""What share of the coordinates, and of the energy, lies above a level? The laws of magnitudes restated in mpmath.

A search draws a level, not a density, so that no quantile has to be found: κ and δ follow from the level, and the
statements are asked for their values at that κ. Written apart from `theory/`. Ours.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import mpmath
from hypothesis import strategies as st

Parameters = tuple[float, ...]
Numbers = st.SearchStrategy[float]


@dataclass(frozen=True)
class LevelLaw:
    """A law of magnitudes, by what lies above a level.

    Args:
        share: κ, of the level and the parameters.
        kept: δ, of the level and the parameters.
        second_moment: E[u²], of the parameters.
        level: the level, of a height and the parameters; heights of all laws look alike.
        heights: the heights that a search draws.
        parameters: the parameters that a search draws, by their names in the statement.
    """

    share: Callable[..., mpmath.mpf]
    kept: Callable[..., mpmath.mpf]
    second_moment: Callable[..., mpmath.mpf]
    level: Callable[..., mpmath.mpf] = lambda height, *_parameters: height
    heights: Numbers = field(default_factory=lambda: powers_of_two(-20, 4.75))
    parameters: Mapping[str, Numbers] = field(default_factory=dict)

    def cases(self) -> st.SearchStrategy[tuple[float, Parameters]]:
        """Pairs of a height and parameters."""
        return st.tuples(self.heights, st.tuples(*self.parameters.values()))


def powers_of_two(first: float, last: float) -> Numbers:
    """Numbers between two powers of two, log-uniform: half a search looks next to κ = 1."""
    return st.floats(first, last).map(lambda power: 2.0**power)


def gamma_level(height: mpmath.mpf, order: mpmath.mpf) -> mpmath.mpf:
    """A level at which neither tail of the gamma law of shape a is below 10^(−12): about h^(1/a) near 0, then h."""
    largest = max(mpmath.mpf(1), order)
    return largest * min(mpmath.mpf(1), height) ** (1 / largest) + max(mpmath.mpf(0), height - 1)


def gamma_tail(order: mpmath.mpf, level: mpmath.mpf) -> mpmath.mpf:
    """Γ(a, x)/Γ(a)."""
    return mpmath.gammainc(order, level, mpmath.inf, regularized=True)


def normal_share(level: mpmath.mpf) -> mpmath.mpf:
    """P(|N(0, 1)| > z)."""
    return mpmath.erfc(level / mpmath.sqrt(2))


def normal_kept(level: mpmath.mpf) -> mpmath.mpf:
    """E[u²; |u| > z] for N(0, 1)."""
    return normal_share(level) + 2 * level * mpmath.npdf(level)


def _student_tail(level: mpmath.mpf, df: mpmath.mpf, *, lost: int) -> mpmath.mpf:
    """I_x(ν/2 − lost, 1/2 + lost) at x = ν/(ν + z²)."""
    first, second = df / 2 - lost, mpmath.mpf(1) / 2 + lost
    return mpmath.betainc(first, second, 0, df / (df + level**2), regularized=True)


def _shifted_share(level: mpmath.mpf, mean: mpmath.mpf) -> mpmath.mpf:
    return (mpmath.erfc((level - mean) / mpmath.sqrt(2)) + mpmath.erfc((level + mean) / mpmath.sqrt(2))) / 2


def _shifted_kept(level: mpmath.mpf, mean: mpmath.mpf) -> mpmath.mpf:
    above, below = mpmath.npdf(level - mean), mpmath.npdf(level + mean)
    surplus = (level + mean) * above + (level - mean) * below
    return _shifted_share(level, mean) + surplus / (1 + mean**2)


def _mixture_share(level: mpmath.mpf, share: mpmath.mpf, scale: mpmath.mpf) -> mpmath.mpf:
    return share * normal_share(level / scale) + (1 - share) * normal_share(level)


def _mixture_kept(level: mpmath.mpf, share: mpmath.mpf, scale: mpmath.mpf) -> mpmath.mpf:
    energy = share * scale**2 * normal_kept(level / scale) + (1 - share) * normal_kept(level)
    return energy / (share * scale**2 + 1 - share)


LEVEL_LAWS: dict[str, LevelLaw] = {
    "gaussian_law": LevelLaw(normal_share, normal_kept, lambda: mpmath.mpf(1), heights=powers_of_two(-20, 2.75)),
    "laplace_law": LevelLaw(
        lambda z: mpmath.exp(-z), lambda z: mpmath.exp(-z) * (1 + z + z**2 / 2), lambda: mpmath.mpf(2)
    ),
    "uniform_law": LevelLaw(
        lambda z: 1 - z, lambda z: 1 - z**3, lambda: mpmath.mpf(1) / 3, heights=powers_of_two(-20, -0.03125)
    ),
    "student_t_law": LevelLaw(
        lambda z, df: _student_tail(z, df, lost=0),
        lambda z, df: _student_tail(z, df, lost=1),
        lambda df: df / (df - 2),
        # κ is about e^(−h).
        level=lambda height, df: mpmath.sqrt(df * mpmath.expm1(2 * height / df)),
        parameters={"df": st.floats(2.0625, 64)},
    ),
    "generalised_gaussian_law": LevelLaw(
        lambda z, beta: gamma_tail(1 / beta, z**beta),
        lambda z, beta: gamma_tail(3 / beta, z**beta),
        lambda beta: mpmath.gamma(3 / beta) / mpmath.gamma(1 / beta),
        level=lambda height, beta: gamma_level(height, 1 / beta) ** (1 / beta),
        parameters={"beta": st.floats(0.125, 32)},
    ),
    "gamma_law": LevelLaw(
        lambda z, shape: gamma_tail(shape, z),
        lambda z, shape: gamma_tail(shape + 2, z),
        lambda shape: shape * (shape + 1),
        level=gamma_level,
        parameters={"shape": st.floats(0.125, 16)},
    ),
    "weibull_law": LevelLaw(
        lambda z, shape: mpmath.exp(-(z**shape)),
        lambda z, shape: gamma_tail(1 + 2 / shape, z**shape),
        lambda shape: mpmath.gamma(1 + 2 / shape),
        level=lambda height, shape: height ** (1 / shape),
        parameters={"shape": st.floats(0.125, 16)},
    ),
    "shifted_gaussian_law": LevelLaw(
        _shifted_share,
        _shifted_kept,
        lambda mean: 1 + mean**2,
        level=lambda height, mean: height * (1 + mean / 7),
        heights=powers_of_two(-20, 2.75),
        parameters={"mean": st.one_of(st.just(0.0), st.floats(0, 12))},
    ),
    "spike_mixture_law": LevelLaw(
        _mixture_share,
        _mixture_kept,
        lambda share, scale: share * scale**2 + 1 - share,
        # Neither part is left out: far in the tail of the wider one the level of a part alone has a share near 0.
        level=lambda height, _share, scale: height * max(mpmath.mpf(1), scale),
        heights=powers_of_two(-20, 2.75),
        parameters={"share": st.floats(2.0**-10, 1 - 2.0**-10), "scale": st.floats(0.0625, 16)},
    ),
}
"""By the label of the law."""
