"""Small result files of the paper's input formats, with numbers that can be checked by hand."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from paper.results import COMMANDS
from paper.studies.steady_state import STREAMS
from sparsync.experiments.studies.registry import CASE_STUDIES
from sparsync.experiments.studies.selection.refinement import RULES
from sparsync.theory.statements import STATEMENTS
from tests.support.paths import ROOT
from tests.support.studies.convergence_data import convergence_record
from tests.support.studies.density_costs_data import density_costs_record
from tests.support.studies.kfac_data import kfac_record
from tests.support.studies.private_data import private_record
from tests.support.studies.self_paced_data import self_paced_record
from tests.support.studies.split_data import split_record

COMMITTED = ROOT / "paper/data"
PROVENANCE = {
    "git_commit": "0123456789abcdef0123456789abcdef01234567",
    "git_dirty": False,
    "processor_name": "Test & Sons 100%",
    "blas": "Some_BLAS",
    "blas_code_path": None,
    "cpu_capability": "AVX2",
    "python_version": "3.11.7",
    "torch_version": "2.13.0",
    "date_utc": "2026-01-01T00:00:00+00:00",
}
EXAMPLES: dict[str, Callable[[str], dict[str, Any]]] = {
    "density_costs": density_costs_record,
    "kfac": kfac_record,
    "split": split_record,
    "private_learning": private_record,
    "self_paced": self_paced_record,
}
"""By result: an example of its own, of a profile."""
ARENAS = ("fnn3", "gpt")
"""Of the study `convergence`; others have not been run."""


def write_results(folder: Path, *, profile: str = "quick", seeds: tuple[int, ...] = (0, 1)) -> Path:
    """Write everything that the paper reads; returns the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in result_texts(profile, seeds).items():
        (folder / f"{name}.json").write_text(text, encoding="utf-8")
    return folder


@cache
def result_texts(profile: str, seeds: tuple[int, ...]) -> dict[str, str]:
    """By result: the text of its file."""
    records = {
        "contraction": contraction_record(profile),
        "verify": ledger_record(profile),
        "formal": formal_record(),
        "steady_state": steady_state_record(profile),
        "refinement": refinement_record(profile),
        "phases": phases_record(profile),
        "quadratics": quadratics_record(profile),
        "kernels-test": kernels_record(profile),
    }
    apart = {"formal", "kernels", *EXAMPLES, *(name for name in CASE_STUDIES if name.startswith("convergence_"))}
    records |= {name: committed_record(name, profile) for name in {*CASE_STUDIES, *COMMANDS, "torchrun"} - apart}
    records |= {name: record(profile) | {"provenance": PROVENANCE} for name, record in EXAMPLES.items()}
    for arena in ARENAS:
        records[f"convergence_{arena}"] = convergence_record(arena, profile, seeds=seeds) | {"provenance": PROVENANCE}
    return {name: json.dumps(record) for name, record in records.items()}


def rewrite(path: Path, **changes: Any) -> None:
    """Change fields of a result file; None removes the field."""
    fields = {**json.loads(path.read_text(encoding="utf-8")), **changes}
    write(path, {name: value for name, value in fields.items() if value is not None or name not in changes})


def contraction_record(profile: str) -> dict[str, Any]:
    """Two densities, and three ranks of every vector; 0.0013 of 2,000 entries is 3, rounded."""
    names = (
        "gaussian",
        "laplace",
        "uniform",
        "gradient, step 1",
        "gradient, step 4",
        "corrected gradient, step 1",
        "corrected gradient, step 4",
    )
    return {
        "profile": profile,
        "density": [0.0013, 0.5],
        "vectors": [
            {
                "name": name,
                "dimension": 2000,
                "target_count": [3, 1000],
                "ratio": [0.97 - 0.01 * order, 0.2],
                "position": [0.0, 0.5, 0.9],
                "magnitude": [1.0, 0.4, 0.04],
            }
            for order, name in enumerate(names)
        ],
        "bounds": {label: [0.991, 0.25] for label in STATEMENTS},
        "bounds_dimension": 2000,
        "bounds_target_count": [3, 1000],
        "provenance": PROVENANCE,
    }


def steady_state_record(profile: str) -> dict[str, Any]:
    """Two windows of every stream at two densities."""
    return {
        "profile": profile,
        "dimension": 3000,
        "density": [0.01, 0.001],
        "runs": [
            {"stream": stream, "density": density, "step": [1, 10], "gain": [12.0, 3.0 + order]}
            for density in (0.01, 0.001)
            for order, stream in enumerate(STREAMS)
        ],
        "predicted_gain": {
            "steady_drift": [2.94, 2.99],
            "steady_drift_equal": [2.96, 2.996],
            "steady_noise": [5.71, 5.97],
        },
        "provenance": PROVENANCE,
    }


def refinement_record(profile: str) -> dict[str, Any]:
    """Two laws of each family at two densities: nothing, in the range, above it, far above it."""
    selected = {rule: [[6, 6], [6, 6]] for rule in RULES} | {"gaussian_k_released": [[0, 6], [30, 700]]}
    captured = {rule: [[0.5, 1.0], [1.0, 1.0]] for rule in RULES}
    fields = {"selected_count": selected, "captured_share": captured}
    return {
        "profile": profile,
        "dimension": 6000,
        "density": [0.001, 0.01],
        "target_count": [6, 6],
        "families": {
            "shifted gaussian": {"parameter": "mean", "value": [-1.0, 1.0], **fields},
            "generalised gaussian": {"parameter": "exponent", "value": [0.5, 2.0], **fields},
        },
        "provenance": PROVENANCE,
    }


def phases_record(profile: str) -> dict[str, Any]:
    """Two laws of one family at two densities."""
    family = {"parameter": "shape", "value": [1.0, 4.0], "exponent": [[3.0, 5.0], [1.5, 2.5]]}
    return {
        "profile": profile,
        "density": [0.001, 0.01],
        "families": {"gamma": family, "weibull": family},
        "provenance": PROVENANCE,
    }


def quadratics_record(profile: str) -> dict[str, Any]:
    """Two counts of two selectors at two condition numbers; the slowest step shrinks by a tenth more than it must."""
    return {
        "profile": profile,
        "dimension": 100,
        "cases": [
            {
                "selector": selector,
                "target_count": count,
                "condition_number": condition,
                "tight_rate": 1 - count / 100,
                "largest_factor": 1 - 1.1 * count / 100,
                "mean_factor": 1 - 1.5 * count / 100,
            }
            for condition in (2.0, 10.0)
            for selector in ("top_k", "random_k")
            for count in (1, 50)
        ],
        "provenance": PROVENANCE,
    }


_RULES, _CALLS = ("gaussian_k", "top_k"), {"cold": 4, "warm": 2}


def kernels_record(profile: str, *, device: str = "cpu", slowness: int = 1, date: str = "2026-01-01") -> dict[str, Any]:
    """The fused kernel on three lengths, a second law, a training run and a model; powers of two for ratios."""
    ratios = {"add": 1, "threshold": 1} | {f"{rule}, {call}": size for rule in _RULES for call, size in _CALLS.items()}
    if device == "cuda":
        ratios["copy"] = 1
    ratios |= {
        "chunked_top_k": 8,
        "chunked_top_k, PyTorch": 128,
        "torch.topk, sorted": 48,
        "torch.topk, unsorted": 64,
        "released, PyTorch": 32,
        "DGC, PyTorch": 12,
        "SIDCo, PyTorch": 6,
    }
    places = [("gaussian", "vector", 10**power) for power in (3, 5, 7)]
    places += [("uniform", "vector", 10**3), ("laplace", "vector", 10**5)]
    places += [("recorded", "vector", 5000), ("vgg16", "tensors", 10**6)]
    return {
        "profile": profile,
        "device": device,
        "hardware": "Test & Sons 100%",
        "thread_count": 2,
        "bytes_per_entry": 12,
        "rows": [
            {
                "name": name,
                "granularity": granularity,
                "tensor_count": 32 if granularity == "tensors" else 1,
                "dimension": dimension,
                "density": 0.001,
                "contender": contender,
                # A nanosecond an entry.
                "best_seconds": ratio * slowness * dimension / 1e9,
                # Another law takes eight times or twice as long, a training run four times.
                "ratio_to_add": ratio * {"uniform": 8, "laplace": 2, "recorded": 4}.get(name, 1),
                "streaming_passes": {"1": 3, "2": 1} if "warm" in contender else {},
                "recall": 0.75,
            }
            for name, granularity, dimension in places
            for contender, ratio in ratios.items()
        ],
        "memory": [{"residual_share": 0.015}, {"residual_share": 0.02}],
        "provenance": {**PROVENANCE, "date_utc": date},
    }


def committed_record(name: str, profile: str) -> dict[str, Any]:
    """The repository's own result of a study, as if it were of another profile; the study's tests judge its shape."""
    record: dict[str, Any] = json.loads((COMMITTED / f"{name}.json").read_text(encoding="utf-8"))
    return record | {"profile": profile, "provenance": PROVENANCE}


def ledger_record(profile: str) -> dict[str, Any]:
    """A ledger in which every statement earned two grades; two files of certificates; one proof is argued in part."""
    names = ("two_coordinates", "constant", "capped_line_profile", "below_line_extremal")
    return {
        "profile": profile,
        "statements": [
            {
                "label": label,
                "kind": "definition" if label == "crossover" else "theorem",
                "grades": ["symbolic", "rational"],
                "lost_grades": [],
                "evidence": {"symbolic": {"argued_count": int(label == "top_k")}},
            }
            for label in STATEMENTS
        ],
        "mutants": {"mutants": [{"killed_by": ["rational"]}]},
        "certificates": {"checked_count": 18, "files": [{"name": "top_k"}, {"name": "bell_shaped"}]},
        "counterexamples": [{"name": name, "ratio": "5/9", "claimed": "49/100", "refutes": True} for name in names],
        "provenance": PROVENANCE,
    }


def formal_record() -> dict[str, Any]:
    """Three closed theorems of two files: one without hypotheses, one that proves a statement, one with a witness."""
    return {
        "coq_version": "8.16.1",
        "compilation_seconds": 20.5,
        "failures": [],
        "theorems": [
            theorem_record("tail.tail_cross", "the share of s behind k is at most that of w"),
            theorem_record("tail.square_best", "the share is the best constant.", assumes="0 < k ≤ d", label="top_k"),
            theorem_record("powers.power_best", "‖u‖² ≤ κ", assumes="r ≥ 1", witness="tail.square_best"),
        ],
        "provenance": PROVENANCE,
    }


def theorem_record(
    name: str,
    states: str,
    *,
    assumes: str = "",
    witness: str = "",
    label: str | None = None,
    leaves: str = "",
    axioms: tuple[str, ...] = (),
) -> dict[str, Any]:
    """A theorem, in the format of `verify/formal/coq.py`."""
    return {
        "name": name,
        "states": states,
        "assumes": assumes,
        "witness": witness,
        "label": label,
        "leaves": leaves,
        "axioms": list(axioms),
    }


def write(path: Path, fields: dict[str, Any]) -> None:
    """Write a JSON file."""
    path.write_text(json.dumps(fields), encoding="utf-8")
