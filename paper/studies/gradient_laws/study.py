"""Are gradients as the published hypothesis and the normal law have them? The study `gradient_laws`.

Numbers in the text are ranges over all runs, of every seed, or over the models where they are of late training: means
over seeds, and ratios paired over them. "Met" is within what chance does to independent draws, see
`experiments/studies/selection/rank_hypotheses.py`; "strictly" is without that room.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import exp, log
from pathlib import Path

from paper import latex
from paper.comparisons import mean_phrase, ratio_phrase
from paper.results import Result, result
from paper.studies.gradient_laws.estimates import LEAST_INFLATION
from paper.studies.gradient_laws.figures import gradient_histograms, measured_contraction, rank_curves
from paper.studies.gradient_laws.runs import (
    KINDS,
    LAWS,
    MODELS,
    NAME,
    NOT_RUN,
    all_runs,
    best_of,
    distances,
    inflation,
    inflations,
    late_mean,
    run_of,
    seed_counts,
    shares,
)
from paper.studies.study import Macro, Study
from sparsync.verify.tools.intervals import Estimate

EXPECTED_INFLATION = (6, 10)
"""What axis limits of the released plotting scripts suggest; our inference, not a number of the original study."""
RUNG_NAMES = {"Second": "square_convex", "Third": "bell_shaped"}
KIND_NAMES = {"Dense": "dense", "Feedback": "top_k"}


def span(values: Sequence[float], write: Callable[[float], str]) -> str:
    """`0.13 to 0.37`; one number where both ends read alike, and `not run` where there is none."""
    if not values:
        return NOT_RUN
    ends = [write(end) for end in (min(values), max(values))]
    return ends[0] if ends[0] == ends[1] else " to ".join(ends)


def laws_table(data_folder: Path) -> str:
    r"""A `tabular`: a row for each model, with what was found on the first seed without feedback and with it."""
    study = result(data_folder, NAME)
    head = (
        r" & & & \multicolumn{2}{c}{best law, distance, the normal law's} & \multicolumn{2}{c}{strictly met (\%)} \\"
        "\n"
        r"\cmidrule(lr){4-5}\cmidrule(l){6-7}" + "\n"
        r"model & $d$ & updates & without & with & without & with \\" + "\n"
    )
    return _tabular("@{}lrrllcc@{}", head, [_row(study, model) for model in MODELS])


def _row(study: Result, model: str) -> list[str]:
    both = [run_of(study, model, kind) for kind in KINDS]
    found = [run for run in both if run is not None]
    known = [latex.integer(found[0]["parameter_count"]), _updates(found)] if found else [NOT_RUN, NOT_RUN]
    cells = [_cell(run, write) for write in (law_cell, _hypotheses_cell) for run in both]
    return [MODELS[model].title, *known, *cells]


def feedback_table(data_folder: Path) -> str:
    r"""A `tabular`: a row for each model, with what feedback does late in training, over all seeds."""
    head = (
        r" & & \multicolumn{2}{c}{with feedback over without} & \multicolumn{2}{c}{gain $\delta/\kappa$} \\" + "\n"
        r"\cmidrule(lr){3-4}\cmidrule(l){5-6}" + "\n"
        r"model & seeds & standard deviation & largest magnitude & without & with \\" + "\n"
    )
    return _tabular("@{}lrllll@{}", head, [_feedback_row(data_folder, model) for model in MODELS])


def _feedback_row(data_folder: Path, model: str) -> list[str]:
    count = seed_counts(data_folder).get(model)
    factors = [inflation(data_folder, model, field) for field in ("late_deviation", "late_largest")]
    late = [late_mean(data_folder, model, kind, "late_gain") for kind in KINDS]
    return [
        MODELS[model].title,
        NOT_RUN if count is None else latex.integer(count),
        *(NOT_RUN if factor is None else ratio_phrase(factor) for factor in factors),
        *(NOT_RUN if gain is None else mean_phrase(gain, digits=1) for gain in late),
    ]


def _tabular(layout: str, head: str, rows: Sequence[Sequence[str]]) -> str:
    body = "".join(f"{' & '.join(row)} \\\\\n" for row in rows)
    return f"\\begin{{tabular}}{{{layout}}}\n\\toprule\n{head}\\midrule\n{body}\\bottomrule\n\\end{{tabular}}\n"


def _cell(run: Result | None, write: Callable[[Result], str]) -> str:
    return NOT_RUN if run is None else write(run)


def law_cell(run: Result) -> str:
    """`Weibull 0.04, 0.20`: the best law at the end, its distance, and that of the normal law."""
    best, found = best_of(run), distances(run)
    if best is None:
        return "too few entries"
    return f"{LAWS[best]} {latex.decimal(found[best], 2)}, {latex.decimal(found['norm'], 2)}"


def _hypotheses_cell(run: Result) -> str:
    """`100/98`: the shares without the room for chance, which tell runs apart."""
    return "/".join(latex.percent(run["hypotheses"][label]["strict_share"], 0) for label in RUNG_NAMES.values())


def _updates(found: Sequence[Result]) -> str:
    """How many the shorter run did."""
    done = [run["steps"] if run["diverged_at_step"] is None else run["diverged_at_step"] for run in found]
    return latex.integer(min(done))


def _seeds(data_folder: Path) -> str:
    """`5 seeds`, or how few and how many where models differ."""
    counts = list(seed_counts(data_folder).values())
    if counts and max(counts) == 1:
        return "one seed"
    return f"{span(counts, lambda count: latex.integer(int(count)))} seeds" if counts else NOT_RUN


def _runs(data_folder: Path, *kinds: str) -> list[Result]:
    return [run for _, run in all_runs(data_folder, kinds or KINDS)]


def _over_runs(data_folder: Path, *, kind: str, field: str, digits: int) -> str:
    return span([float(run[field]) for run in _runs(data_folder, kind)], partial(latex.decimal, digits=digits))


def _late_means(data_folder: Path, *, kind: str, field: str) -> str:
    """By model."""
    found = [late_mean(data_folder, model, kind, field) for model in MODELS]
    return span([late.value for late in found if late is not None], partial(latex.decimal, digits=1))


def _shares(data_folder: Path, *, label: str, kind: str, field: str) -> str:
    return span(shares(_runs(data_folder, kind), label, field), partial(latex.percent, digits=0))


def _largest_rise(data_folder: Path, *, label: str) -> str:
    """Over all runs, both ways."""
    rises = shares(_runs(data_folder), label, "largest_rise")
    return latex.decimal(max(rises), 2) if rises else NOT_RUN


def _worst_model(data_folder: Path, *, label: str) -> str:
    """The model with the largest rise."""
    rises = [(shares([run], label, "largest_rise")[0], MODELS[model].title) for model, run in all_runs(data_folder)]
    return max(rises)[1] if rises else NOT_RUN


def _distance(data_folder: Path, *, kind: str, is_best: bool) -> str:
    """Of the best law or of the normal one."""
    found = []
    for run in _runs(data_folder, kind):
        best = best_of(run)
        if best is not None:
            found.append(distances(run)[best if is_best else "norm"])
    return span(found, partial(latex.decimal, digits=2))


def _normal_count(data_folder: Path) -> str:
    """`0 of 12`: in how many runs the normal law was the best at the end."""
    named = [best_of(run) for run in _runs(data_folder)]
    return f"{named.count('norm')} of {len(named)}" if named else NOT_RUN


def _factors(data_folder: Path, field: str = "late_deviation") -> list[float]:
    """By model: the geometric mean of the ratio over seeds."""
    return [exp(estimate.value) for estimate in inflations(data_folder, field)]


def _inflated_as_expected(data_folder: Path) -> str:
    """`3 of 6` models."""
    found, (low, high) = _factors(data_folder), EXPECTED_INFLATION
    return f"{sum(low <= factor <= high for factor in found)} of {len(found)}" if found else NOT_RUN


def _flattened(data_folder: Path) -> str:
    """`6 of 6 models`: on how many the whole interval of the factor is above `LEAST_INFLATION`."""
    found = inflations(data_folder)
    known = [estimate for estimate in found if estimate.count > 1]
    if found and not known:
        return "no model, as one seed has no interval"
    return f"{_above(known)} of {len(found)} models" if found else NOT_RUN


def _above(logarithms: Sequence[Estimate]) -> int:
    return sum(estimate.low > log(LEAST_INFLATION) for estimate in logarithms)


def _bounds_kept(data_folder: Path) -> str:
    """The least share of updates at which a run kept the third rung's bound at the runs' density."""
    found = [float(run["bound_share"]["bell_shaped"]) for run in _runs(data_folder)]
    return latex.percent(min(found), 0) if found else NOT_RUN


MACROS: dict[str, Macro] = {
    "LawsDensity": lambda folder: latex.shortest(result(folder, NAME)["density"]),
    "LawsWorkers": lambda folder: latex.integer(result(folder, NAME)["worker_count"]),
    "LawsSeeds": _seeds,
    "LawsFloor": lambda _folder: latex.shortest(LEAST_INFLATION),
    "LawsFlattened": _flattened,
    "LawsLow": lambda _folder: latex.integer(EXPECTED_INFLATION[0]),
    "LawsHigh": lambda _folder: latex.integer(EXPECTED_INFLATION[1]),
    "LawsInflation": lambda folder: span(_factors(folder), partial(latex.decimal, digits=1)),
    "LawsLargestInflation": lambda folder: span(_factors(folder, "late_largest"), partial(latex.decimal, digits=1)),
    "LawsInflationAsExpected": _inflated_as_expected,
    "LawsNormalBest": _normal_count,
    "LawsBoundsKept": _bounds_kept,
    "LawsDriftGain": lambda folder: latex.decimal(result(folder, NAME)["own_steady_gain"]["steady_drift"], 1),
    "LawsNoiseGain": lambda folder: latex.decimal(result(folder, NAME)["own_steady_gain"]["steady_noise"], 1),
    **{f"Laws{word}Rise": partial(_largest_rise, label=label) for word, label in RUNG_NAMES.items()},
    **{f"Laws{word}Worst": partial(_worst_model, label=label) for word, label in RUNG_NAMES.items()},
    **{
        f"Laws{rung}{word}{kind}": partial(_shares, label=label, kind=run_kind, field=field)
        for rung, label in RUNG_NAMES.items()
        for word, field in {"Met": "share", "Strict": "strict_share"}.items()
        for kind, run_kind in KIND_NAMES.items()
    },
    **{
        f"Laws{word}{kind}": partial(_distance, kind=run_kind, is_best=is_best)
        for word, is_best in {"BestDistance": True, "NormalDistance": False}.items()
        for kind, run_kind in KIND_NAMES.items()
    },
    **{
        f"LawsGain{kind}": partial(_late_means, kind=run_kind, field="late_gain")
        for kind, run_kind in KIND_NAMES.items()
    },
    **{
        f"LawsCount{kind}": partial(_over_runs, kind=run_kind, field="late_gaussian_count_ratio", digits=2)
        for kind, run_kind in KIND_NAMES.items()
    },
}

STUDY = Study(
    macros=MACROS,
    figures={
        "gradient_histograms": gradient_histograms,
        "rank_curves": rank_curves,
        "measured_contraction": measured_contraction,
    },
    tables={"gradient_laws.tex": laws_table, "gradient_feedback.tex": feedback_table},
    results=(NAME,),
)
