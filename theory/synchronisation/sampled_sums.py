"""What does a sum over a sample of workers say of all? Its bias, where some are there more often, or fail together.

Availability-weighted probabilistic synchronous parallel (AW-PSP, Behfar and Mortier 2026) samples workers with unequal
probabilities, where a sample is who contributes. Weights undo that on average (Horvitz and Thompson 1952), but not once
all holders of a class are gone.
"""

from itertools import chain, combinations

import sympy

from sparsync.theory.delay.stability import decided
from sparsync.theory.language.stated import by_label
from sparsync.theory.language.statement import Statement
from sparsync.theory.language.step import Step
from sparsync.theory.language.symbols import (
    class_error,
    class_sum,
    failure_chance,
    inclusion_covariance,
    mean_contribution,
    n,
    others_share,
    others_sum,
    sample_bias,
    sample_count,
    shared_failure_bias,
    weighted_mean,
)

DESIGN = (
    r"worker $w$ of $n$ would contribute $x_w$, and is in the sample $S$ with probability $\pi_w>0$, whoever else is",
)
SHARED = (
    r"with probability $q$ all holders of a class are gone together",
    r"$Y$ is the sum of their contributions, $O$ that of the others",
)
LARGEST_LISTED = 3
"""Number of workers up to which all samples are listed, each with an unknown probability."""
WORKER = sympy.Symbol("w", integer=True, positive=True)
CONTRIBUTIONS, INCLUSIONS = sympy.IndexedBase("x"), sympy.IndexedBase("pi")


def weighted_sample_mean() -> Statement:
    """E Σ_{w∈S} x_w/(nπ_w) = x̄, whoever is drawn together: weights 1/π_w make a sample unbiased.

    Source: Horvitz and Thompson 1952.
    """
    bound = mean_contribution
    return Statement(
        label="weighted_sample_mean",
        title="Sum over a sample, weighted by inclusion",
        assumptions=DESIGN,
        relation=sympy.Eq(weighted_mean, bound),
        domain=(),
        source="Horvitz and Thompson 1952",
        derivation=(
            Step(
                "worker w adds a_w x_w to the sum with probability π_w, so that E Σ_{w∈S} a_w x_w = Σ_w π_w a_w x_w: "
                f"for every law of samples of n ≤ {LARGEST_LISTED}",
                _listed,
            ),
            Step("a_w = 1/(nπ_w) leaves Σ_w x_w/n", lambda: _expected_sum(_weight()) - _sum(CONTRIBUTIONS[WORKER]) / n),
            Step("which is the mean", lambda: _in_terms_of_mean() - bound, concludes=bound),
        ),
    )


def sample_mean_bias() -> Statement:
    """E (1/β)Σ_{w∈S} x_w − x̄ = (n/β) Cov(π, x) for samples of β: without weights those likely to be there prevail.

    Source: classical.
    """
    bound = n * inclusion_covariance / sample_count
    return Statement(
        label="sample_mean_bias",
        title="Mean over a sample of a fixed size, without weights",
        assumptions=(
            *DESIGN,
            r"$S$ has $\beta$ workers; $\mathrm{Cov}(\pi,x)=\frac{1}{n}\sum_w(\pi_w-\bar{\pi})(x_w-\bar{x})$",
        ),
        relation=sympy.Eq(sample_bias, bound),
        domain=(sympy.Ge(sample_count, 1), sympy.Le(sample_count, n)),
        source="classical",
        derivation=(
            Step(f"E Σ_{{w∈S}} x_w = Σ_w π_w x_w: for every law of samples of n ≤ {LARGEST_LISTED}", _listed),
            Step(
                f"Σ_w π_w = β where every sample has β workers: for every such law of n ≤ {LARGEST_LISTED}",
                _sizes_listed,
            ),
            Step(
                "n Cov(π, x) = Σ_w π_w x_w − n π̄ x̄, with π̄ = β/n",
                lambda: _covariance_expanded() - _covariance_stated(),
            ),
            Step(
                "so Σ_w π_w x_w/β − x̄ is the bound",
                lambda: (
                    (n * inclusion_covariance + sample_count * mean_contribution) / sample_count
                    - mean_contribution
                    - bound
                ),
                concludes=bound,
            ),
        ),
    )


def shared_failure_sum() -> Statement:
    """Weights 1/π_w, unbiased over all, miss (1 − q)(1 − s)/(q + (1 − q)s)·O − Y once all holders of a class are gone.

    The others fill the sample with the weights of workers that are rarer: O counts 1/(q + (1 − q)s) times. It is 0 on
    average over failure and none.

    Source: ours.
    """
    bound = (1 - failure_chance) * (1 - others_share) / _often() * others_sum - class_sum
    return Statement(
        label="shared_failure_sum",
        title="Weighted sum over a sample, given a shared failure",
        assumptions=(
            *SHARED,
            r"a sample of $\beta$ workers that are there holds $w$ with probability $\beta p_w$ over the sum of their "
            r"$p$, none above 1",
            r"$s$ is the share of the others in the sum of all $p$, and weights are $1/\pi_w$, with $\pi_w$ over "
            r"failure and none",
        ),
        relation=sympy.Eq(shared_failure_bias, bound),
        domain=(sympy.Lt(failure_chance, 1), sympy.Le(others_share, 1)),
        source="ours",
        derivation=(
            Step(
                "where they are gone, the others are 1/(q + (1 − q)s) times as likely as on average",
                lambda: sympy.cancel(_inclusion(is_failed=True) / _marginal() - 1 / _often()),
            ),
            Step(
                "the others' sum counts as often, and that of the holders not at all",
                lambda: sympy.cancel(_conditional_sum(is_failed=True) - (others_sum + class_sum) - bound),
                concludes=bound,
            ),
            Step(
                "over failure and none the sum is O + Y",
                lambda: sympy.cancel(
                    failure_chance * _conditional_sum(is_failed=True)
                    + (1 - failure_chance) * _conditional_sum(is_failed=False)
                    - (others_sum + class_sum)
                ),
            ),
        ),
    )


def shared_failure_error() -> Statement:
    """E (Z − Y)² ≥ qY² for the class's part Z of a weighted sum, whatever the weights: they may depend on everything.

    It is attained where all holders that are there are sampled, with weights 1. Weights 1/π_w, unbiased over failure
    and none, have at least qY²/(1 − q).

    Source: ours.
    """
    bound = failure_chance * class_sum**2
    return Statement(
        label="shared_failure_error",
        title="Part of a class in any weighted sum over a sample",
        assumptions=SHARED,
        relation=sympy.Ge(class_error, bound, evaluate=False),
        domain=(sympy.Le(failure_chance, 1),),
        source="ours",
        derivation=(
            Step(
                "who is gone is in no sample: Z = 0 then for all weights, which miss Y",
                lambda: _missed(dict.fromkeys(_THERE, 0)) + class_sum,
            ),
            Step(
                "else the error is some e ≥ 0, so that qY² + (1 − q)e ≥ qY²",
                lambda: decided((_error(_OTHERWISE) - bound).subs(failure_chance, _CHANCE).factor().is_nonnegative),
                concludes=bound,
            ),
            Step("e = 0 attains it: Z = Y where all are there, with weights 1", lambda: _error(_everybody()) - bound),
            Step(
                "weights 1/π_w have the mean Y/(1 − q) otherwise, which alone makes it qY²/(1 − q)",
                lambda: sympy.cancel(
                    _error((class_sum / (1 - failure_chance) - class_sum) ** 2) - bound / (1 - failure_chance)
                ),
            ),
        ),
    )


def _sum(term: sympy.Expr) -> sympy.Expr:
    return sympy.Sum(term, (WORKER, 1, n))


def _weight() -> sympy.Expr:
    """a_w that makes the sum unbiased for the mean."""
    return 1 / (n * INCLUSIONS[WORKER])


def _expected_sum(weight: sympy.Expr) -> sympy.Expr:
    """Σ_w π_w a_w x_w, with what does not depend on w before it."""
    term = sympy.cancel(INCLUSIONS[WORKER] * weight * CONTRIBUTIONS[WORKER])
    constant, rest = term.as_independent(WORKER)
    return constant * _sum(rest)


def _in_terms_of_mean() -> sympy.Expr:
    """The same, where the contributions have the sum n x̄."""
    return _expected_sum(_weight()).subs(_sum(CONTRIBUTIONS[WORKER]), n * mean_contribution)


def _samples(workers: int) -> list[tuple[int, ...]]:
    return list(chain.from_iterable(combinations(range(workers), size) for size in range(workers + 1)))


def _listed() -> sympy.Basic:
    return decided(all(_expectations_agree(workers) for workers in range(1, LARGEST_LISTED + 1)))


def _expectations_agree(workers: int) -> bool:
    """Sample by sample, or worker by worker, for an unknown law of samples."""
    terms = sympy.symbols(f"ax_:{workers}", real=True)
    law = {sample: sympy.Symbol(f"p_{number}") for number, sample in enumerate(_samples(workers))}
    by_sample = sympy.Add(
        *(chance * sympy.Add(*(terms[worker] for worker in sample)) for sample, chance in law.items())
    )
    by_worker = sympy.Add(*(_included(worker, law) * terms[worker] for worker in range(workers)))
    return bool(sympy.expand(by_sample - by_worker) == 0)


def _included(worker: int, law: dict[tuple[int, ...], sympy.Symbol]) -> sympy.Expr:
    return sympy.Add(*(chance for sample, chance in law.items() if worker in sample))


def _sizes_listed() -> sympy.Basic:
    sizes = ((workers, size) for workers in range(1, LARGEST_LISTED + 1) for size in range(workers + 1))
    return decided(all(_inclusions_sum_to(workers, size) for workers, size in sizes))


def _inclusions_sum_to(workers: int, size: int) -> bool:
    """Σ_w π_w is the size times the sum of the law."""
    law = {sample: sympy.Symbol(f"p_{number}") for number, sample in enumerate(combinations(range(workers), size))}
    included = sympy.Add(*(_included(worker, law) for worker in range(workers)))
    return bool(sympy.expand(included - size * sympy.Add(*law.values())) == 0)


def _covariance_expanded() -> sympy.Expr:
    """Σ_w (π_w − π̄)(x_w − x̄), summed term by term, with Σπ_w = β, Σx_w = n x̄ and unknown Σπ_w x_w."""
    inclusion, contribution = sympy.symbols("inclusion contribution")
    product = sympy.expand((inclusion - sample_count / n) * (contribution - mean_contribution))
    sums = {(1, 1): _PRODUCTS, (1, 0): sample_count, (0, 1): n * mean_contribution, (0, 0): n}
    terms = sympy.Poly(product, inclusion, contribution).terms()
    return sympy.expand(sympy.Add(*(coefficient * sums[powers] for powers, coefficient in terms)))


def _covariance_stated() -> sympy.Expr:
    return _PRODUCTS - sample_count * mean_contribution


_PRODUCTS = sympy.Symbol("products", real=True)
"""Σ_w π_w x_w."""
_SUM, _WEIGHT = sympy.symbols("sum weight", positive=True)
"""Σ_w p_w of all, and β p_w of one of the others."""


def _often() -> sympy.Expr:
    return failure_chance + (1 - failure_chance) * others_share


def _inclusion(*, is_failed: bool) -> sympy.Expr:
    """Of one of the others."""
    return _WEIGHT / (others_share * _SUM if is_failed else _SUM)


def _marginal() -> sympy.Expr:
    return failure_chance * _inclusion(is_failed=True) + (1 - failure_chance) * _inclusion(is_failed=False)


def _conditional_sum(*, is_failed: bool) -> sympy.Expr:
    """E Σ_{w∈S} x_w/π_w: a holder is only there where they do not fail, with the probability π_w/(1 − q)."""
    holders = sympy.Integer(0) if is_failed else class_sum / (1 - failure_chance)
    return others_sum * _inclusion(is_failed=is_failed) / _marginal() + holders


_THERE = sympy.symbols("is_there_:3", nonnegative=True)
"""1 if a holder is in the sample, else 0."""
_OTHERWISE = sympy.Symbol("otherwise", nonnegative=True)
"""e, the expected square of what is missed where they do not fail."""
_CHANCE = 1 / (1 + sympy.Symbol("odds", nonnegative=True))
"""A probability q > 0; for q = 0 the bound is 0."""


def _missed(sampled: dict[sympy.Symbol, int]) -> sympy.Expr:
    """Z − Y, for three holders and any weights."""
    parts = sympy.symbols(f"weighted_:{len(_THERE)}", real=True)
    return sympy.Add(*(is_there * part for is_there, part in zip(_THERE, parts, strict=True))).subs(sampled) - class_sum


def _error(otherwise: sympy.Expr) -> sympy.Expr:
    return failure_chance * class_sum**2 + (1 - failure_chance) * otherwise


def _everybody() -> sympy.Expr:
    """The square of what is missed with weights 1 where every holder is in the sample; their sum is Y."""
    rest = sympy.symbols("rest_:2", real=True)
    parts = (*rest, class_sum - sympy.Add(*rest))
    return sympy.expand(sympy.Add(*parts) - class_sum) ** 2


STATEMENTS = by_label(__name__, weighted_sample_mean, sample_mean_bias, shared_failure_sum, shared_failure_error)
"""The statements of this file."""
