"""What do claims say of the tuned runs? Estimates, none of which rests on an untuned method or on few seeds.

Used by `paper/claims.py`.
"""

from __future__ import annotations

import math
from pathlib import Path

from paper.results import Result
from paper.studies.convergence import runs as contest
from paper.studies.convergence.runs import EXACT, LEAST_SEEDS, MOMENTUM, OURS, Setting
from paper.studies.convergence.study import approximate_leads
from paper.verdicts import NotMeasuredError
from sparsync.verify.tools.intervals import Estimate, exact, mean


def end_difference(data_folder: Path, setting: Setting, method: str, reference: str) -> Estimate:
    """How much more a tuned method ends with than another, seed by seed; a divergence is infinitely less.

    Raises:
        FileNotFoundError: the arena has not been run.
        NotMeasuredError: one was not run, or was not tuned, or on too few seeds; or both diverged.
    """
    study = contest.study_of(data_folder, setting.arena)
    found, other = (_tuned(study, setting, name) for name in (method, reference))
    estimate = contest.difference(study, found, other)
    if estimate is not None:
        return estimate
    own, others = contest.diverged_count(found), contest.diverged_count(other)
    if own and others:
        raise NotMeasuredError(f"{method} and {reference} both diverged: {setting.title}")
    return exact(-math.inf if own else math.inf, count=len(study["seeds"]))


def _tuned(study: Result, setting: Setting, method: str) -> Result:
    found = contest.contestant(study, setting.rule, method, setting.density)
    if found is None:
        raise NotMeasuredError(f"{method} was not run: {setting.title}")
    if not study["tuning_seeds"] or len(study["seeds"]) < LEAST_SEEDS:
        raise NotMeasuredError(f"the runs of profile {study['profile']} are untuned or few")
    return found


def shares_in_range(data_folder: Path, setting: Setting, method: str) -> Estimate:
    """The share of the updates at which every worker's count lies in [2k/3, 4k/3]: mean over the seeds."""
    study = contest.study_of(data_folder, setting.arena)
    return mean(contest.band_shares(study, _tuned(study, setting, method)))


def least_share_in_range(data_folder: Path) -> Estimate:
    """The least share of the updates with all counts in range, of any run of Gaussian-k that learnt, in every arena.

    Raises:
        FileNotFoundError: the first arena has not been run.
    """
    there = contest.studies(data_folder) or {MOMENTUM.arena: contest.study_of(data_folder, MOMENTUM.arena)}
    shares = [
        share
        for study in there.values()
        for found in study.records("contestants")
        if found["method"] == OURS
        for share in contest.band_shares(study, found)
    ]
    return exact(min(shares), count=len(shares))


def largest_lead(data_folder: Path) -> Estimate:
    """The largest lead over exact Top-k of an approximate selector that keeps about k entries, wherever both were run.

    Its ends are the largest of all leads' ends: no lead is above the upper one, some lead is above the lower one. That
    is not corrected for the number of leads, to the disadvantage of exact Top-k. Settings in which a run of either
    diverged have no lead, and are left out.

    Raises:
        FileNotFoundError: the first arena has not been run.
        NotMeasuredError: nothing was tuned, or on too few seeds.
    """
    _tuned(contest.study_of(data_folder, MOMENTUM.arena), MOMENTUM, EXACT)
    leads = [estimate for _, _, estimate in approximate_leads(data_folder) if estimate.count >= LEAST_SEEDS]
    if not leads:
        raise NotMeasuredError("no approximate selector kept about k entries")
    value, low, high = (max(getattr(lead, part) for lead in leads) for part in ("value", "low", "high"))
    return Estimate(value, low, high, len(leads))
