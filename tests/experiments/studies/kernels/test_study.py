"""The kernel study times what it checked: every contender does the whole step, and a wrong bit stops the study."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise, permutations
from pathlib import Path
from types import ModuleType

import pytest
import torch
from torch import Tensor

from sparsync.experiments.studies.kernels import checks, memory
from sparsync.experiments.studies.kernels import study as kernels
from sparsync.experiments.studies.kernels.contenders import FLOOR, Contender, Result, contenders, selections
from sparsync.experiments.studies.kernels.laws import LAWS, Case, drawn_case, model_cases, recorded_case
from sparsync.experiments.studies.kernels.model_shapes import MODEL_SHAPES
from sparsync.experiments.studies.kernels.timing import Effort, Timing, check_and_time
from sparsync.kernels import native_build
from sparsync.kernels.payload import SparsePayload
from sparsync.kernels.selection import SELECTORS

CPU = torch.device("cpu")
SHAPES = ((5,), (64, 65), (1,), (30, 301))
TINY = kernels.Sizes(Effort(seconds=0.0, fewest=2, most=4), dimensions=(3000,), law_dimensions=(2000,))


def _corrected(case: Case, index: int) -> list[Tensor]:
    residuals, gradients = case.step(index)
    return [residual + gradient for residual, gradient in zip(residuals, gradients, strict=True)]


def _case(name: str) -> Case:
    if name == "recorded":
        return recorded_case(6, 0.001, device=CPU)
    if name in LAWS:
        return drawn_case(name, 5000, 0.01, device=CPU)
    (case,) = (case for case in model_cases("small", SHAPES, 0.01, device=CPU) if case.granularity == name)
    return case


@pytest.mark.parametrize(
    ("name", "tensor_count", "entry_count"),
    [("resnet50", 161, 25_557_032), ("vgg16", 32, 138_357_544), ("lstm", 11, 66_034_000)],
)
def test_models_have_the_published_numbers_of_parameters(name: str, tensor_count: int, entry_count: int) -> None:
    shapes = MODEL_SHAPES[name]()
    assert (len(shapes), sum(map(math.prod, shapes))) == (tensor_count, entry_count)


def test_the_language_model_holds_the_tensors_of_torchs_own_layers() -> None:
    with torch.device("meta"):
        layers = (torch.nn.Embedding(10_000, 1500), torch.nn.LSTM(1500, 1500, 2), torch.nn.Linear(1500, 10_000))
    assert MODEL_SHAPES["lstm"]() == [tuple(tensor.shape) for layer in layers for tensor in layer.parameters()]


@pytest.mark.parametrize("law", LAWS)
def test_consecutive_corrected_gradients_differ_and_share_their_law(law: str) -> None:
    case = drawn_case(law, 100_000, 0.001, device=CPU)
    (first,), (second,), (fourth,) = (_corrected(case, index) for index in (0, 1, 3))
    assert not torch.equal(first, second)
    assert torch.equal(first, fourth)
    # E|X| = √(2/π), 1, ½, and the first of these times the share of entries that are not zero.
    gaussian = (2 / torch.pi) ** 0.5
    means = {"gaussian": gaussian, "laplace": 1.0, "uniform": 0.5, "sparse 0.95": gaussian / 20}
    expected = means.get(law, gaussian / 1000)
    # X² has mean 2 at most, so five standard errors of a mean of 10⁵ are below 5·√(2/10⁵).
    for vector in (first, second):
        assert bool(vector.isfinite().all())
        assert float(vector.abs().mean()) == pytest.approx(expected, abs=5 * (2 / 100_000) ** 0.5)


@pytest.mark.parametrize("share", ["0.95", "0.999"])
def test_a_sparse_corrected_gradient_is_zero_where_nothing_was_drawn(share: str) -> None:
    (vector,) = _corrected(drawn_case(f"sparse {share}", 100_000, 0.001, device=CPU), 1)
    zeros = int((vector == 0).sum())
    # Five standard deviations of a binomial count.
    assert zeros == pytest.approx(float(share) * 1e5, abs=5 * (1e5 * 0.05) ** 0.5)


def test_recorded_steps_follow_one_another_bit_for_bit() -> None:
    case = recorded_case(4, 0.001, device=CPU)
    for index in range(3):
        (corrected,), ((following,), _) = _corrected(case, index), case.step(index + 1)
        left = SELECTORS["top_k"](corrected, case.target_counts[0]).remainder(corrected)
        assert torch.equal(left, following)
    assert bool(case.step(0)[0][0].any())


@pytest.mark.parametrize("name", [*LAWS, "tensors", "whole", "recorded"])
def test_every_contender_passes_its_check(name: str) -> None:
    case = _case(name)
    expected = checks.expect(case)
    entrants = contenders(case, threshold=expected.threshold)
    measured = check_and_time(expected, entrants, Effort(seconds=0.0, fewest=2, most=3))
    assert list(measured) == [contender.name for contender in entrants]
    for contender in entrants:
        quality, timing = measured[contender.name]
        assert len(timing.seconds) == 2
        assert (quality is None) == (contender.rule is None)
    exact = measured["top_k, warm"][0]
    assert exact is not None
    assert (exact.recall, exact.selected_count) == (1.0, sum(case.target_counts))


def test_the_fused_kernel_is_checked_with_every_rule_on_awkward_sizes() -> None:
    assert checks.check_ours(drawn_case("gaussian", 4097, 0.3, device=CPU)) == 8
    assert sum(map(checks.check_ours, model_cases("small", SHAPES, 0.01, device=CPU))) == 9


def _lose_an_entry(result: Result, residual: Tensor) -> Result:
    ((values, indices),) = selections(result)
    return [(values[1:], indices[1:])]


def _keep_what_was_sent(result: Result, residual: Tensor) -> Result:
    ((values, indices),) = selections(result)
    residual[indices[0].long()] = values[0]
    return result


def _change_a_value(result: Result, residual: Tensor) -> Result:
    ((values, indices),) = selections(result)
    return [(values * (1 + 2**-23), indices)]


def _send_a_small_entry_too(result: Result, residual: Tensor) -> Result:
    ((values, indices),) = selections(result)
    smallest = residual.abs().where(residual != 0, residual.abs().max()).argmin()
    extra = residual[smallest].clone()
    residual[smallest] = 0
    return [(torch.cat([values, extra[None]]), torch.cat([indices, smallest[None].to(indices.dtype)]))]


@pytest.mark.parametrize("name", ["torch.topk, sorted", "released, PyTorch"])
@pytest.mark.parametrize("fault", [_lose_an_entry, _keep_what_was_sent, _change_a_value, _send_a_small_entry_too])
def test_a_wrong_contender_ends_the_study(fault: Callable[[Result, Tensor], Result], name: str) -> None:
    case = drawn_case("gaussian", 5000, 0.01, device=CPU)
    expected = checks.expect(case)
    (right,) = (one for one in contenders(case, threshold=expected.threshold) if one.name == name)
    wrong = replace(right, call=lambda gradients, residuals: fault(right.call(gradients, residuals), residuals[0]))
    with pytest.raises(RuntimeError, match=f"{name} on gaussian, vector, d = 5000, density 0.01"):
        check_and_time(expected, [wrong], Effort(seconds=0.0, fewest=1, most=1))


def test_ours_may_not_even_break_a_tie_otherwise() -> None:
    residuals, gradients = [torch.zeros(6)], [torch.tensor([3.0, 1.0, 1.0, 1.0, 0.0, 2.0])]
    case = Case("tied", "vector", 0.5, (3,), [(residuals, gradients)])
    expected = checks.expect(case)
    (right,) = (one for one in contenders(case, threshold=1.0) if one.name == "top_k, cold")

    def last_tie(gradients: list[Tensor], residuals: list[Tensor]) -> Result:
        payload = SELECTORS["top_k"](gradients[0].flip(0), 3)
        indices = (5 - payload.indices.flip(0)).to(torch.int32)
        values = gradients[0][indices.long()]
        residuals[0].copy_(gradients[0])[indices.long()] = 0
        return [SparsePayload(values, indices, 6)]

    with pytest.raises(RuntimeError, match="another selection"):
        check_and_time(expected, [replace(right, call=last_tie)], Effort(seconds=0.0, fewest=1, most=1))


def test_every_timed_call_starts_from_the_residual_of_its_step() -> None:
    case = recorded_case(12, 0.001, device=CPU)
    seen: list[Tensor] = []

    def call(gradients: list[Tensor], residuals: list[Tensor]) -> Result:
        seen.append(residuals[0].clone())
        residuals[0].add_(gradients[0])
        return []

    check_and_time(checks.expect(case), [Contender(FLOOR, call)], Effort(seconds=0.0, fewest=3, most=3))
    first = checks.WARM_UP_COUNT
    assert all(torch.equal(found, case.step(first + index)[0][0]) for index, found in enumerate(seen))
    assert len(seen) == 4


def test_every_contender_is_timed_first_and_after_every_other() -> None:
    called: list[str] = []

    def noting(name: str) -> Contender:
        def call(gradients: list[Tensor], residuals: list[Tensor]) -> Result:
            called.append(name)
            residuals[0].add_(gradients[0])
            return []

        return Contender(name, call)

    names, rounds = ["a", "b", "c", "d"], 50
    effort = Effort(seconds=0.0, fewest=rounds, most=rounds)
    check_and_time(checks.expect(drawn_case("gaussian", 100, 0.1, device=CPU)), list(map(noting, names)), effort)
    timed = [called[start : start + 4] for start in range(4, len(called), 4)]
    assert len(timed) == rounds
    assert all(sorted(order) == names for order in timed)
    # The orders are seeded: this is so in every run or in none.
    assert {order[0] for order in timed} == set(names)
    assert {pair for order in timed for pair in pairwise(order)} == set(permutations(names, 2))


@pytest.mark.parametrize(
    ("seconds", "is_enough"),
    [([], False), ([9.0], False), ([0.5, 0.4], False), ([0.5, 0.5], True), ([0.1] * 3, True)],
)
def test_timing_ends_with_its_time_but_not_before_the_fewest_or_after_the_most(
    seconds: list[float], is_enough: bool
) -> None:
    assert Timing(seconds).is_enough(Effort(seconds=1.0, fewest=2, most=3)) is is_enough


def test_the_study_writes_a_row_per_case_and_contender(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(kernels.SIZES, "smoke", TINY)
    monkeypatch.setattr(sys, "argv", ["kernels", "--profile", "smoke", "--output-folder", str(tmp_path)])
    threads_before = torch.get_num_threads()
    kernels.main()
    assert torch.get_num_threads() == threads_before
    (path,) = tmp_path.iterdir()
    study = json.loads(path.read_text())
    assert path.name == kernels.output_name(study)
    assert (study["profile"], study["device"], study["thread_count"]) == ("smoke", "cpu", 2)
    cases = {(row["name"], row["dimension"]) for row in study["rows"]}
    assert cases == {("gaussian", 3000), *((law, 2000) for law in LAWS if law != "gaussian"), ("recorded", 199_210)}
    # On Gaussian vectors only torch.topk is asked for sorted results, PyTorch for chunks and two more published rules.
    assert len(study["rows"]) == 10 * len(cases) + 4
    for row in study["rows"]:
        assert 0 < row["best_seconds"] <= row["median_seconds"]
        assert row["gigabytes_per_second"] == pytest.approx(12e-9 * row["dimension"] / row["best_seconds"])
    assert all(row["ratio_to_add"] == 1 for row in study["rows"] if row["contender"] == FLOOR)
    assert "recorded" in capsys.readouterr().out
    assert study["unmeasured"] == []


def test_what_was_measured_outlives_a_machine_that_is_taken_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def taken_away(*_: object, **__: object) -> list[Case]:
        raise SystemExit

    monkeypatch.setitem(kernels.SIZES, "smoke", TINY)
    monkeypatch.setattr(kernels, "recorded_case", taken_away)
    monkeypatch.setattr(sys, "argv", ["kernels", "--profile", "smoke", "--output-folder", str(tmp_path)])
    with pytest.raises(SystemExit):
        kernels.main()
    (path,) = tmp_path.iterdir()
    study = json.loads(path.read_text())
    assert study["unmeasured"] == ["recorded"]
    assert {row["name"] for row in study["rows"]} == set(LAWS)


def test_on_a_gpu_calls_are_replayed_too_and_the_full_profile_ends_with_a_billion_entries() -> None:
    names = {
        (profile, device): [part.name for part in kernels.study_parts(profile, torch.device(device), 0)]
        for profile in ("record", "full")
        for device in ("cpu", "cuda")
    }
    again = [name for name in names["full", "cpu"] if name.startswith("gaussian, d = ") or name in MODEL_SHAPES]
    replays = [f"{name}, replayed" for name in again]
    assert {"gaussian, d = 10000, density 0.001, replayed", "vgg16, replayed"} <= set(replays)
    largest = f"gaussian, d = {kernels.LARGEST_ON_GPU}, density 0.001"
    assert names["record", "cpu"] == names["full", "cpu"]
    assert names["record", "cuda"] == [*names["full", "cpu"], *replays]
    assert names["full", "cuda"] == [*names["full", "cpu"], *replays, largest]


@pytest.mark.parametrize(
    ("device", "hardware", "name"),
    [
        ("cpu", "AMD EPYC 9B14 (TM)", "kernels-amd-epyc-9b14-tm-3-threads.json"),
        ("cuda", "NVIDIA H200", "kernels-nvidia-h200.json"),
    ],
)
def test_results_are_named_after_their_machine(device: str, hardware: str, name: str) -> None:
    assert kernels.output_name({"device": device, "hardware": hardware, "thread_count": 3}) == name


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--threads", "0"], "--threads must be at least 1, got 0"),
        (["--output-folder", "/dev/null/new"], "--output-folder must name a folder, got /dev/null/new"),
        pytest.param(
            ["--device", "cuda"],
            "needs a CUDA GPU",
            marks=pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU"),
        ),
    ],
)
def test_bad_input_is_refused_in_one_line(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "argv", ["kernels", "--output-folder", str(tmp_path), *arguments])
    with pytest.raises(SystemExit, match="2"):
        kernels.main()
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_extra_memory_is_the_peak_of_the_resident_set() -> None:
    entry_count = 20_000_000
    held = torch.ones(entry_count)

    def peak_of_two() -> Tensor:
        first = held + 1
        return first + 1

    found = memory._extra_bytes(peak_of_two)
    # Two vectors at once; the system counts pages, and in batches.
    assert found == pytest.approx(8 * entry_count, rel=0.05)


@pytest.mark.slow
def test_memory_is_measured_in_a_process_of_its_own_and_stays_below_five_percent() -> None:
    """The list's room is 4.5 % of the residual at most; pages that were touched before are not counted again."""
    dimension = 8_000_000
    rows = memory.memory_rows(dimension, CPU, thread_count=1)
    modes = [f"{rule}, {mode}" for rule in ("gaussian_k", "top_k") for mode in ("cold", "warm")]
    assert [(row["density"], row["contender"]) for row in rows] == [(x, mode) for x in (0.001, 0.01) for mode in modes]
    assert all(row["residual_share"] == row["extra_bytes"] / (4 * dimension) for row in rows)
    assert max(row["residual_share"] for row in rows) <= 0.05


@pytest.mark.parametrize("study", [kernels, checks])
def test_a_gpu_without_a_kernel_is_not_served_by_the_definition_in_its_place(
    study: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    half = native_build.Library(None, ("cpu",), "no CUDA: nvcc failed")
    monkeypatch.setattr(native_build, "library", lambda: half)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    folder = ["--output-folder", str(tmp_path)] if study is kernels else []
    monkeypatch.setattr(sys, "argv", ["study", "--device", "cuda", *folder])
    with pytest.raises(RuntimeError, match=r"no kernel for cuda: native \(CPU\); no CUDA: nvcc failed"):
        study.main()
    assert not list(tmp_path.iterdir())
