"""The programs that README and pages print run as printed."""

from __future__ import annotations

import io
import math
import re
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest
import torch

from sparsync.experiments.ddp import ErrorFeedbackState
from sparsync.experiments.planners.registry import PLANNERS
from sparsync.kernels.native import SelectionState, feedback_select
from sparsync.kernels.payload import SparsePayload
from sparsync.verify import check_certificates, tight_rate
from tests.support.pages import python_block
from tests.support.paths import ROOT
from tests.support.workers import run_program, run_workers

README = ROOT / "README.md"
TRAINING, LEDGER, PLANS, RATES = (
    ROOT / "paper" / "docs" / f"{page}.md" for page in ("training", "ledger", "planners", "tight_rates")
)
# A line and its end in one piece, or another worker's line comes between.
LEARNS = """
torch.manual_seed(7)
images = torch.randn(2000, 784)
accuracy = (network(images).argmax(dim=1) == images[:, :10].argmax(dim=1)).float().mean()
digest = sum(layer.detach().double().square().sum() for layer in layers)
print(f"accuracy {accuracy:.3f} digest {digest.item().hex()}\\n", end="", flush=True)
"""
# The lines of the loop between `backward` and `step`.
LEFT_OUT = ("    gradient =", "    payload =", "    mean =", "    for layer", "        layer.grad")
SEED, LAST = "torch.manual_seed(1 + ", "dist.barrier()"
GROUP = ('dist.init_process_group("gloo")', "dist.destroy_process_group()")


def with_last_words(text: str) -> str:
    """A program that ends as the page's says before what it learnt: accuracy and digest."""
    assert text.count(LAST) == 1
    return text.replace(LAST, LEARNS + LAST)


def last_words(output: str) -> list[str]:
    return [line.split("accuracy ")[1] for line in output.splitlines() if "accuracy " in line]


def hook_program() -> str:
    before, loop = python_block(TRAINING, "init_process_group").split(SEED)
    lines = [line for line in loop.splitlines() if not line.startswith(LEFT_OUT)]
    return before + python_block(TRAINING, "register_comm_hook") + SEED + "\n".join(lines)


SEVERAL_BUCKETS = {
    "torch.nn.Linear(784, 10)": "torch.nn.Sequential(torch.nn.Linear(784, 20), torch.nn.Linear(20, 10))",
    "DistributedDataParallel(network": "DistributedDataParallel(network"
    ", bucket_cap_mb=1e-5, gradient_as_bucket_view=True",
    LAST: f"assert state.step == 100, state.step\n{LAST}",
}


def train_with_hooks() -> list[str]:
    """As a worker of a group that is there already; what it says last with one bucket, and with several."""
    several = hook_program()
    for text, replacement in SEVERAL_BUCKETS.items():
        assert several.count(text) == 1
        several = several.replace(text, replacement)
    said = io.StringIO()
    for program in (hook_program(), several):
        lines = with_last_words(program).splitlines()
        assert {*GROUP} <= {*lines}
        with redirect_stdout(said):
            exec("\n".join(line for line in lines if line not in GROUP), {})
    return last_words(said.getvalue())


@pytest.mark.slow
def test_the_program_of_the_page_trains_all_workers_alike_and_so_does_its_hook_in_any_buckets(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(with_last_words(python_block(TRAINING, "init_process_group")), encoding="utf-8")
    finished = run_program(program, 2)
    assert finished.returncode == 0, finished.stderr
    one, other = last_words(finished.stdout)
    # By chance one of ten classes is right.
    assert float(one.split()[0]) > 0.2
    assert other == one
    hooked, other_hooked = run_workers(train_with_hooks, 2)
    assert hooked == other_hooked
    assert len(hooked) == 2
    assert all(float(said.split()[0]) > 0.2 for said in hooked)


@pytest.mark.parametrize(("feedback", "momenta"), [("dgc", [0.0, 0.9]), ("rmsprop", [0.0, 0.0])])
def test_a_variant_with_a_momentum_of_its_own_stands_before_an_optimiser_without(
    feedback: str, momenta: list[float]
) -> None:
    network = torch.nn.Sequential(torch.nn.Linear(30, 20), torch.nn.LayerNorm(20))
    names: dict[str, Any] = {"torch": torch, "network": network, "ErrorFeedbackState": ErrorFeedbackState}
    blocks = [python_block(TRAINING, text) for text in ("import decay_groups", f'feedback="{feedback}"')]
    exec("".join(blocks), names)
    optimiser, state = names["optimiser"], names["state"]
    assert isinstance(optimiser, torch.optim.SGD)
    assert isinstance(state, ErrorFeedbackState)
    assert [group["momentum"] for group in optimiser.param_groups] == momenta
    assert [len(group["params"]) for group in optimiser.param_groups] == [1, 3]


def test_the_loop_of_the_readme_approaches_the_truth(tmp_path: Path) -> None:
    """Two workers with twice the data each: in all as much as the four have that the page starts, in less time."""
    text, program = python_block(README, "init_process_group"), tmp_path / "loop.py"
    assert text.count("500") == 2
    program.write_text(text.replace("500", "1000"), encoding="utf-8")
    finished = run_program(program, 2)
    assert finished.returncode == 0, finished.stderr
    distance, at_the_start = re.findall(r"\d+\.\d\d", finished.stdout)
    assert at_the_start == f"{math.sqrt(1000):.2f}"
    assert float(distance) < 5


def test_the_statements_of_the_page_evaluate() -> None:
    said = io.StringIO()
    with redirect_stdout(said):
        exec(compile(python_block(LEDGER, "STATEMENTS"), "ledger.md", "exec"), {})
    bound, rate, unproved = said.getvalue().splitlines()
    assert float(bound) == 0.99**3
    assert 0 < float(rate) < 1
    assert unproved == "()"


def test_the_page_of_planners_has_a_section_for_each() -> None:
    sections = re.findall(r"^## (\w+)$", PLANS.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert sorted(sections) == sorted(PLANNERS)


@pytest.mark.parametrize("name", PLANNERS)
def test_the_program_of_a_planner_is_short_and_prints_what_the_page_says(name: str) -> None:
    (section,) = re.findall(
        rf"^## {name}\n.*?```python\n(.*?)```\n\nprints\n\n```text\n(.*?)```\n(.*?)(?=^## |\Z)",
        PLANS.read_text(encoding="utf-8"),
        flags=re.DOTALL | re.MULTILINE,
    )
    program, printed, words = section
    said = io.StringIO()
    with redirect_stdout(said):
        exec(compile(program, f"planners.md, {name}", "exec"), {})
    assert said.getvalue() == printed
    assert len([line for line in program.splitlines() if line]) <= 12
    assert f"sparsync.experiments.planners.{name} import" in program
    assert "Exact" in words
    assert "Source: " in words


def five_digits(text: str) -> str:
    """Every fraction and decimal with five digits: solvers differ in the last ones between machines."""
    fractions = re.sub(r"(\d+)/10\^(\d+)", lambda found: repr(int(found[1]) / 10 ** int(found[2])), text)
    return re.sub(r"\d+\.\d+", lambda found: f"{float(found[0]):.5f}", fractions)


def test_the_method_of_the_page_has_the_rates_that_the_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = RATES.read_text(encoding="utf-8")
    (tmp_path / "delayed.py").write_text(python_block(RATES, "class DelayedDescent"), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    asked = re.findall(
        r"```sh\npython -m sparsync.verify.tight_rate (.*?)\n```\n\nprints\n\n```text\n(.*?)```", text, re.DOTALL
    )
    assert len(asked) == 2
    for words, printed in asked:
        assert tight_rate.main(words.split()) == 0
        assert five_digits(capsys.readouterr().out) == five_digits(printed)
    assert check_certificates.main([str(tmp_path)]) == 0


class OneWorker:
    """Averages over this process alone."""

    def average(self, payloads: list[SparsePayload]) -> OneWorker:
        self.mean = payloads[0].dense()
        return self


def test_the_single_steps_of_the_page_are_one_call_of_the_kernel() -> None:
    code = compile(python_block(TRAINING, "feedback.store_residual"), "training.md", "exec")
    stream, dimension, state = torch.Generator().manual_seed(3), 5000, SelectionState()
    names = {"dimension": dimension, "k": 50, "step_size": 1.0, "averager": OneWorker()}
    gradient = torch.randn(dimension, generator=stream)
    parameters, residual = torch.zeros(dimension), torch.zeros(dimension)
    exec(code, names | {"gradient": gradient, "parameters": parameters})
    payload = feedback_select(gradient, residual, 50, rule="gaussian_k", state=state)
    assert 34 <= payload.count <= 66
    assert torch.equal(parameters, -payload.dense())
    assert torch.equal(residual - parameters, gradient)
