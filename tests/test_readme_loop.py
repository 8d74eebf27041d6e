"""The training loops that the README prints run as printed."""

from __future__ import annotations

from pathlib import Path

import torch

from sparsync.kernels.native import SelectionState, feedback_select
from sparsync.kernels.payload import SparsePayload
from tests.workers import run_module

# Torchrun's workers do not buffer: a line and its end in one piece, or another worker's line comes between.
README = Path(__file__).resolve().parents[1] / "README.md"
LEARNS = """
torch.manual_seed(7)
images = torch.randn(2000, 784)
accuracy = (network(images).argmax(dim=1) == images[:, :10].argmax(dim=1)).float().mean()
digest = sum(layer.detach().double().sum() for layer in layers)
print(f"accuracy {accuracy:.3f} digest {digest.item().hex()}\\n", end="", flush=True)
"""

DIGEST = """
digest = sum(layer.detach().double().square().sum() for layer in layers)
print(f"{name} {{digest.item().hex()}}\\n", end="", flush=True)
"""
# The lines of the loop between `backward` and `step`.
LEFT_OUT = ("    gradient =", "    payload =", "    mean =", "    for layer", "        layer.grad")
LAST = "dist.destroy_process_group()"


def block(mark: str) -> str:
    """The one Python block of the README that holds a text."""
    blocks = README.read_text(encoding="utf-8").split("```python\n")[1:]
    (found,) = [text for text in (block.split("```")[0] for block in blocks) if mark in text]
    return found


def test_the_program_of_the_readme_trains_all_workers_alike(tmp_path: Path) -> None:
    program = tmp_path / "loop.py"
    program.write_text(block("init_process_group") + LEARNS, encoding="utf-8")
    finished = run_module("torch.distributed.run", "--standalone", "--nproc-per-node", "2", str(program))
    assert finished.returncode == 0, finished.stderr
    said = [line.split("accuracy ")[1] for line in finished.stdout.splitlines() if "accuracy " in line]
    assert len(said) == 2
    assert said[0] == said[1]
    # By chance one of ten classes is right.
    assert float(said[0].split()[0]) > 0.2


def test_the_hook_of_the_readme_trains_to_the_same_bits_as_its_loop(tmp_path: Path) -> None:
    before, loop = block("init_process_group").split("torch.manual_seed(1 + ")
    hooked = [line for line in loop.splitlines() if not line.startswith(LEFT_OUT)]
    program = tmp_path / "hook.py"
    loop_digest, hook_digest = DIGEST.format(name="loop"), DIGEST.format(name="hook")
    start = "start = [layer.detach().clone() for layer in layers]\n"
    again = "torch._foreach_copy_([layer.detach() for layer in layers], start)\n"
    loop = loop.replace("dist.destroy_process_group()", "")
    seed = "torch.manual_seed(1 + "
    text = before + start + seed + loop + loop_digest + again + block("register_comm_hook") + seed
    program.write_text(text + "\n".join(hooked).replace(LAST, hook_digest + LAST), encoding="utf-8")
    finished = run_module("torch.distributed.run", "--standalone", "--nproc-per-node", "2", str(program))
    assert finished.returncode == 0, finished.stderr
    said = [line.split() for line in finished.stdout.splitlines()]
    assert sorted(name for name, _ in said) == ["hook", "hook", "loop", "loop"]
    assert len({digest for _, digest in said}) == 1


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
