"""What do noise and heterogeneity leave of a gradient where the step size or the compressor is at its worst?

Moments in floats, over runs too long for fractions. Near the largest stable step C(u) = (1 + a)u amplifies noise as
much as the rates allow, but for a factor 1 + a; two workers that throw their residuals apart keep a gradient. Ours.
"""

from __future__ import annotations

from sparsync.theory.statements import STATEMENTS
from sparsync.verify.feedback.admission import admitting
from sparsync.verify.tools.outcome import Outcome, Profile

ROOT, SHARE, STEP_COUNT = 1 / 128, 63 / 64, 20_000
"""a, the share of the largest stable step, and T."""
ROUNDING = 1e-9
"""Ten roundings of 2⁻⁵³ a step, damped at the rate 1 − share of 1/64, are below 1e-13; the start is damped away."""
APART_ROOTS, APART_SHARES, APART_COUNT = (0.01, 0.1, 0.5), (0.005, 0.1), 4000
"""Of two workers without noise: a, the share of the largest stable step, and updates, after which they repeat."""
WEIGHTS = tuple(2.0**power for power in range(-8, 9))
"""ω, of which the smallest bound is taken."""


def near_limit_check(_profile: Profile, *, label: str) -> Outcome:
    """`numeric`: on Lx²/2 with L = 1 and noise of variance 1, min_t E|f'(x_t)|² is below the bound, and near it."""
    step = SHARE * 2 * (1 - ROOT) / (1 + ROOT)
    half = step / 2
    # From e_0 = 0 the energy falls a little at first, so it begins a tenth above where it rests.
    start = 1.1 * half / (1 - half * (1 + ROOT) / (1 - ROOT))
    smallest = min(_resting_energies(step, start))
    numbers = {
        "delta": 1 - ROOT**2,
        "step_size": step,
        "smoothness": 1,
        "gap": start / 2,
        "T": STEP_COUNT,
        "variance": 1,
    }
    if label == "descent_of_workers":
        numbers |= {"n": 1, "dissimilarity": 0, "residual_weight": 1 / (2 * ROOT)}
    share = smallest / STATEMENTS[label].evaluate(**admitting(label, numbers))
    return Outcome(earned=share <= 1 + ROUNDING, detail={"updates_count": STEP_COUNT, "share_of_bound": share})


def apart_check(_profile: Profile) -> Outcome:
    """`numeric`: x²/2 ± x with compressors that throw the two residuals apart, in turn; below the bound of every ω."""
    shares = [_apart_share(root, share) for root in APART_ROOTS for share in APART_SHARES]
    near = near_limit_check(_profile, label="descent_of_workers")
    detail = {**near.detail, "runs_count": len(shares), "largest_share_of_heterogeneous_bound": max(shares)}
    return Outcome(earned=near.earned and max(shares) <= 1, detail=detail)


def _apart_share(root: float, share: float) -> float:
    """min |f'(x_t)|² over the last updates, as a share of the smallest bound at T → ∞."""
    step = share * 2 * (1 - root) / (1 + root)
    numbers = {"delta": 1 - root**2, "step_size": step, "smoothness": 1, "gap": 0, "T": 1, "n": 2, "variance": 0}
    bounds = [
        STATEMENTS["descent_of_workers"].evaluate(**found)
        for weight in WEIGHTS
        if STATEMENTS["descent_of_workers"].admits(
            **(found := admitting("descent_of_workers", {**numbers, "dissimilarity": 1, "residual_weight": weight}))
        )
    ]
    x, residuals, last = 0.0, (0.0, 0.0), []
    for update in range(APART_COUNT):
        kept = (-root, root) if update % 2 else (root, -root)
        corrected = [e + step * (x + offset) for e, offset in zip(residuals, (1, -1), strict=True)]
        last.append(x**2)
        x -= sum((1 - k) * u for k, u in zip(kept, corrected, strict=True)) / 2
        residuals = (kept[0] * corrected[0], kept[1] * corrected[1])
    return min(last[-4:]) / min(bounds)


def _resting_energies(step: float, start: float) -> list[float]:
    """E x_t² from x_0² = start and e_0 = 0."""
    xx, xe, ee = start, 0.0, 0.0
    energies = []
    for _ in range(STEP_COUNT):
        energies.append(xx)
        xu, uu = xe + step * xx, ee + 2 * step * xe + step**2 * (xx + 1)
        xx, xe, ee = (
            xx - 2 * (1 + ROOT) * xu + (1 + ROOT) ** 2 * uu,
            (1 + ROOT) * ROOT * uu - ROOT * xu,
            ROOT**2 * uu,
        )
    return energies
