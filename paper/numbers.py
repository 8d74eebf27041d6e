r"""Write every number that the paper's text uses as a LaTeX macro, its tables of statements, and their proofs.

    python -m paper.numbers --data-folder paper/data --output-folder paper/generated

`numbers.tex` defines `\sp<Name>` for each name in `MACROS`; `proofs.tex` is the appendix, and every other file a table.
Values come from result files and from `STATEMENTS` only, so a number in the text cannot differ from the data behind it.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from pathlib import Path

from paper import latex
from paper.results import (
    Result,
    all_training_results,
    budgets_result,
    contraction_result,
    dssp_leads_result,
    engine_speed_result,
    formal_result,
    headlines_result,
    kernel_results,
    ledger_result,
    phases_result,
    planned_barriers_result,
    quadratics_result,
    races_result,
    refinement_result,
    sampled_lags_result,
    staleness_result,
    steady_state_result,
    switching_result,
    write_text,
)
from paper.statements.formal_table import closed_theorems, formal_table
from paper.statements.proofs import proofs_latex
from paper.statements.tables import all_grades, ledger_table, statement_table
from paper.studies import study_facts
from paper.studies.barrier_facts import BARRIER_MACROS
from paper.studies.budgets_facts import BUDGETS_MACROS, agreement_table
from paper.studies.headlines import headline_table
from paper.studies.kernel_facts import KERNEL_MACROS, kernel_table
from paper.studies.lag_facts import LAG_MACROS, lag_table
from paper.studies.race_facts import RACE_MACROS, race_table
from paper.studies.rule_facts import band_share, rule_table
from paper.studies.speed_facts import SPEED_MACROS
from paper.studies.staleness_facts import STALENESS_MACROS, staleness_table
from paper.studies.switching_facts import SWITCHING_MACROS, switching_table
from paper.studies.training_macros import TRAINING_MACROS, Macro
from paper.studies.training_tables import accuracy_table, count_table, momentum_table
from sparsync.theory.selectors.released_rotation import rotation_pair
from sparsync.theory.statements import STATEMENTS
from sparsync.verify.tools.interrupts import interrupt_as_line

COUNTEREXAMPLES = {
    "TwoCoordinates": "two_coordinates",
    "Constant": "constant",
    "CappedLine": "capped_line_profile",
    "BelowLine": "below_line_extremal",
}
"""Words of macro names to names in `verify/contraction/counterexamples.py`."""

SETTLED_STREAMS = {
    "EqualDrift": "equal drift",
    "GaussianDrift": "gaussian drift",
    "Mixture": "drift and noise",
    "UnequalNoise": "unequal noise",
    "Noise": "noise",
}
"""Words of macro names to streams of the study `steady_state`."""

SECOND_RUNG = 2
"""The exponent whose failures in small dimensions the text states."""

DEVIATION_FAILURE = 0.01
"""The probability with which the text lets a Gaussian sample stray further from its law."""
WINDOW_DENSITY = 0.001
"""The density at which the text gives the passes of the released rule."""

_SHOWN_COMMIT_LENGTH = 12


def _counterexample_macros(word: str, name: str) -> dict[str, Macro]:
    return {
        f"{word}Ratio": lambda folder: latex.fraction(study_facts.counterexample(folder, name)["ratio"]),
        f"{word}Claimed": lambda folder: latex.fraction(study_facts.counterexample(folder, name)["claimed"]),
    }


def _gains(data_folder: Path, kind: str) -> str:
    return _enumeration([latex.decimal(gain, 1) for gain in study_facts.observed_gains(data_folder, kind)])


def _failure_probability(_data_folder: Path, *, dimension: int) -> str:
    probability = STATEMENTS["small_dimension_failure"].evaluate(d=dimension, q=SECOND_RUNG)
    return latex.decimal(probability, 4)


def _gaussian_deviation(data_folder: Path) -> str:
    dimension = contraction_result(data_folder)["bounds_dimension"]
    deviation = STATEMENTS["gaussian_sample_ratio"].evaluate(d=dimension, failure=DEVIATION_FAILURE)
    return latex.decimal(deviation, 4)


def _worst_passes(_data_folder: Path) -> str:
    """Of the released rule without a limit, for the window of a centred Gaussian."""
    rise_count, _, fall_count, _ = rotation_pair(Fraction(STATEMENTS["released_window"].evaluate(kappa=WINDOW_DENSITY)))
    return latex.integer(rise_count + fall_count)


def _settled_gain(data_folder: Path, *, stream: str) -> str:
    return latex.decimal(study_facts.settled_gain(data_folder, stream), 2)


def _observed_updates(data_folder: Path) -> str:
    updates = study_facts.observed_vectors(contraction_result(data_folder), "gradient")
    return _enumeration([latex.integer(update) for update in updates])


def _certificate_count(data_folder: Path) -> str:
    return latex.integer(study_facts.evidence_total(data_folder, "rational", "certificates_count"))


def _formal_statement_count(data_folder: Path) -> str:
    """How many statements of the ledger have the grade formal."""
    return latex.integer(sum("formal" in earned for earned in all_grades(data_folder).values()))


def _provenance(results: Sequence[Result], name: str) -> str:
    """The different values of a fact, in the order of the results."""
    values = dict.fromkeys(str(result.record("provenance")[name]) for result in results)
    return latex.escape(", ".join(values))


def _commits(data_folder: Path) -> str:
    """The commits of all result files, a file from changed sources being marked."""
    records = [result.record("provenance") for result in _all_results(data_folder)]
    return latex.escape(", ".join(dict.fromkeys(map(_shown_commit, records))))


def _shown_commit(record: Result) -> str:
    if record["git_commit"] is None:
        return "a copy without history"
    return str(record["git_commit"])[:_SHOWN_COMMIT_LENGTH] + (" with local changes" if record["git_dirty"] else "")


def _all_results(data_folder: Path) -> list[Result]:
    others = (ledger_result(data_folder), formal_result(data_folder), engine_speed_result(data_folder))
    return [*others, *_measured_results(data_folder), *kernel_results(data_folder)]


def _measured_results(data_folder: Path) -> list[Result]:
    studies = (
        contraction_result,
        phases_result,
        quadratics_result,
        steady_state_result,
        refinement_result,
        races_result,
        headlines_result,
        dssp_leads_result,
        planned_barriers_result,
        sampled_lags_result,
        switching_result,
        budgets_result,
        staleness_result,
    )
    return [*(read(data_folder) for read in studies), *all_training_results(data_folder)]


def _profile(data_folder: Path) -> str:
    """The profile of all measured results.

    Raises:
        ValueError: they come from different profiles.
    """
    results = _measured_results(data_folder)
    profiles = {str(result["profile"]): result.path for result in results}
    if len(profiles) > 1:
        examples = ", ".join(f"{name} ({path})" for name, path in profiles.items())
        raise ValueError(f"the results come from different profiles: {examples}")
    return latex.escape(next(iter(profiles)))


def _enumeration(words: Sequence[str]) -> str:
    """`a, b and c`."""
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


MACROS: dict[str, Macro] = {
    **TRAINING_MACROS,
    **KERNEL_MACROS,
    **SPEED_MACROS,
    **RACE_MACROS,
    **BARRIER_MACROS,
    **LAG_MACROS,
    **SWITCHING_MACROS,
    **BUDGETS_MACROS,
    **STALENESS_MACROS,
    "SampleDimension": lambda folder: latex.integer(contraction_result(folder)["bounds_dimension"]),
    "LadderDensity": lambda folder: latex.shortest(contraction_result(folder)["density"][0]),
    "UniformGain": lambda folder: latex.decimal(study_facts.law_gain(folder, "uniform"), 1),
    "GaussianGain": lambda folder: latex.decimal(study_facts.law_gain(folder, "gaussian"), 1),
    "LaplaceGain": lambda folder: latex.decimal(study_facts.law_gain(folder, "laplace"), 1),
    "BellShapedGain": lambda folder: latex.decimal(study_facts.bound_gain(folder, "bell_shaped"), 1),
    "ObservedUpdates": _observed_updates,
    **{f"Settled{word}": partial(_settled_gain, stream=stream) for word, stream in SETTLED_STREAMS.items()},
    "EqualDriftLaw": lambda folder: latex.decimal(study_facts.predicted_gain(folder, "steady_drift_equal"), 2),
    "DriftLaw": lambda folder: latex.decimal(study_facts.predicted_gain(folder, "steady_drift"), 2),
    "NoiseLaw": lambda folder: latex.decimal(study_facts.predicted_gain(folder, "steady_noise"), 2),
    "SteadyDensity": lambda folder: latex.shortest(min(steady_state_result(folder)["density"])),
    "SteadyDimension": lambda folder: latex.integer(steady_state_result(folder)["dimension"]),
    "SteadyUpdates": lambda folder: latex.integer(steady_state_result(folder).records("runs")[0]["step"][-1]),
    "GradientGains": lambda folder: _gains(folder, "gradient"),
    "CorrectedGains": lambda folder: _gains(folder, "corrected gradient"),
    "ObservedRises": lambda folder: latex.integer(study_facts.observed_rise_count(folder)),
    **{
        macro_name: macro
        for word, name in COUNTEREXAMPLES.items()
        for macro_name, macro in _counterexample_macros(word, name).items()
    },
    "QuadraticSlack": lambda folder: latex.decimal(100 * study_facts.smallest_slack(folder, "top_k"), 1),
    "RefinementDimension": lambda folder: latex.integer(refinement_result(folder)["dimension"]),
    "RefinementSmallestTarget": lambda folder: latex.integer(min(refinement_result(folder)["target_count"])),
    "RefinementReleasedShare": lambda folder: latex.percent(band_share(folder, "gaussian_k_released")),
    "RefinementOursShare": lambda folder: latex.percent(band_share(folder, "gaussian_k")),
    **{
        f"FailureIn{word}": partial(_failure_probability, dimension=dimension)
        for word, dimension in {"Two": 2, "Three": 3}.items()
    },
    "GaussianDeviation": _gaussian_deviation,
    "DeviationFailure": lambda _folder: latex.shortest(DEVIATION_FAILURE),
    "WindowDensity": lambda _folder: latex.shortest(WINDOW_DENSITY),
    "WorstPasses": _worst_passes,
    "CertificateCount": _certificate_count,
    "StatementCount": lambda folder: latex.integer(len(study_facts.grades(folder))),
    "FormalStatementCount": _formal_statement_count,
    "FormalTheoremCount": lambda folder: latex.integer(len(closed_theorems(folder))),
    "CoqVersion": lambda folder: latex.escape(str(formal_result(folder)["coq_version"])),
    "Profile": _profile,
    "LedgerProfile": lambda folder: latex.escape(str(ledger_result(folder)["profile"])),
    "Commits": _commits,
    "Processor": lambda folder: _provenance(all_training_results(folder), "processor_name"),
    "CpuCapability": lambda folder: _provenance(all_training_results(folder), "cpu_capability"),
    "PythonVersion": lambda folder: _provenance(all_training_results(folder), "python_version"),
    "TorchVersion": lambda folder: _provenance(all_training_results(folder), "torch_version"),
}
"""Every macro by its name without the leading `\\sp`."""


def macro_definitions(data_folder: Path) -> str:
    """One definition a line, in the order of `MACROS`.

    Raises:
        FileNotFoundError: a result file is missing.
        ValueError: a result lacks a field, or holds a number that is not finite.
    """
    lines = (f"\\newcommand{{\\sp{name}}}{{{macro(data_folder)}}}\n" for name, macro in MACROS.items())
    return "".join(lines)


FILES: dict[str, Macro] = {
    "numbers.tex": macro_definitions,
    "statements.tex": statement_table,
    "ledger.tex": ledger_table,
    "formal.tex": formal_table,
    "kernels.tex": kernel_table,
    "rules.tex": rule_table,
    "accuracy.tex": accuracy_table,
    "counts.tex": count_table,
    "momentum.tex": momentum_table,
    "races.tex": race_table,
    "lags.tex": lag_table,
    "switching.tex": switching_table,
    "agreement.tex": agreement_table,
    "staleness.tex": staleness_table,
    "headlines.tex": headline_table,
    "proofs.tex": proofs_latex,
}
"""Every file that is written, by name."""


@interrupt_as_line()
def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line (None: the process's own arguments).

    Raises:
        SystemExit: malformed arguments, or results that are missing or incomplete.
    """
    parser = argparse.ArgumentParser(prog="python -m paper.numbers", description="Write the paper's numbers.")
    parser.add_argument("--data-folder", type=Path, required=True, help="where the result files are")
    parser.add_argument("--output-folder", type=Path, required=True, help="where the files go; created if absent")
    options = parser.parse_args(arguments)
    try:
        texts = {name: make(options.data_folder) for name, make in FILES.items()}
        for name, text in texts.items():
            write_text(options.output_folder / name, text)
    except (ValueError, OSError) as error:
        raise SystemExit(f"error: {error}") from error


if __name__ == "__main__":
    main()
