"""What do README, the abstract and the sections say of results? Every such claim as a relation that a run can decide.

A claim is a bound on a number that is estimated from result files: see `verdicts.py` for the verdicts. Differences of
accuracy are paired over seeds, in points; everything else is counted, and exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import fmean

from paper.results import Result, result
from paper.studies.advice import largest_ratio
from paper.studies.barriers import agreement
from paper.studies.convergence.estimates import end_difference, largest_lead, least_share_in_range, shares_in_range
from paper.studies.convergence.runs import BEFORE, DENSE, EXACT, MOMENTUM, OURS, THEIRS
from paper.studies.gradient_laws.estimates import (
    LEAST_INFLATION,
    LEAST_SHARE,
    least_inflation,
    least_met,
    normal_count,
)
from paper.studies.kernels import machines, one_pass_share, time_ratio
from paper.studies.overview import CLUSTER, SELECTOR, WAITED
from paper.studies.quadratics import smallest_slack
from paper.studies.races.figures import QUESTIONED
from paper.studies.races.times import broken_bounds, gain, waiting_shares
from paper.studies.real_races import NAME as REAL_RACES
from paper.studies.real_races import WITHIN, errors
from paper.studies.sampled_lags import impossible_count
from paper.studies.steady_state import predicted_gain, settled_gain
from paper.verdicts import Claim, NotMeasuredError
from sparsync.verify.tools.intervals import Estimate, exact, paired_difference

CLOSE_POINTS = 1.0
"""Points of accuracy within which one method stays close to another."""
FREE_RATIO = 1.1
"""Times the time of an approximate selection up to which an exact one costs nothing that matters."""
SETTLED_RATIO = 1.05
"""Factor within which a measured gain agrees with its law."""
RELIEVING = ("backup", "lb_bsp", "adsp")
"""Policies that do not wait for one slow worker, give it less, or let it report as often as others."""
WELL_ADVISED = 1.1
"""Factor of the fastest candidate's time within which an advised one is well chosen."""
_OTHER_KINDS = 2
"""Grades of a statement that has evidence besides its derivation."""


def torchrun_agrees(data_folder: Path) -> Estimate:
    """1 if real processes and the simulation of the same run ended with the same bits on this machine, else 0."""
    compared = result(data_folder, "torchrun")
    return exact(compared["parameters_sha256"] == compared["simulated_parameters_sha256"], count=1)


def _ledger(data_folder: Path, counted: Callable[[Result], Sequence[bool]]) -> Estimate:
    """How many records of the ledger are as they should not be, of how many."""
    wrong = counted(result(data_folder, "verify"))
    return exact(sum(wrong), count=len(wrong))


def _lost_grades(ledger: Result) -> list[bool]:
    return [bool(row["lost_grades"]) for row in ledger.records("statements")]


def _one_kind_of_evidence(ledger: Result) -> list[bool]:
    return [
        len(row["grades"]) < _OTHER_KINDS or "symbolic" not in row["grades"] for row in ledger.records("statements")
    ]


def _surviving_mutants(ledger: Result) -> list[bool]:
    return [not mutant["killed_by"] for mutant in ledger.record("mutants").records("mutants")]


def _idle_counterexamples(ledger: Result) -> list[bool]:
    return [not case["refutes"] for case in ledger.records("counterexamples")]


def _theorems_with_axioms(data_folder: Path) -> Estimate:
    theorems = result(data_folder, "formal").records("theorems")
    return exact(sum(bool(theorem["axioms"]) for theorem in theorems), count=len(theorems))


def _largest_lead_over_bound(data_folder: Path, *, rule: str) -> Estimate:
    """The largest lead of any run of a rule, less the bound of theorem `dssp_lead` for its grants."""
    study = result(data_folder, "dssp_leads")
    leads = [max(run["largest_lead"]) for run in study.records("runs") if run["rule"] == rule]
    return exact(max(leads) - study["stated_for_grants" if rule == "capped" else "stated"], count=len(leads))


def _missed_optima(data_folder: Path) -> Estimate:
    equal, instances = agreement(data_folder)
    return exact(instances - equal, count=instances)


def _other_broken_bounds(data_folder: Path) -> Estimate:
    """Races in which a policy broke the bound that it promises, those of DSSP as printed apart."""
    study = result(data_folder, "races")
    broken = broken_bounds(study)
    return exact(sum(count for policy, count in broken.items() if policy != "dssp_printed"), count=len(study["races"]))


def _least_wait_saved(data_folder: Path) -> Estimate:
    """Among the policies of README's figure: BSP's share of time spent waiting, less the largest of the rest."""
    study = result(data_folder, "races")
    bsp, *others = (waiting_shares(study, policy, CLUSTER, SELECTOR) for policy in WAITED)
    return paired_difference(bsp, max(others, key=fmean))


def _least_relief(data_folder: Path) -> Estimate:
    """Of the policies that relieve one slow worker: the least logarithm of BSP's time over theirs, sending all."""
    study = result(data_folder, "races")
    gains = [gain(study, policy, QUESTIONED, "none") for policy in RELIEVING]
    found = [each for each in gains if each is not None]
    if len(found) < len(gains):
        raise NotMeasuredError("not every policy is at the target on every seed")
    return min(found, key=lambda each: each.low)


def _foretold_share(data_folder: Path) -> Estimate:
    """Share of the real runs whose seconds a trace of ASP foretells within `WITHIN`."""
    found = errors(result(data_folder, REAL_RACES), "from_base_trace")
    return exact(sum(abs(error) <= WITHIN for error in found) / len(found), count=len(found))


def _exact_over_approximate(data_folder: Path) -> Estimate:
    """Best time of a later call of exact Top-k over that of Gaussian-k: the largest of any processor and GPU.

    Vectors of profile smoke are left out: they are so short that what a call costs at any length is most of its time.
    """
    studies = [study for device in ("cpu", "cuda") for study in machines(data_folder, device)]
    ratios = [
        time_ratio(study, above="top_k, warm", below="gaussian_k, warm") for study in studies if not _is_smoke(study)
    ]
    if not ratios:
        raise NotMeasuredError("the vectors of profile smoke are too short")
    return exact(max(ratios))


def _settled_over_law(data_folder: Path, *, stream: str, law: str) -> Estimate:
    if _is_smoke(result(data_folder, "steady_state")):
        raise NotMeasuredError("the runs of profile smoke end before anything has settled")
    return exact(settled_gain(data_folder, stream) / predicted_gain(data_folder, law))


def _is_smoke(study: Result) -> bool:
    return bool(study["profile"] == "smoke")


def _slack(data_folder: Path) -> Estimate:
    return exact(smallest_slack(data_folder, "top_k"))


def _late_rates_above_bound(data_folder: Path) -> Estimate:
    rates = result(data_folder, "staleness").records("rates")
    return exact(sum(rate["left"] > rate["right"] for rate in rates), count=len(rates))


CLAIMS: tuple[Claim, ...] = (
    Claim(
        "grades",
        "no statement loses a grade of its evidence",
        "ledger.md",
        partial(_ledger, counted=_lost_grades),
        most=0,
    ),
    Claim(
        "two_kinds",
        "no statement lacks an executed derivation or evidence of another kind",
        "abstract",
        partial(_ledger, counted=_one_kind_of_evidence),
        most=0,
    ),
    Claim(
        "mutants",
        "no wrong statement goes unnoticed",
        "ledger.md",
        partial(_ledger, counted=_surviving_mutants),
        most=0,
    ),
    Claim(
        "counterexamples",
        "no counterexample to a weaker wording fails",
        "abstract",
        partial(_ledger, counted=_idle_counterexamples),
        most=0,
    ),
    Claim("formal", "no theorem in Coq rests on an axiom", "README", _theorems_with_axioms, most=0),
    Claim(
        "count_band",
        "Gaussian-k's counts lie in [2k/3, 4k/3] at every update of every run that learnt something",
        "README",
        least_share_in_range,
        least=1,
        statements=("count_band",),
    ),
    Claim(
        "released_count",
        "the released rule's counts lie there at less than half of the updates, density 0.001, momentum 0.9",
        "abstract",
        partial(shares_in_range, setting=MOMENTUM, method=THEIRS),
        most=0.5,
        statements=("released_reachable", "released_window"),
    ),
    Claim(
        "close_momentum",
        f"Gaussian-k ends within {CLOSE_POINTS:g} point of exact Top-k, density 0.001, momentum 0.9",
        "section Training",
        partial(end_difference, setting=MOMENTUM, method=OURS, reference=EXACT),
        least=-CLOSE_POINTS,
        most=CLOSE_POINTS,
    ),
    Claim(
        "released_accuracy",
        "the released rule ends below exact Top-k, density 0.001, momentum 0.9 (points)",
        "section Training",
        partial(end_difference, setting=MOMENTUM, method=THEIRS, reference=EXACT),
        most=0,
    ),
    Claim(
        "no_better",
        "where no run diverged no approximate selector that keeps about k entries ends more than "
        f"{CLOSE_POINTS:g} point above exact Top-k",
        "abstract",
        largest_lead,
        most=CLOSE_POINTS,
    ),
    Claim(
        "momentum",
        "with momentum 0.9 Top-k at density 0.001 ends below dense training (points)",
        "abstract",
        partial(end_difference, setting=MOMENTUM, method=EXACT, reference=DENSE),
        most=0,
        statements=("round_robin_reach", "round_robin_speed"),
    ),
    Claim(
        "repaired",
        "with momentum before the selection Top-k ends above Top-k with momentum after the exchange (points)",
        "abstract",
        partial(end_difference, setting=MOMENTUM, method=BEFORE, reference=EXACT),
        least=0,
    ),
    Claim(
        "exact_free",
        f"a later call of exact Top-k takes at most {FREE_RATIO:g} times as long as one of Gaussian-k (`make bench`)",
        "abstract",
        _exact_over_approximate,
        most=FREE_RATIO,
        statements=("candidate_list",),
    ),
    Claim(
        "one_pass",
        "after a few calls Gaussian-k mostly reads the vector once (share of calls; `make bench` counts)",
        "abstract",
        lambda data_folder: exact(one_pass_share(data_folder)),
        least=0.5,
        statements=("band_search_passes",),
    ),
    Claim(
        "torchrun",
        "real processes and their simulation end with the same bits (1 = yes)",
        "training.md",
        torchrun_agrees,
        least=1,
    ),
    Claim(
        "steady_drift",
        f"the gain under a persistent gradient agrees with its law within a factor {SETTLED_RATIO:g}",
        "Theorem",
        partial(_settled_over_law, stream="equal drift", law="steady_drift_equal"),
        least=1 / SETTLED_RATIO,
        most=SETTLED_RATIO,
        statements=("steady_drift_equal",),
    ),
    Claim(
        "steady_noise",
        f"the gain under pure noise agrees with its law within a factor {SETTLED_RATIO:g}",
        "Theorem",
        partial(_settled_over_law, stream="noise", law="steady_noise"),
        least=1 / SETTLED_RATIO,
        most=SETTLED_RATIO,
        statements=("steady_noise",),
    ),
    Claim(
        "flattened",
        f"error feedback multiplies the standard deviation of what Top-k selects from by more than {LEAST_INFLATION:g} "
        f"on every model (least logarithm of the ratio less log {LEAST_INFLATION:g})",
        "section What gradients look like",
        least_inflation,
        least=math.nextafter(0, 1),
    ),
    Claim(
        "never_normal",
        "the normal law is the likeliest in no run",
        "section What gradients look like",
        normal_count,
        most=0,
    ),
    Claim(
        "shape_met",
        f"the published hypothesis (exponent two) is met at {100 * LEAST_SHARE:g} % of the updates of every run, but "
        "for what chance allows (least share)",
        "section What gradients look like",
        least_met,
        least=LEAST_SHARE,
    ),
    Claim(
        "tight_rate",
        "no step of Top-k on a quadratic shrinks less than the tight rate (least slack)",
        "Theorem",
        _slack,
        least=0,
        statements=("ef_tight_rate",),
    ),
    Claim(
        "late_rate",
        "no run with late gradients is above the rate of coherent descent",
        "waiting, appendix Further studies",
        _late_rates_above_bound,
        most=0,
        statements=("coherence_rate",),
    ),
    Claim(
        "dssp_capped",
        "DSSP with capped grants never leads by more than its bound (lead − bound)",
        "waiting, section Races",
        partial(_largest_lead_over_bound, rule="capped"),
        most=0,
        statements=("dssp_lead",),
    ),
    Claim(
        "dssp_printed",
        "DSSP as printed leads by more (lead − bound)",
        "waiting, section Races",
        partial(_largest_lead_over_bound, rule="printed"),
        least=math.nextafter(0, 1),
        statements=("dssp_lead",),
    ),
    Claim(
        "zipline",
        "ZipLine misses no optimal barrier that a full search finds",
        "waiting, appendix More of barriers",
        _missed_optima,
        most=0,
        statements=("zipline_sweep", "zipline_waiting"),
    ),
    Claim(
        "waited_less",
        "with one slow worker BSP waits more than the other policies drawn (difference of shares of time)",
        "README",
        _least_wait_saved,
        least=math.nextafter(0, 1),
    ),
    Claim(
        "races",
        "no other policy breaks its bound in a race",
        "waiting, section The policies",
        _other_broken_bounds,
        most=0,
        statements=("ssp_gap", "elastic_lead", "database_lead"),
    ),
    Claim(
        "slow_worker",
        "what relieves one slow worker is sooner than BSP (logarithm of BSP's time over the least gain)",
        "waiting, section Races",
        _least_relief,
        least=math.nextafter(0, 1),
    ),
    Claim(
        "passes",
        "no look at a sample passes or fails that cannot",
        "waiting, section Races",
        lambda data_folder: exact(impossible_count(data_folder)),
        most=0,
    ),
    Claim(
        "foretold",
        "a trace of ASP foretells the seconds of nine in ten real runs of other policies within 10 % (share)",
        "waiting, section On real processes",
        _foretold_share,
        least=0.9,
    ),
    Claim(
        "advised",
        f"advice is within a factor {WELL_ADVISED:g} of the fastest candidate in every setting (largest ratio)",
        "waiting, section On real processes",
        lambda data_folder: exact(largest_ratio(data_folder)),
        most=WELL_ADVISED,
    ),
)
"""In the order of the text."""
