"""What each publication announces, beside what was measured here: reproduced, not, inconclusive or not comparable.

A claim is a relation (who is faster, what is equal, which bound holds), with the factor that was published. Judged is
the relation, in the published setting as far as it is known; a factor that hangs on machines and models that are not
here is printed beside ours.
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path

from paper import latex
from paper.studies.barriers import scan_ratio
from paper.studies.headlines.findings import (
    growing,
    growing_is_better,
    has_curves_of,
    in_races,
    largest_plan,
    plan_seconds,
    selecting,
    selecting_is_faster,
    staleness_holds,
    staleness_order,
    switch_times,
    switching_is_faster,
)
from paper.studies.headlines.headline import VERDICTS, Headline
from paper.studies.headlines.settings import (
    GROUPS,
    INTERVALS,
    SAMPLED,
    TWO,
    UNEQUAL,
    WORDS,
    deferring_is_faster,
    deferring_ratios,
    edge_shares,
    edge_workers_compute,
    exceeds,
    ratios_in_words,
    sampled_order,
    steps_in_words,
)
from paper.studies.links.times import TRAINED
from paper.studies.study import Study

MUCH_FASTER = 1.5
"""What "much faster" is taken to mean where a publication gives no number."""
FAR_FASTER = 10
"""Times as fast, from which on one is far faster than another."""

HEADLINES: tuple[Headline, ...] = (
    Headline(
        "shi2019",
        r"training with Gaussian-$k$ is 1.19 to 2.33 times as fast as dense training (16 GPUs, 10\,Gbit/s, density "
        "0.001; as described to us)",
        selecting,
        selecting_is_faster,
        "judged is a step with density 0.01 of four hosts at the largest rate that was measured; at smaller ones the "
        "factor is what the link makes of it, and a step that is sooner is no accuracy that is sooner (Table~"
        r"\ref{table:links-times})",
        document="main",
    ),
    Headline(
        "zhao2019",
        r"DSSP(3,\,12) is 1.84 times as fast as SSP(15) on two processors of fixed speeds, as fast as ASP",
        ratios_in_words(TWO, (("dssp", "ssp 15"), ("dssp printed", "ssp 15"), ("asp", "ssp 15"))),
        exceeds(TWO, "dssp", "ssp 15", 1.5),
        r"a bounded lead leaves no such gain (\statement{persistent_straggler}); "
        "the rule as printed, which keeps no bound, has it",
    ),
    Headline(
        "zhao2020",
        "ElasticBSP is faster than BSP (converges 1.77 times as fast, VGG-16, four workers)",
        ratios_in_words(INTERVALS, (("elastic 15", "bsp"), ("elastic 240", "bsp"), ("asp", "bsp"))),
        exceeds(INTERVALS, "elastic 15", "bsp", 1.1),
        "steps at the fixed intervals of the released generator, 1 to 1.5\\,s, which allow no more than ASP has; "
        "looking further ahead than 15 adds little",
    ),
    Headline(
        "zhao2020",
        "ZipLine plans for 1,000 workers and $R=150$ in 2.4\\,s, far faster than a scan of all candidates",
        plan_seconds,
        lambda folder: largest_plan(folder) <= 2.4 and scan_ratio(folder, "scan") >= FAR_FASTER,
        "the sweep bisects where the loop as described searches, and runs in Python",
    ),
    Headline(
        "li2021",
        "Sync-Switch has the accuracy of BSP in 19.5\\,\\% of its time, switching early",
        switch_times,
        switching_is_faster,
        "too few seeds; times of mean curves, on a smaller network at other speeds; ASP alone is sooner still",
    ),
    Headline(
        "wang2017",
        "200 workers: samples of ten keep them nearly as close as BSP does and are faster; ASP is fastest and spreads",
        steps_in_words(SAMPLED, ("bsp", "pbsp 10", "pbsp 4", "ssp 4", "asp")),
        sampled_order,
        "exponential steps of mean two seconds are ours",
    ),
    Headline(
        "hu2020",
        r"three edge workers compute most of the time under ADSP (94\,\%), seldom under SSP(40) and BSP (9, 5\,\%)",
        edge_shares,
        edge_workers_compute,
        "speeds and links are ours: steps of 1 to 3\\,s, messages of 8\\,s",
    ),
    Headline(
        "chen2023",
        r"OSP raises throughput by up to 50\,\%",
        deferring_ratios,
        deferring_is_faster,
        r"judged is the best of three shares, by 1.5 with both kinds of reads; the line is as busy as the workers, "
        r"which is the best case (\statement{osp_speed_up})",
        is_described=True,
    ),
    Headline(
        "chen2020",
        r"balanced batches are up to 54\,\% faster",
        ratios_in_words(UNEQUAL, (("lb_bsp", "bsp"),)),
        exceeds(UNEQUAL, "lb_bsp", "bsp", 1.5),
        "one of four processors half as fast",
    ),
    Headline(
        "wang2022",
        r"groups that change are up to 94\,\% faster than BSP",
        ratios_in_words(GROUPS, (("ds_sync", "bsp"),)),
        None,
        "the gain comes from links of unequal speed in a known topology; here all lines are alike",
    ),
    Headline(
        "xiong2021",
        "waiting for the fastest neighbours only has linear speed-up in the number of workers",
        ratios_in_words(GROUPS, (("dybw", "bsp"),)),
        None,
        r"a rate for large numbers of steps (\statement{epoch_speed_up}); only times were measured",
        is_described=True,
    ),
    Headline(
        "tyagi2023",
        "SelSync trains up to 14 times as fast as BSP at its accuracy",
        in_races("selsync"),
        None,
        r"with equal workers; messages that take as long as steps allow a factor of two (\statement{selsync_speed_up})",
    ),
    Headline(
        "vora2024",
        "growing groups are better in a given time than both extremes",
        growing,
        growing_is_better,
        "paired over seeds; its steps fall too, as those of other orders can (Table~"
        r"\ref{table:switching}), and first versions move by whole steps, which asks for steps tuned for it",
        is_described=True,
    ),
    Headline(
        "goel2015",
        "barriers at parameters keep sequential correctness and are much faster than BSP",
        lambda folder: (
            f"{'the' if has_curves_of(folder, 'parameter_database', 'bsp') else 'not the'} curves of BSP in the races; "
            f"{ratios_in_words(WORDS, (('parameter database', 'bsp'),))(folder)} where each reads two of the blocks"
        ),
        lambda folder: (
            has_curves_of(folder, "parameter_database", "bsp")
            and exceeds(WORDS, "parameter database", "bsp", MUCH_FASTER)(folder)
        ),
        r"judged are equal curves where each reads every layer, and 1.5 times the steps where each reads few blocks "
        r"(\statement{database_versions})",
        is_described=True,
    ),
    Headline(
        "dai2018",
        "staleness harms deeper networks more, and momentum, Adam and RMSProp more than SGD and Adagrad",
        staleness_order,
        staleness_holds,
        "too few seeds; means show no such order, and with kept steps another (Table~"
        r"\ref{table:staleness})",
        is_described=True,
    ),
    Headline(
        "behfar2026",
        "samples weighted by availability are more robust than uniform ones when devices fail together",
        in_races("aw_psp"),
        None,
        "measured there by the coverage of classes on recorded telephones",
        is_described=True,
    ),
    Headline(
        "diskin2021",
        "40 volunteers who come and go train as one traditional cluster does",
        in_races("dedloc"),
        None,
        "language models over the internet; here the churn of eight workers",
    ),
)


SELECTING = HEADLINES[0]
"""What the paper about sending says in a sentence."""
WAITING = tuple(headline for headline in HEADLINES if headline.document == "waiting")
"""What the table of the paper about waiting has."""


_COLUMNS = (
    r"@{}>{\raggedright}p{0.085\textwidth}>{\raggedright}p{0.265\textwidth}>{\raggedright}p{0.295\textwidth}"
    r">{\raggedright\arraybackslash}p{0.3\textwidth}@{}"
)


def headline_table(data_folder: Path, *, is_judged: bool) -> str:
    r"""A `tabular` of waiting.tex: source, claim, ours, verdict and why.

    Args:
        data_folder: holds the result files.
        is_judged: those with a relation that was measured, or the others.
    """
    rows = (
        f"\\citet{{{headline.source}}} & {headline.claim} & {headline.ours(data_folder)} & "
        f"\\emph{{{headline.verdict(data_folder)}}}: {headline.reason} \\\\\n"
        for headline in WAITING
        if (headline.holds is not None) == is_judged
    )
    body = "\\addlinespace[2pt]\n".join(rows)
    head = "source & headline & measured here & verdict and why \\\\"
    return f"\\begin{{tabular}}{{{_COLUMNS}}}\n\\toprule\n{head}\n\\midrule\n{body}\\bottomrule\n\\end{{tabular}}\n"


def verdict_tally(data_folder: Path) -> str:
    """`reproduced 6, not reproduced 1, inconclusive for the rule as described 2`, of what the table has."""
    counts = Counter(headline.verdict(data_folder) for headline in WAITING)
    return ", ".join(f"{verdict} {latex.integer(counts[verdict])}" for verdict in VERDICTS if counts[verdict])


STUDY = Study(
    macros={
        "AnnouncedSelecting": lambda _folder: SELECTING.claim,
        "FoundSelecting": SELECTING.ours,
        "VerdictSelecting": SELECTING.verdict,
        "AnnouncedCount": lambda _folder: latex.integer(len(WAITING)),
        "AnnouncedTally": verdict_tally,
    },
    tables={
        "headlines.tex": partial(headline_table, is_judged=True),
        "headlines_apart.tex": partial(headline_table, is_judged=False),
    },
    results=(
        "headlines",
        "races",
        "planned_barriers",
        "switching",
        "staleness",
        "links",
        *(f"link_accuracy_{model}" for model in TRAINED),
    ),
    remade=("headlines", "races", "planned_barriers", "switching", "staleness"),
    apart={"headlines_apart.tex": ("headlines", "races")},
)
