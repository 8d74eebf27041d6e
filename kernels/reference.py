"""The selectors, in plain PyTorch: these definitions are what any faster version is tested against.

Each takes the corrected gradient u = g + e [d] and a target count k, and returns the entries to send.
All of them check their input the same way and return unique ascending indices; none keeps state.
"""

from __future__ import annotations

import math
from statistics import NormalDist

import torch
from torch import Tensor

from sparsync.kernels.band_search import ThresholdSearch, count_band, search_threshold
from sparsync.kernels.given_numbers import is_threshold, shown
from sparsync.kernels.magnitude import (
    check_selection_input,
    magnitude_bit_width,
    magnitude_bits,
    mantissa_bit_width,
)
from sparsync.kernels.moments import Moments, moments
from sparsync.kernels.payload import SparsePayload

# The first bracket of `gaussian_k` spans an eighth of an octave: a narrower one would often miss the band,
# about 6 % of the threshold wide for a Gaussian at density 0.001, and a wider one would cost more halvings.
_START_OCTAVE_FRACTION_BITS = 3
# Passes of the released refinement when a residual is kept.
_RELEASED_PASS_COUNT = 3
# The released settings of the two programs for deep gradient compression.
_SAMPLED_SHARE = 100  # one entry in so many is in the sample
_SAMPLE_PASS_COUNT = 10
# Share of the entries that the first stage of SIDCo's fit aims at.
_FIRST_STAGE_SHARE = 0.25


def keep_all(corrected: Tensor, k: int, generator: torch.Generator | None = None) -> SparsePayload:
    """C(u) = u: every entry, whatever k; the dense baseline.

    Args:
        corrected: [d] float16, bfloat16, float32 or float64.
        k: checked, otherwise unused.
        generator: unused.

    Raises:
        ValueError: see `check_selection_input`.
    """
    del generator
    check_selection_input(corrected, k)
    indices = torch.arange(corrected.numel(), dtype=torch.int32, device=corrected.device)
    return SparsePayload(corrected.clone(), indices, corrected.numel())


def top_k(corrected: Tensor, k: int, generator: torch.Generator | None = None) -> SparsePayload:
    """The k entries of largest magnitude, exactly k of them; ties go to the lowest index.

    Args:
        corrected: [d] float16, bfloat16, float32 or float64.
        k: 1 ≤ k ≤ d.
        generator: unused.

    Raises:
        ValueError: see `check_selection_input`.
    """
    del generator
    check_selection_input(corrected, k)
    return _payload_at(corrected, _largest(magnitude_bits(corrected), k))


def random_k(corrected: Tensor, k: int, generator: torch.Generator | None = None) -> SparsePayload:
    """k entries drawn uniformly without replacement; E‖u − C(u)‖² = (1 − k/d)‖u‖².

    Args:
        corrected: [d] float16, bfloat16, float32 or float64.
        k: 1 ≤ k ≤ d.
        generator: where the draw comes from; None is torch's default generator on the CPU.

    Raises:
        ValueError: see `check_selection_input`.
    """
    check_selection_input(corrected, k)
    device = torch.device("cpu") if generator is None else generator.device
    drawn = torch.randperm(corrected.numel(), generator=generator, device=device)[:k]
    return _payload_at(corrected, drawn.sort().values.to(corrected.device))


def gaussian_k(corrected: Tensor, k: int, generator: torch.Generator | None = None) -> SparsePayload:
    """Between ⌈2k/3⌉ and ⌊4k/3⌋ entries of largest magnitude, or all non-zeros if there are fewer.

    With a_i the bits of |u_i| and N(t) = #{i : a_i ≥ t}: all non-zeros if k = d or fewer than ⌈2k/3⌉ entries
    are non-zero; else the entries with a_i ≥ t*, where t* has the most trailing zero bits among the t ≥ 1
    with N(t) in the band; else (ties) the k largest, lowest index first. The Gaussian quantile only chooses
    where the search for t* begins (`band_search.py`), so the result is a function of the order statistics
    alone. Source: ours, after the Gaussian-k of Shi, Chu, Cheung, See 2019, whose released refinement bounds
    no count.

    Args:
        corrected: [d] float16, bfloat16, float32 or float64.
        k: 1 ≤ k ≤ d.
        generator: unused.

    Raises:
        ValueError: see `check_selection_input`.
    """
    del generator
    check_selection_input(corrected, k)
    bits = magnitude_bits(corrected)
    if k == corrected.numel() or _count_at_least(bits, 1) < count_band(k)[0]:
        return _payload_at(corrected, (bits > 0).nonzero().flatten())
    threshold = _search(corrected, bits, k, _gaussian_start(corrected, k)).threshold
    if threshold is None:
        return _payload_at(corrected, _largest(bits, k))
    return _payload_at(corrected, (bits >= threshold).nonzero().flatten())


def gaussian_k_search(
    corrected: Tensor, k: int, start: int | None = None, *, start_level: int | None = None
) -> ThresholdSearch:
    """The threshold search of `gaussian_k`, with the passes it took; `gaussian_k` counts the non-zeros once besides.

    Args:
        corrected: [d], as in `gaussian_k`.
        k: 1 ≤ k ≤ d.
        start: magnitude bits where the search begins; None starts at the quantile of a centred Gaussian with
            the second moment of `corrected`.
        start_level: the first bracket has 2 to this power thresholds; None spans an eighth of an octave, the bit width
            of a magnitude is plain bisection from the root.

    Raises:
        ValueError: see `check_selection_input`; `start` is not a magnitude of the dtype.
    """
    check_selection_input(corrected, k)
    begin = _gaussian_start(corrected, k) if start is None else start
    return _search(corrected, magnitude_bits(corrected), k, begin, start_level)


def gaussian_k_released(corrected: Tensor, k: int, generator: torch.Generator | None = None) -> SparsePayload:
    """The threshold rule of the public GaussianK-SGD code, as it behaves: any count from 0 to d.

    t starts at mean + z·std, z = Φ⁻¹(1 − k/2d). Three passes count |u_i| > t; below 2k/3 t is halved, above
    4k/3 it is multiplied by 1.5, otherwise the passes stop. What the last count saw is returned, the last
    change of t never is. Mean and unbiased standard deviation are those of `moments.py`, in float64, and t is
    rounded to the dtype of u before comparing. d = 1 has no standard deviation and selects nothing. Source: the
    code released with Shi, Chu, Cheung, See 2019 (hclhkbu/GaussianK-SGD), written anew from its behaviour.

    Args:
        corrected: [d] float16, bfloat16, float32 or float64.
        k: 1 ≤ k ≤ d.
        generator: unused.

    Raises:
        ValueError: see `check_selection_input`.
    """
    del generator
    check_selection_input(corrected, k)
    start = released_start(moments([corrected]), two_sided_quantile(k, corrected.numel()))
    return _payload_at(corrected, released_indices(corrected, k, start))


def released_start(whole: Moments, quantile: float) -> float:
    """mean + z·std, where the released rule begins; NaN for a single entry."""
    return whole.mean + quantile * whole.standard_deviation


def released_indices(corrected: Tensor, k: int, start: float) -> Tensor:
    """Ascending positions that the released refinement selects when t starts at `start`; NaN selects nothing."""
    magnitudes = corrected.abs()
    selected = torch.zeros_like(magnitudes, dtype=torch.bool)
    threshold = start
    for _ in range(_RELEASED_PASS_COUNT):
        selected = magnitudes > torch.tensor(threshold, dtype=corrected.dtype, device=corrected.device)
        count = int(selected.count_nonzero())
        if 3 * count < 2 * k:
            threshold *= 0.5
        elif 3 * count > 4 * k:
            threshold *= 1.5
        else:
            break
    return selected.nonzero().flatten()


def dgc_released(corrected: Tensor, k: int, generator: torch.Generator | None = None) -> SparsePayload:
    """The sampled threshold of the released deep gradient compression: at most k entries, not always the largest.

    The threshold is the ⌈mk/d⌉-th largest of m magnitudes a stride apart, begun at a random place; m is about
    max(d/100, 2d/k), all d where d ≤ 2d/k. While fewer than 4k/5 entries reach it, it is multiplied by 0.8, at most ten
    times; of more than 13k/10 entries the k largest are sent, of fewer the first k by index. Counts that the released
    code rounds up from the floating-point k/d are exact here. Source: the code released with Lin, Han, Mao, Wang,
    Dally 2018 (synxlin/deep-gradient-compression), its defaults, written anew from its behaviour.

    Args:
        corrected: [d] float16, bfloat16, float32 or float64.
        k: 1 ≤ k ≤ d.
        generator: where the sample's first place is drawn; None is torch's default generator on the CPU.

    Raises:
        ValueError: see `check_selection_input`.
    """
    check_selection_input(corrected, k)
    magnitudes, bits = corrected.abs(), magnitude_bits(corrected)
    stride = dgc_stride(corrected.numel(), k)
    sample_count = corrected.numel() // stride
    sample = magnitudes[_drawn_below(stride, 1, generator)[0] :: stride]
    least = sample.topk(-(-sample_count * k // corrected.numel()), sorted=False).values.min()
    indices = (magnitudes >= least).nonzero().flatten()
    for _ in range(_SAMPLE_PASS_COUNT if stride > 1 else 0):
        if 10 * indices.numel() > 13 * k:
            indices = indices[_largest(bits[indices], k)]
        if 5 * indices.numel() >= 4 * k:
            break
        least = least * 0.8
        indices = (magnitudes >= least).nonzero().flatten()
    return _payload_at(corrected, indices[:k])


def dgc_stride(dimension: int, k: int) -> int:
    """From one entry of the sample of `dgc_released` to the next; 1 where the sample is the vector."""
    fewest = max(-(-dimension // _SAMPLED_SHARE), -(-2 * dimension // k))
    if fewest >= dimension:
        return 1
    stride = -(-dimension // (32 * fewest)) * 32 + 1
    while dimension // stride < fewest:
        stride -= 8
    return stride


def dgc_grace(corrected: Tensor, k: int, generator: torch.Generator | None = None) -> SparsePayload:
    """The sampled threshold of the GRACE framework's deep gradient compression: any count from 0 to d.

    The threshold is the max(1, ⌊k/100⌋)-th largest of ⌊d/100⌋ (at least one) magnitudes drawn with replacement. Up to
    ten times it is multiplied by 1.3 while more than 13k/10 entries reach it, and by 0.7 while fewer than 7k/10 do.
    Source: sands-lab/grace (Xu et al. 2021), after Lin, Han, Mao, Wang, Dally 2018, written anew from its behaviour.

    Args:
        corrected: [d] float16, bfloat16, float32 or float64.
        k: 1 ≤ k ≤ d.
        generator: where the sample is drawn; None is torch's default generator on the CPU.

    Raises:
        ValueError: see `check_selection_input`.
    """
    check_selection_input(corrected, k)
    magnitudes, dimension = corrected.abs(), corrected.numel()
    places = _drawn_below(dimension, max(1, dimension // _SAMPLED_SHARE), generator)
    sample = magnitudes[places.to(corrected.device)]
    least = sample.topk(max(1, k // _SAMPLED_SHARE), sorted=False).values.min()
    selected = magnitudes >= least
    for _ in range(_SAMPLE_PASS_COUNT):
        count = int(selected.count_nonzero())
        if 7 * k <= 10 * count <= 13 * k:
            break
        least = least * (1.3 if 10 * count > 13 * k else 0.7)
        selected = magnitudes >= least
    return _payload_at(corrected, selected.nonzero().flatten())


def sidco_released(corrected: Tensor, k: int, generator: torch.Generator | None = None) -> SparsePayload:
    """The threshold of SIDCo's exponential fit, two stages below density 0.1 and one else: any count from 0 to d.

    The numbers of stages are those of the released micro-benchmark; in training that program can adapt them to the
    counts of earlier steps, as `SidcoAdaptive` in `experiments/training/adaptive.py` does.

    Args:
        corrected: [d] float16, bfloat16, float32 or float64.
        k: 1 ≤ k ≤ d.
        generator: unused.

    Raises:
        ValueError: see `check_selection_input`.
    """
    del generator
    return sidco_at(corrected, k, 2 if 10 * k < corrected.numel() else 1)


def sidco_at(corrected: Tensor, k: int, stage_count: int) -> SparsePayload:
    """What SIDCo's exponential fit in so many stages sends.

    Args:
        corrected: [d] float16, bfloat16, float32 or float64.
        k: 1 ≤ k ≤ d.
        stage_count: see `sidco_indices`.

    Raises:
        ValueError: see `check_selection_input`.
    """
    check_selection_input(corrected, k)
    return _payload_at(corrected, sidco_indices(corrected, k, stage_count))


def sidco_indices(corrected: Tensor, k: int, stage_count: int) -> Tensor:
    """Ascending positions above the threshold of an exponential fit to |u| in stages.

    One stage: t = −mean(|u|)·ln(k/d). Of s > 1 stages the first aims at a quarter of the entries, or at k/d where that
    is more, and each other one fits the excess over the smallest of what exceeds the threshold before it, at the share
    (4k/d)^(1/(s−1)), even where that is more than 1. The released code divides by ‖u‖ first, which changes roundings
    only, and fails where a stage is left with nothing; here nothing is selected then. In float64. Source: code released
    with Abdelmoniem, Elzanaty, Alouini, Canini 2021 (sands-lab/SIDCo), written anew from its behaviour.

    Args:
        corrected: [d], as in `sidco_released`.
        k: 1 ≤ k ≤ d.
        stage_count: s ≥ 1.
    """
    magnitudes = corrected.abs().double()
    share = k / corrected.numel()
    first = share if stage_count == 1 else max(share, _FIRST_STAGE_SHARE)
    least = -magnitudes.mean() * math.log(first)
    for _ in range(stage_count - 1):
        left = magnitudes[magnitudes > least]
        if not left.numel():
            break
        smallest = left.min()
        least = smallest - (left.mean() - smallest) * math.log(share / _FIRST_STAGE_SHARE) / (stage_count - 1)
    return (magnitudes > least).nonzero().flatten()


def threshold(corrected: Tensor, least: float) -> SparsePayload:
    """The entries with |u_i| ≥ t, every one of them; t = 0 keeps all.

    Args:
        corrected: [d] float16, bfloat16, float32 or float64.
        least: t ≥ 0, finite; rounded to the dtype of `corrected` before comparing.

    Raises:
        ValueError: see `check_selection_input`; t is no number, negative or not finite.
    """
    check_selection_input(corrected, 1)
    if not is_threshold(least):
        raise ValueError(f"the threshold must be finite and at least 0, got {shown(least)}")
    rounded = torch.tensor(float(least), dtype=corrected.dtype, device=corrected.device)
    return _payload_at(corrected, (corrected.abs() >= rounded).nonzero().flatten())


def two_sided_quantile(k: int, dimension: int) -> float:
    """z with P(|N(0, 1)| > z) = k/d."""
    return -NormalDist().inv_cdf(k / dimension / 2)


def _drawn_below(bound: int, count: int, generator: torch.Generator | None) -> Tensor:
    """[count] whole numbers from 0 to bound − 1, with replacement."""
    device = torch.device("cpu") if generator is None else generator.device
    return torch.randint(bound, (count,), generator=generator, device=device)


def _payload_at(corrected: Tensor, indices: Tensor) -> SparsePayload:
    return SparsePayload(corrected[indices], indices.to(torch.int32), corrected.numel())


def _count_at_least(bits: Tensor, threshold: int) -> int:
    return int((bits >= threshold).count_nonzero())


def _search(corrected: Tensor, bits: Tensor, k: int, start: int, start_level: int | None = None) -> ThresholdSearch:
    narrow = mantissa_bit_width(corrected.dtype) - _START_OCTAVE_FRACTION_BITS
    return search_threshold(
        lambda threshold: _count_at_least(bits, threshold),
        count_band(k),
        bit_width=magnitude_bit_width(corrected.dtype),
        start=start,
        start_level=narrow if start_level is None else start_level,
    )


def _largest(bits: Tensor, k: int) -> Tensor:
    """Ascending positions of the k largest, lowest index first among ties (`torch.topk` leaves ties open)."""
    smallest_kept = bits.topk(k, sorted=False).values.min()
    above = (bits > smallest_kept).nonzero().flatten()
    tied = (bits == smallest_kept).nonzero().flatten()[: k - above.numel()]
    return torch.cat([above, tied]).sort().values


def _gaussian_start(corrected: Tensor, k: int) -> int:
    """Magnitude bits of z·√(mean u²), infinity's where that overflows; the search can begin anywhere."""
    dimension = corrected.numel()
    root_mean_square = float(torch.linalg.vector_norm(corrected, dtype=torch.float64)) / math.sqrt(dimension)
    threshold = two_sided_quantile(k, dimension) * root_mean_square
    return int(magnitude_bits(torch.tensor([threshold], dtype=torch.float64).to(corrected.dtype)))
