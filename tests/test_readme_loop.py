"""The training loops that the README prints run as printed."""

from __future__ import annotations

from pathlib import Path

import torch

from sparsync.kernels.native import SelectionState, feedback_select
from sparsync.kernels.payload import SparsePayload
from tests.workers import torchrun

README = Path(__file__).resolve().parents[1] / "README.md"
# Torchrun's workers do not buffer: a line and its end in one piece, or another worker's line comes between.
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


def block(mark: str) -> str:
    """The one Python block of the README that holds a text."""
    blocks = README.read_text(encoding="utf-8").split("```python\n")[1:]
    (found,) = [text for text in (block.split("```")[0] for block in blocks) if mark in text]
    return found


def run_program(text: str, folder: Path) -> list[str]:
    """Two workers run a program that ends as the README's; what they say last: accuracy and digest."""
    assert text.count(LAST) == 1
    program = folder / "program.py"
    program.write_text(text.replace(LAST, LEARNS + LAST), encoding="utf-8")
    finished = torchrun("--nproc-per-node", "2", str(program))
    assert finished.returncode == 0, finished.stderr
    said = [line.split("accuracy ")[1] for line in finished.stdout.splitlines() if "accuracy " in line]
    assert len(said) == 2
    return said


def hook_program() -> str:
    before, loop = block("init_process_group").split(SEED)
    lines = [line for line in loop.splitlines() if not line.startswith(LEFT_OUT)]
    return before + block("register_comm_hook") + SEED + "\n".join(lines)


def test_the_program_of_the_readme_trains_all_workers_alike_and_so_does_its_hook(tmp_path: Path) -> None:
    said = run_program(block("init_process_group"), tmp_path)
    # By chance one of ten classes is right.
    assert float(said[0].split()[0]) > 0.2
    assert {*said, *run_program(hook_program(), tmp_path)} == {said[0]}


SEVERAL_BUCKETS = {
    "torch.nn.Linear(784, 10)": "torch.nn.Sequential(torch.nn.Linear(784, 20), torch.nn.Linear(20, 10))",
    "DistributedDataParallel(network": "DistributedDataParallel(network"
    ", bucket_cap_mb=1e-5, gradient_as_bucket_view=True",
    LAST: f"assert len(states) == 4, states\n{LAST}",
}


def test_the_hook_trains_all_workers_alike_in_several_buckets(tmp_path: Path) -> None:
    program = hook_program()
    for text, replacement in SEVERAL_BUCKETS.items():
        assert program.count(text) == 1
        program = program.replace(text, replacement)
    said = run_program(program, tmp_path)
    assert float(said[0].split()[0]) > 0.2
    assert said[0] == said[1]


class OneWorker:
    """Averages over this process alone."""

    def average(self, payloads: list[SparsePayload]) -> OneWorker:
        self.mean = payloads[0].dense()
        return self


def test_the_single_steps_of_the_readme_are_one_call_of_the_kernel() -> None:
    code = compile(block("feedback.store_residual"), "README.md", "exec")
    stream, dimension, state = torch.Generator().manual_seed(3), 5000, SelectionState()
    names = {"dimension": dimension, "k": 50, "step_size": 1.0, "averager": OneWorker()}
    gradient = torch.randn(dimension, generator=stream)
    parameters, residual = torch.zeros(dimension), torch.zeros(dimension)
    exec(code, names | {"gradient": gradient, "parameters": parameters})
    payload = feedback_select(gradient, residual, 50, rule="gaussian_k", state=state)
    assert 34 <= payload.count <= 66
    assert torch.equal(parameters, -payload.dense())
    assert torch.equal(residual - parameters, gradient)
