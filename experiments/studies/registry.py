"""Every study that `make reproduce` runs, by the name of its result file. A new one is a file here and a line below.

The timings of `make bench` and `make links` are apart.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from sparsync.experiments.studies.learning import kfac, private, self_paced, split
from sparsync.experiments.studies.links import accuracy
from sparsync.experiments.studies.planning import crossovers, layer_densities, scaling, sequence_groups, sharded_plans
from sparsync.experiments.studies.profiles import PROFILES, ProfileName
from sparsync.experiments.studies.selection import gradient_laws
from sparsync.experiments.studies.selection.contraction import run_contraction
from sparsync.experiments.studies.selection.phases import run_phases
from sparsync.experiments.studies.selection.refinement import run_refinement
from sparsync.experiments.studies.staleness import staleness
from sparsync.experiments.studies.synchronisation import (
    budgets,
    dssp_leads,
    headlines,
    planned_barriers,
    race_finals,
    races,
    sampled_lags,
    switching,
)
from sparsync.experiments.studies.training import convergence, decays, density_costs, variants
from sparsync.experiments.studies.training.arenas import ARENAS
from sparsync.experiments.studies.training.quadratics import run_quadratics
from sparsync.experiments.studies.training.steady_state import run_steady_state
from sparsync.experiments.training.data import load_dataset
from sparsync.verify.tools.pool import Pool


class RunCases(Protocol):
    """A study whose cases run side by side."""

    def __call__(self, profile_name: ProfileName, pool: Pool) -> dict[str, Any]:
        """The study's JSON."""


@dataclass(frozen=True)
class CaseStudy:
    """A study of many cases.

    Args:
        run: gives its JSON.
        case_count: how often it advances; 0 in a profile that leaves it out, where the record's result is shown.
    """

    run: RunCases
    case_count: Callable[[ProfileName], int]


def _contraction(profile_name: ProfileName) -> dict[str, Any]:
    return run_contraction(profile_name, load_dataset(PROFILES[profile_name].data))


SINGLE_STUDIES: dict[str, Callable[[ProfileName], dict[str, Any]]] = {
    "steady_state": run_steady_state,
    "quadratics": run_quadratics,
    "contraction": _contraction,
    "phases": run_phases,
    "refinement": run_refinement,
}
"""Each in one process, side by side: the long ones first."""

CASE_STUDIES: dict[str, CaseStudy] = {
    "races": CaseStudy(races.run_races, races.case_count),
    "race_finals": CaseStudy(race_finals.run_finals, race_finals.case_count),
    "dssp_leads": CaseStudy(dssp_leads.run_dssp_leads, dssp_leads.case_count),
    "planned_barriers": CaseStudy(planned_barriers.run_planned_barriers, planned_barriers.case_count),
    "sampled_lags": CaseStudy(sampled_lags.run_sampled_lags, sampled_lags.case_count),
    "switching": CaseStudy(switching.run_switching, switching.case_count),
    "budgets": CaseStudy(budgets.run_budgets, budgets.case_count),
    "staleness": CaseStudy(staleness.run_staleness, staleness.case_count),
    "headlines": CaseStudy(headlines.run_headlines, headlines.case_count),
    "split": CaseStudy(split.run_split, split.case_count),
    "private_learning": CaseStudy(private.run_private, private.case_count),
    "variants": CaseStudy(variants.run_variants, variants.case_count),
    "self_paced": CaseStudy(self_paced.run_self_paced, self_paced.case_count),
    "kfac": CaseStudy(kfac.run_kfac, kfac.case_count),
    "gradient_laws": CaseStudy(gradient_laws.run_gradient_laws, gradient_laws.case_count),
    "decays": CaseStudy(decays.run_decays, decays.case_count),
    "density_costs": CaseStudy(density_costs.run_density_costs, density_costs.case_count),
    "crossovers": CaseStudy(crossovers.run_crossovers, crossovers.case_count),
    "scaling": CaseStudy(scaling.run_scaling, scaling.case_count),
    "layer_densities": CaseStudy(layer_densities.run_layer_densities, layer_densities.case_count),
    "sharded_plans": CaseStudy(sharded_plans.run_sharded_plans, sharded_plans.case_count),
    "sequence_groups": CaseStudy(sequence_groups.run_sequence_groups, sequence_groups.case_count),
    **{
        f"convergence_{arena}": CaseStudy(
            partial(convergence.run_convergence, arena=arena), partial(convergence.case_count, arena=arena)
        )
        for arena in ARENAS
    },
    **{
        f"link_accuracy_{model}": CaseStudy(
            partial(accuracy.run_accuracy, model=model), partial(accuracy.case_count, model=model)
        )
        for model in accuracy.MODELS
    },
}
"""One after another, the cases of each side by side."""
