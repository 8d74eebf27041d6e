"""What was found here of what the original study draws: a relation each, whether it holds, and the numbers in words.

Training runs are those of `convergence_<arena>.json`, of which any may be missing. None: no run says it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import exp
from pathlib import Path
from typing import NamedTuple

from paper.comparisons import UNKNOWN, tally
from paper.results import Result, result, results
from paper.studies.contraction import difference_of_norms
from paper.studies.gradient_laws.runs import inflations
from paper.studies.headlines.headline import NoYes
from paper.studies.planning.scaling import NETWORKS, row_of
from sparsync.verify.tools.intervals import Estimate, paired_difference

CLOSE_POINTS = 1.0
"""Points of accuracy, or per cent of loss, within which two methods end alike."""
FASTER = 1.1
"""What is faster is so by this factor at least."""
BAND = (2 / 3, 4 / 3)
"""Counts over k that are about k; the released rule aims at them."""
INFLATION = (6.0, 10.0)
"""Of the scale of corrected gradients by feedback: our reading of the released scripts' axis limits."""
_SCRIPTS_DENSITIES = (0.01, 0.49)
_TABLE_WORKERS, _TABLE_RATE, _TABLE_DENSITY = 16, 10e9, 0.001
_TABLE_NETWORKS = ("resnet50", "vgg16")
_TIMED_DENSITY = 0.001


class Finding(NamedTuple):
    """What was found of a relation.

    Args:
        holds: None where it is inconclusive.
        words: in plain text.
    """

    holds: NoYes
    words: str


class Place(NamedTuple):
    """Where two methods were compared: an arena with an optimiser and a density, and the better end."""

    title: str
    difference: Estimate


def arenas(data_folder: Path) -> list[Result]:
    """The results of all arenas that have been run: tuned training runs, `convergence_<arena>.json`."""
    return [result(data_folder, path.stem) for path in sorted(data_folder.glob("convergence_*.json"))]


def ended(data_folder: Path, method: str, reference: str) -> list[Place]:
    """How much better a method ends than another, wherever both ran and ended: points; of text, per cent of loss."""
    found = []
    for study in arenas(data_folder):
        by_key = {(one["optimiser"], one["method"], one["density"]): one for one in study.records("contestants")}
        for (optimiser, name, density), own in by_key.items():
            other = by_key.get((optimiser, reference, density), by_key.get((optimiser, reference, None)))
            if name == method and other is not None and (difference := _difference(study, own, other)) is not None:
                found.append(Place(f"{study['arena']}, {optimiser}, {density}", difference))
    return found


def _difference(study: Result, own: Result, other: Result) -> Estimate | None:
    is_text = str(study.record("setup")["data"]).partition(":")[0] == "text"
    field = "test_loss" if is_text else "test_accuracy"
    if None in (*own[field], *other[field]):
        return None
    if is_text:
        return paired_difference(
            [100 * (1 - loss / base) for loss, base in zip(own[field], other[field], strict=True)],
            [0.0] * len(own[field]),
        )
    return paired_difference(*([100 * accuracy for accuracy in one[field]] for one in (own, other)))


def above(data_folder: Path) -> Finding | None:
    """Exact Top-k ends above random k."""
    found = [place.difference for place in ended(data_folder, "top_k", "random_k")]
    if not found:
        return None
    holds = True if min(one.low for one in found) > 0 else False if min(one.high for one in found) < 0 else None
    said = tally(found, more="above", less="below")
    return Finding(holds, f"Top-k over Rand-k: {said} of {len(found)} settings in which all runs ended")


def alike(data_folder: Path) -> Finding | None:
    """The released rule ends within a point of exact Top-k; ours is said beside it."""
    theirs, ours = (
        [place.difference for place in ended(data_folder, name, "top_k")]
        for name in ("gaussian_k_released", "gaussian_k")
    )
    if not theirs:
        return None
    close = [_is_close(one) for one in theirs]
    holds = False if False in close else None if None in close else True
    said = [f"released rule {_closeness(theirs)}"] + ([f"ours {_closeness(ours)}"] if ours else [])
    return Finding(holds, f"within {CLOSE_POINTS:g} of Top-k, where all runs ended: {'; '.join(said)}")


def _is_close(difference: Estimate) -> NoYes:
    if difference.low >= -CLOSE_POINTS and difference.high <= CLOSE_POINTS:
        return True
    return False if difference.low > CLOSE_POINTS or difference.high < -CLOSE_POINTS else None


def _closeness(differences: Sequence[Estimate]) -> str:
    said = [_is_close(one) for one in differences]
    return f"yes in {said.count(True)}, no in {said.count(False)}, {UNKNOWN} in {said.count(None)}"


def counts(data_folder: Path) -> Finding | None:
    """The released rule sends about k, at all its densities: the median over updates, on every seed."""
    rows = [one for study in arenas(data_folder) for one in study.records("contestants")]
    medians = [one["median_count"] for one in rows if one["method"] == "gaussian_k_released"]
    known = [[count for count in counts if count is not None] for counts in medians]
    known = [counts for counts in known if counts]
    if not known:
        return None
    inside = sum(all(BAND[0] <= count <= BAND[1] for count in counts) for counts in known)
    every = [count for counts in known for count in counts]
    words = f"about k in {inside} of {len(known)} settings; medians {min(every):.2g} to {max(every):.2g} times k"
    return Finding(inside == len(known), words)


def inflated(data_folder: Path) -> Finding | None:
    """Feedback spreads the corrected gradient: by model, the geometric mean of the ratio over seeds."""
    factors = [exp(estimate.value) for estimate in inflations(data_folder)]
    if not factors:
        return None
    low, high = INFLATION
    inside = sum(low <= factor <= high for factor in factors)
    words = f"{min(factors):.1f} to {max(factors):.1f} times as wide on {len(factors)} models; {inside} within "
    return Finding(min(factors) > 1, f"{words}{low:g} to {high:g}")


def under_line(data_folder: Path) -> Finding:
    """Sorted squares of a Gaussian sample lie under 1 − t."""
    (vector,) = _vectors(data_folder, "gaussian")
    pairs = list(zip(vector["position"], vector["magnitude"], strict=True))
    below = sum(magnitude**2 <= 1 - position for position, magnitude in pairs)
    return Finding(below == len(pairs), f"below the line at {below} of {len(pairs)} ranks")


def bounded(data_folder: Path) -> Finding | None:
    """(1 − κ)² bounds what Top-k leaves of a Gaussian sample and of corrected gradients, at the scripts' densities."""
    kept, shown, drawn = [], [], []
    vectors = _vectors(data_folder, "gaussian", "corrected gradient")
    for vector in vectors:
        for density, ratio in _ratios(vector):
            kept.append(ratio <= (1 - density) ** 2)
            if vector["name"] == "gaussian":
                shown.append(ratio)
                drawn.append(difference_of_norms(ratio))
    if not shown:
        return None
    words = (
        f"kept at {sum(kept)} of {len(kept)} points of {len(vectors)} vectors; at the least density a Gaussian sample "
        f"loses {max(shown):.2f}, where the released script draws {max(drawn):.2f}"
    )
    return Finding(all(kept), words)


def _vectors(data_folder: Path, *kinds: str) -> list[Result]:
    found = result(data_folder, "contraction").records("vectors")
    return [vector for vector in found if str(vector["name"]).partition(",")[0] in kinds]


def _ratios(vector: Result) -> Iterator[tuple[float, float]]:
    for count, ratio in zip(vector["target_count"], vector["ratio"], strict=True):
        density = count / vector["dimension"]
        if _SCRIPTS_DENSITIES[0] <= density <= _SCRIPTS_DENSITIES[1]:
            yield density, ratio


_EXACT = ("top_k, warm", "torch.topk, unsorted")
_APPROXIMATE = ("gaussian_k, warm", "gaussian_k_released", "released, PyTorch", "DGC, PyTorch", "SIDCo, PyTorch")


def selected(data_folder: Path) -> Finding | None:
    """In PyTorch the released rule is faster than exact Top-k on the longest vectors; and the best of both kinds."""
    factors, published, machines, shorter = [], [], [], []
    for kernels in results(data_folder, "kernels"):
        seconds = _longest(kernels)
        if not seconds:
            continue
        factors.append(min(_of(seconds, _EXACT)) / min(_of(seconds, _APPROXIMATE)))
        published.append(seconds["torch.topk, unsorted"] / seconds["released, PyTorch"])
        machines.append(str(kernels["hardware"]))
        shorter += _shorter_factors(kernels)
    if not machines:
        return None
    holds = True if min(published) >= FASTER else False if max(published) < FASTER else None
    words = (
        f"in PyTorch exact Top-k takes {_span(published)} times as long on the longest vectors "
        f"({', '.join(machines)}), and is the quicker at {sum(one < 1 for one in shorter)} of {len(shorter)} shorter "
        f"lengths; with our kernel, of the best of both kinds, {_span(factors)} times on the longest"
    )
    return Finding(holds, words)


def _longest(kernels: Result) -> dict[str, float]:
    """Seconds by contender on the longest Gaussian vectors that the released rule was timed on; empty if on none."""
    lengths = [row["dimension"] for row in _timed(kernels) if row["contender"] == "released, PyTorch"]
    return _at_length(kernels, max(lengths, default=None))


def _shorter_factors(kernels: Result) -> list[float]:
    """`torch.topk` over the released rule on all Gaussian vectors but the longest."""
    lengths = sorted({row["dimension"] for row in _timed(kernels) if row["contender"] == "released, PyTorch"})[:-1]
    found = (_at_length(kernels, length) for length in lengths)
    return [seconds["torch.topk, unsorted"] / seconds["released, PyTorch"] for seconds in found]


def _timed(kernels: Result) -> list[Result]:
    wanted = ("gaussian", "vector", _TIMED_DENSITY)
    return [row for row in kernels.records("rows") if (row["name"], row["granularity"], row["density"]) == wanted]


def _at_length(kernels: Result, length: int | None) -> dict[str, float]:
    rows = _timed(kernels)
    return {str(row["contender"]): float(row["best_seconds"]) for row in rows if row["dimension"] == length}


def _of(seconds: dict[str, float], names: Sequence[str]) -> list[float]:
    return [seconds[name] for name in names if name in seconds]


def _span(values: Sequence[float]) -> str:
    low, high = f"{min(values):.2f}", f"{max(values):.2f}"
    return low if low == high else f"{low} to {high}"


def scaled(data_folder: Path) -> Finding:
    """Predicted steps: Gaussian-k's are quicker than Top-k's, both as PyTorch selects, and these than dense ones."""
    study = result(data_folder, "scaling")
    place = study["workers"].index(_TABLE_WORKERS)
    dense, exact, released, ours = (
        [
            float(row_of(study, network, way, _TABLE_RATE, _TABLE_DENSITY)["efficiency"][place])
            for network in _TABLE_NETWORKS
        ]
        for way in ("dense_ring", "gather_torch", "gather_released", "gather")
    )
    over_dense, over_exact, over_ours = (
        [one / other for one, other in zip(released, others, strict=True)] for others in (dense, exact, ours)
    )
    least = float(study["least_gain"])
    factors = [*over_dense, *over_exact]
    holds = True if min(factors) >= least else False if max(over_dense) < 1 or max(over_exact) < 1 else None
    names = " and ".join(NETWORKS[network] for network in _TABLE_NETWORKS)
    words = (
        f"predicted for {names}, released Gaussian-k is {_span(over_dense)} times as fast as dense, "
        f"{_span(over_exact)} as Top-k by PyTorch, {_span(over_ours)} as Top-k by our kernel; less than "
        f"{least:g} is within the error of predictions"
    )
    return Finding(holds, words)
