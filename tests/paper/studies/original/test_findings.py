"""What is said of a relation is what the results have, and it falls where they say otherwise."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from paper.studies.original import findings
from paper.studies.original.findings import Finding
from tests.support.paper_data import write
from tests.support.paths import ROOT

RECORD = ROOT / "paper" / "data"
NONE = Finding(None, "nothing was found")


def contestant(
    method: str, accuracy: list[float | None], density: float | None = 0.001, **changes: Any
) -> dict[str, Any]:
    return {
        "optimiser": "plain",
        "method": method,
        "density": density,
        "test_accuracy": accuracy,
        "test_loss": [None if value is None else 1 - value for value in accuracy],
        "median_count": [1.0] * len(accuracy),
        **changes,
    }


def arena(folder: Path, *contestants: dict[str, Any], name: str = "fnn3", data: str = "embedded") -> None:
    write(folder / f"convergence_{name}.json", {"arena": name, "setup": {"data": data}, "contestants": contestants})


TOP = contestant("top_k", [0.80, 0.81, 0.80])


@pytest.mark.parametrize(
    ("random", "holds", "words"),
    [
        ([0.70, 0.71, 0.70], True, "above in 1"),
        ([0.90, 0.91, 0.90], False, "below in 1"),
        ([0.70, 0.91, 0.80], None, "inconclusive in 1"),
    ],
)
def test_top_k_is_above_random_k_where_every_interval_says_so(
    random: list[float | None], holds: bool | None, words: str, tmp_path: Path
) -> None:
    arena(tmp_path, TOP, contestant("random_k", random))
    found = findings.above(tmp_path)
    assert found is not None
    assert found.holds is holds
    assert words in found.words
    assert "of 1 settings" in found.words


def test_where_a_run_diverged_nothing_is_compared(tmp_path: Path) -> None:
    arena(tmp_path, TOP, contestant("random_k", [0.70, None, 0.70]))
    assert findings.above(tmp_path) is None


def test_text_is_compared_by_loss(tmp_path: Path) -> None:
    """In per cent of the other's, and less is better."""
    own, other = (
        contestant(name, [0.0, 0.0], test_loss=loss) for name, loss in (("top_k", [0.9, 1.8]), ("random_k", [1.0, 2.0]))
    )
    arena(tmp_path, own, other, data="text")
    (place,) = findings.ended(tmp_path, "top_k", "random_k")
    assert place.difference.value == pytest.approx(10)


def test_a_method_that_selects_is_compared_with_one_that_does_not_at_every_density(tmp_path: Path) -> None:
    arena(tmp_path, TOP, contestant("top_k", [0.9, 0.9, 0.9], 0.01), contestant("dense", [0.9, 0.91, 0.9], None))
    assert [place.title for place in findings.ended(tmp_path, "top_k", "dense")] == [
        "fnn3, plain, 0.001",
        "fnn3, plain, 0.01",
    ]


@pytest.mark.parametrize(
    ("theirs", "holds"), [([0.80, 0.81, 0.80], True), ([0.50, 0.51, 0.50], False), ([0.70, 0.90, 0.80], None)]
)
def test_the_released_rule_decides_and_ours_is_said_beside_it(
    theirs: list[float | None], holds: bool | None, tmp_path: Path
) -> None:
    arena(tmp_path, TOP, contestant("gaussian_k_released", theirs), contestant("gaussian_k", [0.8, 0.811, 0.8]))
    found = findings.alike(tmp_path)
    assert found is not None
    assert found.holds is holds
    assert found.words.endswith("ours yes in 1, no in 0, inconclusive in 0")


@pytest.mark.parametrize(("count", "holds"), [(1.1, True), (0.0, False), (4.9, False)])
def test_counts_are_about_k_within_the_range_that_the_rule_aims_at(count: float, holds: bool, tmp_path: Path) -> None:
    arena(tmp_path, contestant("gaussian_k_released", [0.8, 0.8], median_count=[1.0, count]))
    found = findings.counts(tmp_path)
    assert found is not None
    assert found.holds is holds


@pytest.mark.parametrize("find", [findings.above, findings.alike, findings.counts])
def test_without_runs_nothing_is_said(find: Callable[[Path], Finding | None], tmp_path: Path) -> None:
    assert find(tmp_path) is None
    arena(tmp_path, contestant("dense", [0.8], None))
    assert find(tmp_path) is None


def test_scales_with_and_without_feedback_are_compared_model_by_model(tmp_path: Path) -> None:
    def run(model: str, kind: str, deviation: float) -> dict[str, Any]:
        return {"model": model, "kind": kind, "late_deviation": deviation}

    runs = [run("fnn3", "dense", 1.0), run("fnn3", "top_k", 7.0), run("gpt", "dense", 2.0), run("gpt", "top_k", 4.0)]
    write(tmp_path / "gradient_laws.json", {"seed": 0, "runs": [*runs, run("vgg16", "top_k", 9.0)]})
    found = findings.inflated(tmp_path)
    assert found == Finding(True, "2.0 to 7.0 times as wide on 2 models; 1 within 6 to 10")
    write(tmp_path / "gradient_laws.json", {"seed": 0, "runs": [*runs[:2], run("gpt", "dense", 5.0), runs[3]]})
    assert findings.inflated(tmp_path) == Finding(False, "0.8 to 7.0 times as wide on 2 models; 1 within 6 to 10")
    repeats = [run("gpt", "dense", 2.0) | {"seed": 1}, run("gpt", "top_k", 16.0) | {"seed": 1}]
    write(tmp_path / "gradient_laws.json", {"seed": 0, "runs": runs, "repeats": repeats})
    # Of 2 and 8.
    assert findings.inflated(tmp_path) == Finding(True, "4.0 to 7.0 times as wide on 2 models; 1 within 6 to 10")


def contraction(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    record = json.loads((RECORD / "contraction.json").read_text(encoding="utf-8"))
    for vector in record["vectors"]:
        change(vector)
    write(folder / "contraction.json", record)


def test_a_sample_over_the_line_and_an_error_over_the_bound_are_seen(tmp_path: Path) -> None:
    assert findings.under_line(RECORD).holds
    assert (findings.bounded(RECORD) or NONE).holds
    contraction(tmp_path, lambda vector: vector.update(magnitude=[1.0] * len(vector["magnitude"])))
    assert not findings.under_line(tmp_path).holds
    contraction(tmp_path, lambda vector: vector.update(ratio=[0.999] * len(vector["ratio"])))
    assert (findings.bounded(tmp_path) or NONE).holds is False
    contraction(tmp_path, lambda vector: vector.update(dimension=10**9))
    assert findings.bounded(tmp_path) is None


def kernels(folder: Path, **seconds: float) -> None:
    rows = [
        {
            "name": "gaussian",
            "granularity": "vector",
            "density": 0.001,
            "dimension": length,
            "contender": contender,
            "best_seconds": factor * length,
        }
        for length in (10, 100)
        for contender, factor in seconds.items()
    ]
    write(folder / "kernels-test.json", {"hardware": "some", "rows": rows})


def test_selection_is_compared_in_pytorch_and_the_best_of_both_kinds_is_said(tmp_path: Path) -> None:
    times = {"torch.topk, unsorted": 3.0, "released, PyTorch": 1.5, "top_k, warm": 1.0, "gaussian_k, warm": 1.25}
    kernels(tmp_path, **times)
    found = findings.selected(tmp_path)
    assert found is not None
    assert found.holds is True
    assert found.words == (
        "in PyTorch exact Top-k takes 2.00 times as long on the longest vectors (some), and is the quicker at 0 of 1 "
        "shorter lengths; with our kernel, of the best of both kinds, 0.80 times on the longest"
    )
    kernels(tmp_path, **times | {"torch.topk, unsorted": 1.5})
    found = findings.selected(tmp_path)
    assert found is not None
    assert found.holds is False
    kernels(tmp_path, **{"top_k, warm": 1.0})
    assert findings.selected(tmp_path) is None


def scaled(folder: Path, efficiency: dict[str, float]) -> None:
    record = json.loads((RECORD / "scaling.json").read_text(encoding="utf-8"))
    for row in record["rows"]:
        row["efficiency"] = [efficiency.get(row["way"], 0.5)] * len(record["workers"])
    write(folder / "scaling.json", record)


@pytest.mark.parametrize(
    ("dense", "exact", "released", "holds"), [(0.2, 0.5, 0.8, True), (0.2, 0.5, 0.52, None), (0.2, 0.9, 0.5, False)]
)
def test_steps_are_quicker_in_order_only_beyond_the_error_of_predictions(
    dense: float, exact: float, released: float, holds: bool | None, tmp_path: Path
) -> None:
    scaled(tmp_path, {"dense_ring": dense, "gather_torch": exact, "gather_released": released})
    found = findings.scaled(tmp_path)
    assert found.holds is holds
    assert f"{released / exact:.2f} as Top-k by PyTorch" in found.words
