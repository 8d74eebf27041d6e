"""Which variant of error feedback comes closest to dense training? Tables and macros of the study `variants`.

The words are chosen by the intervals; see `runs.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from paper import latex
from paper.comparisons import difference_cell, difference_phrase, mean_phrase, tally
from paper.results import Result, result
from paper.studies.study import Macro, Study
from paper.studies.variants.figures import losses
from paper.studies.variants.runs import (
    BEYOND,
    CLOSE,
    DEFAULT,
    DENSE,
    DIVERGED,
    LOW_RANK,
    MODELS,
    OPTIMISERS,
    WITHIN,
    _paired_losses,
    best,
    contestant,
    densities,
    lost,
    machines,
    nearest,
    places,
    scores,
    seed_losses,
    title,
    variants,
    verdict,
)
from sparsync.verify.tools.intervals import Estimate, mean, paired_difference

NOT_RUN = "--"
_WORDS = {
    "ResnetMomentum": ("resnet20", "momentum"),
    "ResnetAdam": ("resnet20", "adamw"),
    "GptMomentum": ("gpt", "momentum"),
    "GptAdam": ("gpt", "adamw"),
}
_DENSITY_WORDS = {"Hundredth": 0.01, "Thousandth": 0.001}


def loss_table(data_folder: Path) -> str:
    r"""A `tabular`: what every variant loses at each density, and PowerSGD; a column per model and optimiser."""
    study = result(data_folder, "variants")
    columns = places(study)
    heads = " & ".join(f"{MODELS[model][0]}, {OPTIMISERS[optimiser]}" for model, optimiser in columns)
    units = " & ".join(MODELS[model][1] for model, _ in columns)
    body = ""
    shown = partial(cell, study, write=partial(difference_cell, digits=1), bold=r"{{\boldmath{}}}")
    for method, density in table_rows(study):
        name = title(method) if method == LOW_RANK else f"{title(method)}, {latex.shortest(density)}"
        cells = [shown(place, method, density) for place in columns]
        body += " & ".join([name, *cells]) + " \\\\\n"
    layout = f"@{{}}l{'r' * len(columns)}@{{}}"
    head = f" & {heads} \\\\\n & {units} \\\\\n"
    return f"\\begin{{tabular}}{{{layout}}}\n\\toprule\n{head}\\midrule\n{body}\\bottomrule\n\\end{{tabular}}\n"


def shorter_table(data_folder: Path) -> str:
    r"""A `tabular`: what the variant of least loss at each density loses after fewer steps, and after all of them."""
    study = result(data_folder, "variants")
    counts = sorted({int(run["steps"]) for run in study.records("shorter")})
    body = ""
    for (model, optimiser, method, density), found in _by_length(study).items():
        name = f"{MODELS[model][0]}, {OPTIMISERS[optimiser]}, {latex.shortest(density)}: {title(method)}"
        cells = [DIVERGED if values is None else difference_cell(mean(values), digits=1) for values in found]
        body += " & ".join([name, MODELS[model][1], *cells]) + " \\\\\n"
    heads = " & ".join([*map(latex.integer, counts), "all"])
    layout = f"@{{}}ll{'r' * (len(counts) + 1)}@{{}}"
    head = f" & & {heads} \\\\\n"
    return f"\\begin{{tabular}}{{{layout}}}\n\\toprule\n{head}\\midrule\n{body}\\bottomrule\n\\end{{tabular}}\n"


def _by_length(study: Result) -> dict[tuple[str, str, str, float], list[list[float] | None]]:
    """Of each method that was run for fewer steps too: what it loses on each seed, the fewest steps first, all last."""
    shorter = sorted(study.records("shorter"), key=lambda run: int(run["steps"]))
    dense = {(run["model"], run["optimiser"], run["steps"]): run for run in shorter if run["method"] == DENSE}
    found: dict[tuple[str, str, str, float], list[list[float] | None]] = {}
    for run in (run for run in shorter if run["method"] != DENSE):
        model, optimiser = str(run["model"]), str(run["optimiser"])
        losses = _paired_losses(model, run, dense[model, optimiser, run["steps"]])
        found.setdefault((model, optimiser, str(run["method"]), float(run["density"])), []).append(losses)
    for (model, optimiser, method, density), by_length in found.items():
        whole = contestant(study, model, optimiser, method, density)
        by_length.append(None if whole is None else seed_losses(study, model, whole))
    return found


def table_rows(study: Result) -> list[tuple[str, float]]:
    """Methods with the density at which they are judged, PowerSGD last."""
    found = [(method, density) for density in densities(study) for method in variants(study)]
    is_there = any(run["method"] == LOW_RANK for run in study.records("runs"))
    return [*found, (LOW_RANK, max(CLOSE))] if is_there else found


def cell(
    study: Result, place: tuple[str, str], method: str, density: float, *, write: Callable[[Estimate], str], bold: str
) -> str:
    """What a method loses at a place (model, optimiser) as a table shows it: in bold where it is surely close."""
    run = contestant(study, *place, method, density)
    if run is None:
        return NOT_RUN
    loss = lost(study, place[0], run)
    if loss is None:
        return DIVERGED
    return bold.format(write(loss)) if verdict(loss, density) == WITHIN else write(loss)


def _nearest(data_folder: Path, *, place: tuple[str, str], density: float) -> str:
    """`EF14, +0.42 points (−0.10 to 0.94; inconclusive), within 1`."""
    study = result(data_folder, "variants")
    found = nearest(study, *place, density)
    if found is None:
        return NOT_RUN
    method, loss = found
    said = {WITHIN: "within", BEYOND: "beyond"}.get(verdict(loss, density), "not surely within")
    limit = latex.shortest(CLOSE[density])
    return f"{title(method)}, {difference_phrase(loss, unit=MODELS[place[0]][1])}, {said} {limit}"


def _close_count(data_folder: Path, *, density: float) -> str:
    """In how many comparisons some variant is surely close, of how many: `2 of 4`."""
    study = result(data_folder, "variants")
    found = [nearest(study, *place, density) for place in places(study)]
    is_close = [each is not None and verdict(each[1], density) == WITHIN for each in found]
    return f"{latex.integer(sum(is_close))} of {latex.integer(len(is_close))}"


def _close_with(data_folder: Path, *, method: str) -> str:
    """In how many comparisons at density 0.01 a method that is not chosen by its runs is surely close: `3 of 4`."""
    study, density = result(data_folder, "variants"), max(CLOSE)
    found = [(model, contestant(study, model, optimiser, method, density)) for model, optimiser in places(study)]
    is_close = [run is not None and verdict(lost(study, model, run), density) == WITHIN for model, run in found]
    return f"{latex.integer(sum(is_close)) if any(is_close) else 'none'} of {latex.integer(len(is_close))}"


def _default_on_text(data_folder: Path) -> str:
    """What plain feedback at density 0.01 loses on the GPT with AdamW, in per cent of the loss."""
    study = result(data_folder, "variants")
    run = contestant(study, "gpt", "adamw", DEFAULT, max(CLOSE))
    loss = None if run is None else lost(study, "gpt", run)
    return NOT_RUN if run is None else DIVERGED if loss is None else mean_phrase(loss, digits=1)


def _best(data_folder: Path) -> str:
    found = best(result(data_folder, "variants"))
    return NOT_RUN if found is None else title(found[0])


def _best_score(data_folder: Path) -> str:
    """Of the best variant: its score less that of the default, paired by seed."""
    study = result(data_folder, "variants")
    found, default = best(study), scores(study, DEFAULT)
    return NOT_RUN if found is None or default is None else difference_phrase(paired_difference(found[1], default))


def _against_low_rank(data_folder: Path) -> str:
    """What the nearest variant at density 0.01 loses less what PowerSGD does: `less in 2, more in none, …`."""
    study, density = result(data_folder, "variants"), max(CLOSE)
    differences = []
    for model, optimiser in places(study):
        found = nearest(study, model, optimiser, density)
        methods = [LOW_RANK] if found is None else [found[0], LOW_RANK]
        runs = [contestant(study, model, optimiser, method, density) for method in methods]
        both = [seed_losses(study, model, run) for run in runs if run is not None]
        compared = [values for values in both if values is not None]
        if len(compared) > 1:
            differences.append(paired_difference(*compared))
    return tally(differences) if differences else NOT_RUN


def _trend(data_folder: Path) -> str:
    """What is lost after all steps less what is after the fewest, of every method that was run for both."""
    ends = [(found[-1], found[0]) for found in _by_length(result(data_folder, "variants")).values()]
    differences = [paired_difference(last, first) for last, first in ends if last is not None and first is not None]
    return tally(differences) if differences else NOT_RUN


def _edges(data_folder: Path) -> str:
    """How many contestants chose a step size at the edge of the grid, of how many: `1 of 56`."""
    runs = result(data_folder, "variants").records("runs")
    return f"{latex.integer(sum(run['is_at_edge'] for run in runs))} of {latex.integer(len(runs))}"


def _low_rank_bytes(data_folder: Path, *, model: str) -> str:
    """Bytes of PowerSGD over those of Top-k at density 0.01."""
    study = result(data_folder, "variants")
    pair = [contestant(study, model, "momentum", method, max(CLOSE)) for method in (LOW_RANK, "ef14")]
    sent = [None if run is None else run["sent_bytes"] for run in pair]
    counts = [float(count) for count in sent if count is not None]
    return latex.decimal(counts[0] / counts[1], 2) if len(counts) > 1 else NOT_RUN


def _of_setup(data_folder: Path, *, model: str, fact: str) -> str:
    """A whole number that is said of a network."""
    setups = result(data_folder, "variants").records("setups")
    return next((latex.integer(setup[fact]) for setup in setups if setup["model"] == model), NOT_RUN)


def _machine_names(data_folder: Path) -> str:
    return latex.escape(" and ".join(machines(result(data_folder, "variants"))))


MACROS: dict[str, Macro] = {
    "VariantsSeeds": lambda folder: latex.integer(len(result(folder, "variants")["seeds"])),
    "VariantsEdges": _edges,
    "VariantsBest": _best,
    "VariantsBestScore": _best_score,
    "VariantsLowRank": _against_low_rank,
    "VariantsTrend": _trend,
    "VariantsMachines": _machine_names,
    **{
        f"Variants{word}{fact.capitalize()}": partial(_of_setup, model=model, fact=fact)
        for word, model in (("Resnet", "resnet20"), ("Gpt", "gpt"))
        for fact in ("steps", "dimension")
    },
    "VariantsResnetBytes": partial(_low_rank_bytes, model="resnet20"),
    "VariantsGptBytes": partial(_low_rank_bytes, model="gpt"),
    "VariantsDgcClose": partial(_close_with, method="dgc"),
    "VariantsPlainClose": partial(_close_with, method=DEFAULT),
    "VariantsWorst": _default_on_text,
    **{f"VariantsClose{word}": partial(_close_count, density=density) for word, density in _DENSITY_WORDS.items()},
    **{
        f"Variants{place_word}{density_word}": partial(_nearest, place=place, density=density)
        for place_word, place in _WORDS.items()
        for density_word, density in _DENSITY_WORDS.items()
    },
}

STUDY = Study(
    macros=MACROS,
    figures={"variants": losses},
    tables={"variants.tex": loss_table, "variants_shorter.tex": shorter_table},
    results=("variants",),
)
