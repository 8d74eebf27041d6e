"""How did the tuned runs end, and how many entries did each rule send on the way? Three tables.

A line per arena, a line per setting, and a line per rule at density 0.001. Ends are compared seed by seed; more is
better: points of accuracy, of text per cent of its loss.
"""

from __future__ import annotations

from pathlib import Path
from statistics import fmean, median

from paper import latex, rules
from paper.comparisons import difference_cell
from paper.results import Result
from paper.studies.convergence.runs import (
    ARENAS,
    BEFORE,
    DENSE,
    EXACT,
    LOW_RANK,
    NOT_RUN,
    OURS,
    RANDOM,
    RULES,
    THEIRS,
    USUAL,
    Setting,
    band_shares,
    collapsed_count,
    contestant,
    difference,
    diverged_count,
    ends,
    is_text,
    methods,
    settings,
    studies,
)

COMPARED = (DENSE, BEFORE, OURS, THEIRS, RANDOM)
"""Columns of the table of ends, after exact Top-k."""
SHOWN_DENSITY = 0.001
"""Of the tables of arenas and of counts."""
PAIRS = ((EXACT, DENSE), (BEFORE, EXACT), (OURS, EXACT), (THEIRS, EXACT))
"""Columns of the table of arenas: a method, and what it is compared with."""
COLLAPSED = r"$^{\dagger}$"
"""Marks a method of which a run has learnt nothing."""
ABSENT = "--"


def arena_table(data_folder: Path) -> str:
    """A `tabular` with a line per arena: how its usual optimiser ends with `PAIRS`, the second taken from the first."""
    there = studies(data_folder)
    body = "".join(_arena_line(there.get(arena), arena) for arena in ARENAS)
    heads = " & ".join(title_of(method) for method, _ in PAIRS)
    less = " & ".join(f"$-$ {title_of(reference)}" for _, reference in PAIRS)
    return _tabular("llrrrr", f" & & {heads} \\\\\narena & optimiser & {less} \\\\\n", body)


def _arena_line(study: Result | None, arena: str) -> str:
    if study is None:
        cells = [NOT_RUN] * len(PAIRS)
    else:
        setting = Setting(arena, USUAL[arena], SHOWN_DENSITY)
        cells = [_pair(study, setting, *pair) for pair in PAIRS]
    unit = r" (\%)" if study is not None and is_text(study) else ""
    return " & ".join([f"{ARENAS[arena]}{unit}", RULES[USUAL[arena]], *cells]) + " \\\\\n"


def _pair(study: Result, setting: Setting, method: str, reference: str) -> str:
    own, other = (contestant(study, setting.rule, name, setting.density) for name in (method, reference))
    if own is None or other is None:
        return ABSENT
    estimate = difference(study, own, other)
    if estimate is None:
        return divergence(own if diverged_count(own) else other)
    return difference_cell(estimate) + (_mark(study, own) or _mark(study, other))


def accuracy_table(data_folder: Path) -> str:
    """A `tabular` with a line per setting: what exact Top-k ends with, and how much more others do."""
    there = studies(data_folder)
    body = ""
    for arena, title in ARENAS.items():
        found = [setting for setting in settings(data_folder) if setting.arena == arena]
        note = "" if found else f", {NOT_RUN}"
        unit = r", loss and \%" if found and is_text(there[arena]) else ""
        body += f"{_space(body)}\\multicolumn{{8}}{{@{{}}l}}{{\\emph{{{title}{unit}{note}}}}} \\\\\n"
        body += "".join(_ends_line(there[arena], setting) for setting in found)
    names = " & ".join(map(title_of, (EXACT, *COMPARED)))
    return _tabular("lrrrrrrr", f"optimiser & density & {names} \\\\\n", body)


def count_table(data_folder: Path) -> str:
    """A `tabular` with a line per rule: difference to Top-k, share in range, counts, bytes and step size."""
    body = ""
    for arena, rule in USUAL.items():
        study = studies(data_folder).get(arena)
        title = f"{ARENAS[arena]}, {RULES[rule]}"
        note = f", {NOT_RUN}" if study is None else ""
        body += f"{_space(body)}\\multicolumn{{8}}{{@{{}}l}}{{\\emph{{{title}{note}}}}} \\\\\n"
        if study is not None:
            names = [name for name in methods(study, rule, SHOWN_DENSITY) if name not in (DENSE, RANDOM)]
            body += "".join(_count_line(study, rule, name) for name in names)
    heads = (
        "& difference & in range & \\multicolumn{3}{c}{count$/k$} & & step \\\\\n"
        "\\cmidrule(lr){4-6}\n"
        "rule & to Top-$k$ & (\\%) & min & median & max & bytes & size \\\\\n"
    )
    return _tabular("lrrrrrrr", heads, body)


def title_of(method: str) -> str:
    """How a method is called."""
    return "PowerSGD" if method == LOW_RANK else rules.named(method).title


def _ends_line(study: Result, setting: Setting) -> str:
    reference = contestant(study, setting.rule, EXACT, setting.density)
    if reference is None:
        raise AssertionError(f"{setting} is listed because {EXACT} was run there")
    others = [contestant(study, setting.rule, name, setting.density) for name in COMPARED]
    cells = [RULES[setting.rule], latex.shortest(setting.density), _end(study, reference)]
    cells += [ABSENT if found is None else _against(study, found, reference) for found in others]
    return " & ".join(cells) + " \\\\\n"


def _end(study: Result, found: Result) -> str:
    values = ends(study, found)
    if values is None:
        return divergence(found)
    return latex.decimal(fmean(values), 3 if is_text(study) else 1) + _mark(study, found)


def _against(study: Result, found: Result, reference: Result) -> str:
    """`+0.02 (−0.42 to 0.45)`, or how many of its runs diverged."""
    estimate = difference(study, found, reference)
    if estimate is not None:
        return difference_cell(estimate) + _mark(study, found)
    return divergence(found) if diverged_count(found) else ABSENT


def _mark(study: Result, found: Result) -> str:
    return COLLAPSED if collapsed_count(study, found) else ""


def divergence(found: Result) -> str:
    """`2 of 5 diverged`."""
    return f"{latex.integer(diverged_count(found))} of {latex.integer(len(found['test_loss']))} diverged"


def _count_line(study: Result, rule: str, name: str) -> str:
    found, reference = (contestant(study, rule, each, SHOWN_DENSITY) for each in (name, EXACT))
    if found is None:
        raise AssertionError(f"{name} is listed because it was run")
    against = ABSENT if reference is None or name == EXACT else _against(study, found, reference)
    counts = [ABSENT] * 4
    if shares := band_shares(study, found):
        chosen = (
            min(count for count in found["smallest_count"] if count is not None),
            median(count for count in found["median_count"] if count is not None),
            max(count for count in found["largest_count"] if count is not None),
        )
        counts = [latex.percent(fmean(shares)), *(latex.decimal(count, 2) for count in chosen)]
    sent = [each for each in found["sent_bytes"] if each is not None]
    cells = [title_of(name), against, *counts, latex.size(fmean(sent)) if sent else ABSENT]
    return " & ".join([*cells, latex.shortest(found["step_size"])]) + " \\\\\n"


def _space(body: str) -> str:
    return "\\addlinespace\n" if body else ""


def _tabular(columns: str, heads: str, body: str) -> str:
    lines = f"\\toprule\n{heads}\\midrule\n{body}\\bottomrule\n"
    return f"\\begin{{tabular}}{{@{{}}{columns}@{{}}}}\n{lines}\\end{{tabular}}\n"
