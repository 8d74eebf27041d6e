"""What do chunks of b independent entries leave behind, of which each sends its k largest? Exact laws.

As chunks become many the ratio tends to ε_b = E Σ_{i>k} v_(i) / (b E v), v_(1) ≥ … the sorted squares of one chunk. It
is the mean of the law's own ratio ε at a random density: ε_b = E ε(T), T ~ Beta(k, b − k), whose mean is k/b. Since ε
is convex, chunks never send more energy than the whole vector: ε_b ≥ ε(k/b). The laws and their ε are in
`theory/laws/formulas.py`; what chunks cost is in `theory/laws/chunk_costs.py`. Ours.
"""

import sympy

from sparsync.theory.language.stated import by_label
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import (
    chunk_law_ratio,
    chunk_size,
    j,
    k,
    kappa,
)
from sparsync.theory.laws.gaussian_chunks import GaussianChunkRatio
from sparsync.theory.laws.magnitudes import GAUSSIAN, LAPLACE, Law

CHUNKED = (
    r"$u$ consists of $m\to\infty$ chunks of $b$ entries, all independent and of one law with finite "
    r"$\mathbb{E}\,u^2>0$; each chunk sends its $k$ largest"
)
PLACE = sympy.Symbol("t", positive=True)
"""A density in (0, 1)."""
DOMAIN = (sympy.Le(k, chunk_size),)
OTHERS = sympy.Symbol("J", integer=True, positive=True)
"""b − k > 0."""
_POWER = sympy.Symbol("s", nonnegative=True)


def uniform_chunks() -> Statement:
    """ε_b = (b − k)(b − k + 1)(b − k + 2)/(b(b + 1)(b + 2)) for the uniform law; without chunks (1 − k/b)³.

    The difference is k(b − k)(3b(b − k) + 4b − 2k)/(b³(b + 1)(b + 2)) ≥ 0, about 3κ(1 − κ)²/b.

    Source: ours.
    """
    rest = chunk_size - k
    bound = rest * (rest + 1) * (rest + 2) / (chunk_size * (chunk_size + 1) * (chunk_size + 2))
    return _chunk_statement(
        "uniform_chunks",
        "Uniform, in chunks",
        r"$u$ is uniform on $[-a,a]$",
        bound,
        (
            Step("E (1 − T)³ by the moments of a Beta law", lambda: _uniform_mean() - bound, concludes=bound),
            Step(
                "ε_b − (1 − k/b)³ = k(b − k)(3b(b − k) + 4b − 2k)/(b³(b + 1)(b + 2))",
                lambda: _uniform_excess(bound),
            ),
            Step("b times that tends to 3κ(1 − κ)²", lambda: _slope_of(bound - (1 - k / chunk_size) ** 3)),
        ),
    )


def laplace_chunks() -> Statement:
    """ε_b = 1 − (k/b)(1 + A + (A² + B)/2), A = Σ_{k<j≤b} 1/j, B = Σ_{k<j≤b} 1/j², for exponential magnitudes.

    Without chunks A = ln(b/k) and B = 0. The difference is about (1 − κ)ln(1/κ)/(2b), as `chunk_first_order` says.

    Source: ours; the sums are those of Rényi 1953.
    """
    first, second = (sympy.Sum(j**-power, (j, k + 1, chunk_size)) for power in (1, 2))
    bound = 1 - k / chunk_size * (1 + first + (first**2 + second) / 2)
    return _chunk_statement(
        "laplace_chunks",
        "Laplace, in chunks",
        r"$|u|$ is exponential",
        bound,
        (
            Step("ε(t) = 1 − t(1 + ℓ + ℓ²/2) with ℓ = −ln t", _laplace_ratio),
            Step("E T = k/b, E Tℓ = kA/b and E Tℓ² = k(A² + B)/b, from the moments E T^(1+s)", _logarithms),
            Step(
                "so E ε(T) is the bound",
                lambda: _from_moments(first, second) - bound,
                concludes=bound,
            ),
        ),
    )


def gaussian_chunks() -> Statement:
    """ε_b = E ε(T) for N(0, σ²), the integral of ε(t) = 1 − t − 2zφ(z), t = 2Φ(−z), over T ~ Beta(k, b − k).

    No closed form is known to us but for small b, such as 1/2 − 1/π at b = 2, k = 1. The integral is evaluated to 40
    digits by quadrature in z.

    Source: ours.
    """
    bound = GaussianChunkRatio(k, chunk_size)
    return _chunk_statement(
        "gaussian_chunks",
        "Gaussian, in chunks",
        r"$u\sim\mathcal{N}(0,\sigma^2)$",
        bound,
        (
            Step("ε at the level z is mass less √(2/π) z e^(−z²/2)", _gaussian_ratio),
            Step(
                "the integral over z of that times the density of T at 2Φ(−z), times 2φ(z)",
                lambda: bound - GaussianChunkRatio(k, chunk_size),
                concludes=bound,
                argued="a substitution",
            ),
            Step("b = 2, k = 1: the mean of the smaller of two squares over the sum is 1/2 − 1/π", _two_gaussians),
        ),
    )


def beta_steps() -> tuple[Step, ...]:
    """The steps to ε_b = E ε(T) ≥ ε(k/b)."""
    return (
        Step(
            "an entry exceeded by the share t of the law is sent if at most k − 1 of b − 1 others exceed it",
            None,
            argued="ties are broken at random, so entries of one magnitude are sent alike",
        ),
        Step(
            "the derivative of P(Bin(b − 1, t) = x) in t telescopes: P(Bin(b − 1, t) ≥ k) is P(T ≤ t)",
            _telescopes,
        ),
        Step(
            "by parts, ε_b = 1 − ∫ Q(t) P(Bin(b − 1, t) < k) dt / E v = E ε(T)",
            _by_parts,
            argued="no boundary terms: the energy above t is 0 at t = 0, and the probability 0 at t = 1",
        ),
        Step("E T = k/b", lambda: moment(1) - k / (k + OTHERS)),
        Step("ε' = −Q/E v does not fall, so ε is convex and E ε(T) ≥ ε(k/b)", _jensen, argued="Jensen's inequality"),
    )


def _chunk_statement(label: str, title: str, law: str, bound: sympy.Expr, steps: tuple[Step, ...]) -> Statement:
    return Statement(
        label=label,
        title=title,
        assumptions=(CHUNKED, law),
        relation=sympy.Eq(chunk_law_ratio, bound),
        domain=DOMAIN,
        source="ours",
        derivation=(*beta_steps(), *steps),
    )


def _telescopes() -> sympy.Basic:
    """d/dt of the term x is n(b(x − 1) − b(x)), b(x) = C(n − 1, x) t^x (1 − t)^(n−1−x); n b(k − 1) is the density."""
    count, found = sympy.symbols("n x", integer=True, positive=True)
    logarithm = found * sympy.log(PLACE) + (count - found) * sympy.log(1 - PLACE)
    relative_slope = sympy.diff(logarithm, PLACE)
    before = _choices(count - 1, found - 1) / _choices(count, found) / PLACE
    after = _choices(count - 1, found) / _choices(count, found) / (1 - PLACE)
    change = count * (sympy.gammasimp(before) - sympy.gammasimp(after))
    total = k + OTHERS
    last = (total - 1) * _choices(total - 2, k - 1)
    constant = sympy.gamma(k) * sympy.gamma(OTHERS) / sympy.gamma(total)
    return sympy.And(
        sympy.Eq(sympy.simplify(relative_slope - change), 0), sympy.Eq(sympy.gammasimp(last * constant), 1)
    )


def _choices(number: sympy.Expr, chosen: sympy.Expr) -> sympy.Expr:
    return sympy.gamma(number + 1) / (sympy.gamma(chosen + 1) * sympy.gamma(number - chosen + 1))


def _by_parts() -> sympy.Basic:
    """(δP)' = QP/M − δβ for δ' = Q/M and P' = −β."""
    sent, left = sympy.Function("delta"), sympy.Function("P")
    quantile, density = sympy.Function("Q"), sympy.Function("beta")
    product = sympy.diff(sent(PLACE) * left(PLACE), PLACE)
    known = {sympy.diff(sent(PLACE), PLACE): quantile(PLACE), sympy.diff(left(PLACE), PLACE): -density(PLACE)}
    return sympy.Eq(
        sympy.expand(product.subs(known) - (quantile(PLACE) * left(PLACE) - sent(PLACE) * density(PLACE))), 0
    )


def moment(power: sympy.Expr) -> sympy.Expr:
    """E T^power for b = k + J."""
    total = k + OTHERS
    quotient = sympy.gamma(k + power) * sympy.gamma(total) / (sympy.gamma(k) * sympy.gamma(total + power))
    return sympy.gammasimp(quotient)


def _jensen() -> sympy.Basic:
    """The tangent at k/b has the mean ε(k/b) + ε'(k/b)(E T − k/b) = ε(k/b)."""
    value, slope = sympy.symbols("value slope", real=True)
    tangent = value + slope * (moment(1) - k / (k + OTHERS))
    return sympy.Eq(sympy.simplify(tangent - value), 0)


def _uniform_mean() -> sympy.Expr:
    """1 − T ~ Beta(b − k, k)."""
    mean = sympy.gammasimp(sympy.expand(moment(3)))
    return mean.subs({k: chunk_size - k, OTHERS: k}, simultaneous=True)


def _uniform_excess(bound: sympy.Expr) -> sympy.Expr:
    rest = chunk_size - k
    numerator = k * rest * (3 * chunk_size * rest + 4 * chunk_size - 2 * k)
    stated = numerator / (chunk_size**3 * (chunk_size + 1) * (chunk_size + 2))
    return sympy.cancel(bound - (rest / chunk_size) ** 3 - stated)


def _slope_of(excess: sympy.Expr) -> sympy.Expr:
    limit = sympy.limit(sympy.cancel(chunk_size * excess.subs(k, kappa * chunk_size)), chunk_size, sympy.oo)
    return sympy.expand(limit - 3 * kappa * (1 - kappa) ** 2)


def level_symbol(law: Law) -> sympy.Symbol:
    """The level z in the density of a law."""
    (level,) = law.density.free_symbols
    return level


def _laplace_ratio() -> sympy.Expr:
    log = sympy.Symbol("l", positive=True)
    return sympy.simplify((LAPLACE.ratio - (1 - kappa * (1 + log + log**2 / 2))).subs(kappa, sympy.exp(-log)))


def _logarithms() -> sympy.Basic:
    """−d/ds and d²/ds² of ln E T^(1+s) at 0 are A and B: ψ(x + 1) − ψ(x) = 1/x, and ψ' alike, sum up to them."""
    total = k + OTHERS
    plain = sympy.gamma(k + 1 + _POWER) / sympy.gamma(total + 1 + _POWER) * sympy.gamma(total) / sympy.gamma(k)
    logarithm = sympy.loggamma(k + 1 + _POWER) - sympy.loggamma(total + 1 + _POWER)
    slope, bend = (sympy.diff(logarithm, _POWER, order).subs(_POWER, 0) for order in (1, 2))
    name = sympy.Symbol("x", integer=True, positive=True)
    gains = [
        sympy.expand_func(sympy.polygamma(order, name + 1) - sympy.polygamma(order, name)) - sign / name ** (order + 1)
        for order, sign in ((0, 1), (1, -1))
    ]
    return sympy.And(
        sympy.Eq(sympy.gammasimp(plain / moment(1 + _POWER)), 1),
        sympy.Eq(sympy.simplify(-slope - (sympy.polygamma(0, total + 1) - sympy.polygamma(0, k + 1))), 0),
        sympy.Eq(sympy.simplify(bend - (sympy.polygamma(1, k + 1) - sympy.polygamma(1, total + 1))), 0),
        *(sympy.Eq(sympy.simplify(gain), 0) for gain in gains),
    )


def _from_moments(first: sympy.Expr, second: sympy.Expr) -> sympy.Expr:
    """M'' = M((ln M)'² + (ln M)'')."""
    share = k / chunk_size
    return 1 - (share + share * first + share * (first**2 + second) / 2)


def _gaussian_ratio() -> sympy.Expr:
    level = level_symbol(GAUSSIAN)
    mass = sympy.erf(level / sympy.sqrt(2))
    closed = mass - sympy.sqrt(2 / sympy.pi) * level * sympy.exp(-(level**2) / 2)
    return sympy.simplify(GAUSSIAN.energy_of_level - closed)


def _two_gaussians() -> sympy.Expr:
    """min(x², y²) = (x² + y² − |x² − y²|)/2, and x² − y² is twice a product of independent normal variables."""
    level = sympy.Symbol("x", positive=True)
    magnitude = 2 * sympy.integrate(level * sympy.exp(-(level**2) / 2) / sympy.sqrt(2 * sympy.pi), (level, 0, sympy.oo))
    smaller = (2 - 2 * magnitude**2) / 2
    return sympy.simplify(smaller / 2 - (sympy.Rational(1, 2) - 1 / sympy.pi))


STATEMENTS = by_label(__name__, uniform_chunks, laplace_chunks, gaussian_chunks)
"""The statements of this file."""
