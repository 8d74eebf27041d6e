"""How many entries do published threshold rules send? Their counts over k in the study `refinement`, and a table.

Read from `refinement.json`: two families of laws, every density, the same vectors for all rules.
"""

from __future__ import annotations

from pathlib import Path
from statistics import median

from paper import latex
from paper.results import Result, refinement_result

RULES = {
    "gaussian_k": r"Gaussian-$k$, ours",
    "gaussian_k_released": r"Gaussian-$k$, released \citep{shi2019}",
    "dgc_released": r"DGC, released \citep{lin2018}",
    "dgc_grace": r"DGC in GRACE \citep{xu2021}",
    "sidco_released": r"SIDCo, two stages \citep{abdelmoniem2021}",
    "sidco, best number of stages": r"SIDCo, best number in hindsight",
}
"""Rows of the table, by the study's names."""


def band_share(data_folder: Path, rule: str) -> float:
    """Share of all laws and densities at which a rule's count lies in [2k/3, 4k/3]."""
    inside = [2 * target <= 3 * count <= 4 * target for count, target in _counts(refinement_result(data_folder), rule)]
    return float(sum(inside) / len(inside))


def relative_counts(data_folder: Path, rule: str) -> list[float]:
    """Counts over k of a rule at all laws and densities, ascending."""
    return sorted(count / target for count, target in _counts(refinement_result(data_folder), rule))


def captured_shares(data_folder: Path, rule: str) -> list[float]:
    """‖C(u)‖²/‖Top_k(u)‖² of a rule at all laws and densities, ascending."""
    families = refinement_result(data_folder)["families"].values()
    return sorted(float(share) for family in families for row in family["captured_share"][rule] for share in row)


def rule_table(data_folder: Path) -> str:
    """A `tabular` with a line per rule: how often it is in range, its counts over k, and the least that it captures."""
    heads = r"rule & in range & least & median & most & captured, least & median \\"
    lines = [_line(data_folder, rule, words) for rule, words in RULES.items()]
    body = f"\\toprule\n{heads}\n\\midrule\n{''.join(lines)}\\bottomrule\n"
    return f"\\begin{{tabular}}{{@{{}}lrrrrrr@{{}}}}\n{body}\\end{{tabular}}\n"


def _line(data_folder: Path, rule: str, words: str) -> str:
    counts, captured = relative_counts(data_folder, rule), captured_shares(data_folder, rule)
    values = (counts[0], median(counts), counts[-1], captured[0], median(captured))
    numbers = [latex.integer(round(value)) if value >= 100 else latex.decimal(value, 2) for value in values]
    share = rf"{latex.percent(band_share(data_folder, rule))}\,\%"
    return f"{' & '.join([words, share, *numbers])} \\\\\n"


def _counts(study: Result, rule: str) -> list[tuple[int, int]]:
    """Count and target of a rule at all laws and densities."""
    return [
        (count, target)
        for family in study["families"].values()
        for row in family["selected_count"][rule]
        for count, target in zip(row, study["target_count"], strict=True)
    ]
