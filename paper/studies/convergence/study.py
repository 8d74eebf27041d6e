"""Does sending little cost accuracy, and does it matter how the entries are selected? The study `convergence`.

All ends are those of tuned runs, compared with those of exact Top-k, paired over seeds; the words for it are chosen by
the intervals.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import fmean

from paper import latex
from paper.comparisons import UNKNOWN, difference_phrase, tally
from paper.results import Result
from paper.studies.convergence import runs as facts
from paper.studies.convergence.figures import convergence, counts
from paper.studies.convergence.runs import (
    ARENAS,
    BEFORE,
    DENSE,
    EXACT,
    LOW_RANK,
    MOMENTUM,
    NOT_RUN,
    OURS,
    PLAIN,
    PLAIN_DENSEST,
    PLAIN_HUNDREDTH,
    RANDOM,
    THEIRS,
    USUAL,
    Setting,
)
from paper.studies.convergence.tables import accuracy_table, arena_table, count_table, divergence, title_of
from paper.studies.study import Macro, Study
from sparsync.verify.tools.intervals import Estimate

RULE_WORDS = {"Ours": OURS, "Theirs": THEIRS, "Random": RANDOM, "Dense": DENSE, "Before": BEFORE}
"""Words for what is compared with exact Top-k wherever both were run."""
SETTING_WORDS = {"Plain": PLAIN, "Hundredth": PLAIN_HUNDREDTH, "Momentum": MOMENTUM}
"""Words for settings of FNN-3."""
RECURRENT = Setting("lstm", USUAL["lstm"], 0.001)
"""Of the LSTM, with the optimiser usual for it."""
NOT_APPROXIMATE = (EXACT, RANDOM, DENSE, LOW_RANK, BEFORE)
"""Methods that are no approximation of exact Top-k."""


def _in_all_settings(data_folder: Path, method: str) -> list[tuple[Setting, Estimate | None]]:
    """The differences to exact Top-k wherever a method was run; without a density, one for each that Top-k has."""
    there = facts.studies(data_folder)
    return [
        (setting, facts.compared(data_folder, setting, method))
        for setting in facts.settings(data_folder)
        if facts.contestant(there[setting.arena], setting.rule, method, setting.density) is not None
    ]


def outcome(data_folder: Path, *, method: str) -> str:
    """`higher in 1, lower in none, inconclusive in 5 of 6 settings (−0.10 to +0.30)`, and how often one diverged."""
    compared = [found for _, found in _in_all_settings(data_folder, method)]
    known = [found for found in compared if found is not None]
    if not known:
        return NOT_RUN if not compared else f"unknown, for it diverged in all of {len(compared)} settings"
    values = [found.value for found in known]
    span = f"{latex.signed(min(values), 2)} to {latex.signed(max(values), 2)}"
    lost = len(compared) - len(known)
    diverged = f"; in {latex.integer(lost)} a run diverged" if lost else ""
    words = tally(known, more="higher", less="lower")
    return f"{words} of {latex.integer(len(known))} settings ({span}{diverged})"


def share_in_band(data_folder: Path, *, method: str) -> str:
    """Of the updates at which every worker's count is in range: the mean over runs that learnt, in per cent."""
    shares = [
        share
        for study in facts.studies(data_folder).values()
        for found in study.records("contestants")
        if found["method"] == method
        for share in facts.band_shares(study, found)
    ]
    return latex.percent(fmean(shares)) if shares else NOT_RUN


def approximate_leads(data_folder: Path) -> list[tuple[Setting, str, Estimate]]:
    """How much more than exact Top-k every approximate selector ends with that keeps about k entries in the median."""
    there = facts.studies(data_folder)
    return [
        (setting, method, found)
        for setting in facts.settings(data_folder)
        for method in facts.methods(there[setting.arena], setting.rule, setting.density)
        if method not in NOT_APPROXIMATE and _keeps_about_k(there[setting.arena], setting, method)
        if (found := facts.compared(data_folder, setting, method)) is not None
    ]


def _keeps_about_k(study: Result, setting: Setting, method: str) -> bool:
    found = facts.contestant(study, setting.rule, method, setting.density)
    return found is not None and facts.keeps_about_k(found)


def _largest_lead(data_folder: Path) -> str:
    leads = approximate_leads(data_folder)
    if not leads:
        return NOT_RUN
    setting, method, found = max(leads, key=lambda lead: lead[2].value)
    return f"{difference_phrase(found)}, {title_of(method)} on {setting.title}"


def _gain(data_folder: Path, *, setting: Setting) -> str:
    found = _of(data_folder, setting, EXACT)
    return NOT_RUN if found is None else latex.decimal(facts.median_gain(found), 1)


def _of(data_folder: Path, setting: Setting, method: str) -> Result | None:
    study = facts.studies(data_folder).get(setting.arena)
    return None if study is None else facts.contestant(study, setting.rule, method, setting.density)


def _bytes(data_folder: Path, *, setting: Setting, method: str) -> str:
    """Of all workers in an update, on average."""
    found = _of(data_folder, setting, method)
    sent = [] if found is None else [count for count in found["sent_bytes"] if count is not None]
    return latex.size(fmean(sent)) if sent else NOT_RUN


def _against(data_folder: Path, *, setting: Setting, method: str, reference: str) -> str:
    """`+0.19 points (−0.61 to 0.99; inconclusive)`, or whose runs diverged; of an arena of images."""
    found = facts.compared(data_folder, setting, method, reference)
    if found is not None:
        return difference_phrase(found, unit="points")
    both = {name: _of(data_folder, setting, name) for name in (method, reference)}
    lost = [f"{title_of(name)}: {divergence(each)}" for name, each in both.items() if each and _has_diverged(each)]
    return f"an unknown amount ({', '.join(lost)})" if lost and all(both.values()) else NOT_RUN


def _over_heavy(data_folder: Path, *, setting: Setting) -> str:
    """With what exact Top-k ends there, less dense training of that arena with momentum: tuned, on the same seeds."""
    study, own = facts.studies(data_folder).get(setting.arena), _of(data_folder, setting, EXACT)
    other = _of(data_folder, replace(setting, rule=MOMENTUM.rule), DENSE)
    if study is None or own is None or other is None:
        return NOT_RUN
    found = facts.difference(study, own, other)
    if found is None:
        return f"an unknown amount ({title_of(EXACT)}: {divergence(own)})"
    edge = ", its step size at the edge of the grid" if own["is_at_edge"] else ""
    return difference_phrase(found, unit="per cent" if facts.is_text(study) else "points") + edge


def _approximate(study: Result, setting: Setting) -> list[Result]:
    """What approximate selectors found, but for ours and the released one of its name."""
    left_out = (*NOT_APPROXIMATE, OURS, THEIRS)
    names = [name for name in facts.methods(study, setting.rule, setting.density) if name not in left_out]
    found = [facts.contestant(study, setting.rule, name, setting.density) for name in names]
    return [each for each in found if each is not None]


def _surely(data_folder: Path, *, is_above: bool) -> str:
    """`SIDCo (−6.0 points)`: other approximate selectors that surely end above exact Top-k, or below, with momentum."""
    study = facts.studies(data_folder).get(MOMENTUM.arena)
    if study is None or not (found := _approximate(study, MOMENTUM)):
        return NOT_RUN
    named = [(str(each["method"]), facts.compared(data_folder, MOMENTUM, str(each["method"]))) for each in found]
    sure = [
        f"{title_of(name)} ({latex.signed(each.value, 1)})"
        for name, each in named
        if each is not None and (each.low > 0 if is_above else each.high < 0)
    ]
    return ", ".join(sure) or "none"


def _plain_span(data_folder: Path) -> str:
    """`−1.3 (SIDCo) to +0.1 (Top-k in chunks)`: of other approximate selectors without momentum that did not diverge.

    How far they end from dense training with momentum, in points.
    """
    study, reference = facts.studies(data_folder).get(PLAIN.arena), _of(data_folder, MOMENTUM, DENSE)
    if study is None or reference is None or not (found := _approximate(study, PLAIN)):
        return NOT_RUN
    ended = [(facts.difference(study, each, reference), title_of(str(each["method"]))) for each in found]
    known = sorted((each.value, title) for each, title in ended if each is not None)
    if not known:
        return "none, for all diverged"
    return " to ".join(f"{latex.signed(value, 1)} ({title})" for value, title in (known[0], known[-1]))


def _has_diverged(found: Result) -> bool:
    return facts.diverged_count(found) > 0


def _target(data_folder: Path, *, setting: Setting) -> str:
    found = _of(data_folder, setting, EXACT)
    return NOT_RUN if found is None else latex.integer(found["target_count"])


def _setup(name: str, show: Callable[[int], str] = latex.integer) -> Macro:
    """A fact of the setup of FNN-3."""
    return lambda folder: show(facts.study_of(folder, PLAIN.arena).record("setup")[name])


def _seeds(data_folder: Path, *, name: str = "seeds") -> str:
    """`5 to 8`: over the arenas."""
    found = {len(study[name]) for study in facts.studies(data_folder).values()}
    return " to ".join(map(latex.integer, sorted({min(found), max(found)}))) if found else NOT_RUN


def _tuned_in(data_folder: Path) -> str:
    """`FNN-3, GPT`: the arenas that have been run."""
    return ", ".join(ARENAS[arena] for arena in facts.studies(data_folder)) or NOT_RUN


def _missing(data_folder: Path) -> str:
    there = facts.studies(data_folder)
    return ", ".join(title for arena, title in ARENAS.items() if arena not in there) or "none"


_Counter = Callable[[Result, Result], int]
"""Runs, or contestants, of a study that are so."""


def _of_all(data_folder: Path, is_so: _Counter, of: Callable[[Result], int]) -> str:
    """`2 of 54`."""
    count = sum(_by_method(data_folder, is_so).values())
    everybody = (each for study in facts.studies(data_folder).values() for each in study.records("contestants"))
    return f"{latex.integer(count) if count else 'none'} of {latex.integer(sum(map(of, everybody)))}"


def _by_method(data_folder: Path, is_so: _Counter) -> Counter[str]:
    """How many are so, all settings together."""
    counts = Counter[str]()
    for study in facts.studies(data_folder).values():
        for found in study.records("contestants"):
            counts[title_of(str(found["method"]))] += is_so(study, found)
    return counts


def _edges(data_folder: Path) -> str:
    return _of_all(data_folder, lambda _study, each: int(each["is_at_edge"]), lambda _: 1)


def _runs(data_folder: Path, *, is_so: _Counter) -> str:
    return _of_all(data_folder, is_so, lambda each: len(each["test_loss"]))


def _methods(data_folder: Path, *, is_so: _Counter) -> str:
    """`Top-k (2)`: those with such runs."""
    counts = _by_method(data_folder, is_so)
    return ", ".join(f"{title} ({latex.integer(count)})" for title, count in counts.items() if count) or "none"


def _diverged(_study: Result, found: Result) -> int:
    return facts.diverged_count(found)


MACROS: dict[str, Macro] = {
    "TrainCount": _setup("train_count"),
    "TestCount": _setup("test_count"),
    "Steps": _setup("steps"),
    "BatchSize": _setup("batch_size"),
    "Dimension": _setup("dimension"),
    "Workers": lambda folder: latex.integer(facts.study_of(folder, PLAIN.arena)["worker_count"]),
    "Seeds": _seeds,
    "TuningSeeds": partial(_seeds, name="tuning_seeds"),
    "TrainedArenas": _tuned_in,
    "TrainedMissing": _missing,
    "TrainedEdges": _edges,
    "DivergedRuns": partial(_runs, is_so=_diverged),
    "DivergedMethods": partial(_methods, is_so=_diverged),
    "CollapsedRuns": partial(_runs, is_so=facts.collapsed_count),
    "CollapsedMethods": partial(_methods, is_so=facts.collapsed_count),
    "GuessedShare": lambda _data_folder: latex.percent(facts.GUESSED, 0),
    "Inconclusive": lambda _data_folder: UNKNOWN,
    **{f"Trained{word}Outcome": partial(outcome, method=method) for word, method in RULE_WORDS.items()},
    "TrainedOursBandShare": partial(share_in_band, method=OURS),
    "TrainedTheirsBandShare": partial(share_in_band, method=THEIRS),
    "TrainedLargestLead": _largest_lead,
    "LeadCount": lambda folder: latex.integer(len(approximate_leads(folder))),
    "ThousandthTarget": partial(_target, setting=PLAIN),
    "HundredthTarget": partial(_target, setting=PLAIN_HUNDREDTH),
    "DenseBytes": partial(_bytes, setting=PLAIN, method=DENSE),
    "ThousandthTopkBytes": partial(_bytes, setting=PLAIN, method=EXACT),
    "HundredthTopkBytes": partial(_bytes, setting=PLAIN_HUNDREDTH, method=EXACT),
    **{f"{word}TopkGain": partial(_gain, setting=setting) for word, setting in SETTING_WORDS.items()},
    **{
        f"{word}{name}Difference": partial(_against, setting=setting, method=method, reference=reference)
        for word, setting in (("Plain", PLAIN), ("Momentum", MOMENTUM))
        for name, method, reference in (("Topk", EXACT, DENSE), ("Ours", OURS, EXACT), ("Theirs", THEIRS, EXACT))
    },
    "HundredthTopkDifference": partial(_against, setting=PLAIN_HUNDREDTH, method=EXACT, reference=DENSE),
    "DensestRandomDifference": partial(_against, setting=PLAIN_DENSEST, method=RANDOM, reference=EXACT),
    "PlainTopkOverHeavy": partial(_over_heavy, setting=PLAIN),
    "HundredthTopkOverHeavy": partial(_over_heavy, setting=PLAIN_HUNDREDTH),
    "LstmTopkOverHeavy": partial(_over_heavy, setting=RECURRENT),
    "LstmHeavyTopkOverHeavy": partial(_over_heavy, setting=replace(RECURRENT, rule=MOMENTUM.rule)),
    "PlainOthersOverHeavy": _plain_span,
    "OthersBelow": partial(_surely, is_above=False),
    "OthersAbove": partial(_surely, is_above=True),
    "MomentumBeforeDifference": partial(_against, setting=MOMENTUM, method=BEFORE, reference=EXACT),
    "MomentumBeforeDense": partial(_against, setting=MOMENTUM, method=BEFORE, reference=DENSE),
}

STUDY = Study(
    macros=MACROS,
    figures={"convergence": convergence, "counts": counts},
    tables={"arenas.tex": arena_table, "accuracy.tex": accuracy_table, "counts.tex": count_table},
    results=("convergence",),
    remade=tuple(f"convergence_{arena}" for arena in ARENAS),
)
