"""Small result files of the studies on barriers, with numbers that can be checked by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support.paper_data import PROVENANCE, write


def write_barrier_results(folder: Path, *, profile: str = "quick") -> Path:
    """Write the results of the three studies; returns the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    write(folder / "dssp_leads.json", dssp_leads_record(profile))
    write(folder / "planned_barriers.json", planned_barriers_record(profile))
    write(folder / "sampled_lags.json", sampled_lags_record(profile))
    return folder


def dssp_leads_record(profile: str) -> dict[str, Any]:
    """Pairs of three ratios, and two clusters of two sizes."""
    leads = {"printed": ([10, 40], [100, 398]), "capped": ([9, 14], [12, 13]), "asynchronous": ([20, 50], [100, 400])}
    runs = [
        {"rule": rule, "cluster": "pair", "workers": 2, "ratio": ratio, "seed": 0, "largest_lead": lead}
        for rule, found in leads.items()
        for ratio, lead in ((4.0, found[1]), (1.0, [1, 1]), (1.5, found[0]))
    ]
    runs += [
        {"rule": rule, "cluster": cluster, "workers": workers, "ratio": 1.0, "seed": 0, "largest_lead": lead}
        for cluster in ("exponential", "pareto")
        for workers in (4, 8)
        for rule, lead in (("printed", [workers, 20]), ("capped", [7, 15]), ("asynchronous", [30, 60 + workers]))
    ]
    return {
        "profile": profile,
        "lower": 3,
        "upper": 15,
        "horizons": [100, 400],
        "guarantee": {"printed": 16, "capped": 15},
        "stated": 16.0,
        "stated_for_grants": 15.0,
        "runs": runs,
        "provenance": PROVENANCE,
    }


def planned_barriers_record(profile: str) -> dict[str, Any]:
    """Seconds nR of the sweep and n²R²/10 of the others, in µs; spreads of R^{−1/(n−1)}, half the bound or a fifth."""
    powers = {"sweep": 1, "printed sweep": 2, "scan": 2}
    return {
        "profile": profile,
        "small": [
            {
                "family": family,
                "instances": 100,
                "equal": {"spread": 100, "rate": 100, "total": 100 - lost},
                "printed_equal": 100,
                "unguarded_wrong": 40 + lost,
            }
            for family, lost in (("uniform", 0), ("tied", 1), ("periodic", 0))
        ],
        "timings": [
            {
                "planner": planner,
                "workers": workers,
                "look_ahead": look_ahead,
                "wall_seconds": 1e-6 * (workers * look_ahead) ** power / 10 ** (power - 1),
                "spread": 0.5,
            }
            for planner, power in powers.items()
            for workers in ((10, 100) if power == 1 else (10,))
            for look_ahead in (15, 50)
        ],
        "wall_exponents": {planner: {"workers": power, "look_ahead": 1.0} for planner, power in powers.items()},
        "spans": [
            {
                "workers": workers,
                "intervals": kind,
                "look_ahead": look_ahead,
                "spread": look_ahead ** (-1 / (workers - 1)),
                "bound": share and look_ahead ** (-1 / (workers - 1)) / share,
                "share_of_bound": share,
            }
            for workers in (2, 3, 4)
            for kind, usual in (("algebraic", 0.5), ("drawn", 0.2))
            for look_ahead, share in ((4, usual if workers < 4 else None), (16, usual), (64, usual))
        ],
        "provenance": PROVENANCE,
    }


def sampled_lags_record(profile: str) -> dict[str, Any]:
    """Samples of 0, 1, 8 and everybody of ten workers; those without staleness exceed their bounds."""
    return {
        "profile": profile,
        "runs": [
            lag_run(workers, cluster, staleness, sample)
            for workers in (10, 20)
            for cluster in ("exponential", "one slow")
            for staleness in (0, 3)
            for sample in (workers - 1, 0, 1, 8)
        ],
        "provenance": PROVENANCE,
    }


def lag_run(workers: int, cluster: str, staleness: int, sample: int) -> dict[str, Any]:
    """A run of a hundred looks without laggards and of fifty with one, of which twenty passed."""
    lag = {"mean": 1.5, "second_moment": 3.0, "percentile_99": 4, "largest": 5, "beyond_share": 0.2}
    law = {"decay": 0.5, "weight": 7.0 if staleness else 0.5, "second_moment_ratio": 0.75 + staleness / 100}
    halves = [1.0, 2.0] if cluster == "one slow" else [1.0, 1.5]
    bounds = {"mean": 4.0, "second_moment": 20.0} if staleness else {"mean": 1.0, "second_moment": 3.0}
    return {
        "workers": workers,
        "cluster": cluster,
        "staleness": staleness,
        "sample": sample,
        "releases": 150,
        "slowest": {**lag, "fitted_law": law if sample else None, "mean_error": 0.25, "mean_by_half": halves},
        "another": {**lag, "mean": 0.5, "fitted_law": law if sample else None},
        "passing": {
            "laggards": [0, 1],
            "looks": [100, 50],
            "passes": [100, 20],
            "share": 0.8,
            "expected_share": 0.75,
            "deviation": -1.5 if sample == 8 else 0.5,
            "impossible": 0,
            "chi_square": 1.25,
            "compared": 1,
        },
        "stated": {"weight": 0.5, "decay": 0.5**sample, **(bounds if sample else {})},
    }
