"""On a GPU an outer step has the bits that it has on a CPU, over gloo and over NCCL."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import Tensor, nn

from sparsync.experiments.local import OuterStep

INNER, OUTER = 2, 3
CASES: tuple[dict[str, Any], ...] = (
    {"selector": "chunked_top_k", "values": "int2", "positions": "int12"},
    {"selector": "top_k", "values": "bf16"},
    {"selector": "random_k"},
    {"selector": "keep_all"},
)


@pytest.fixture
def gloo(tmp_path: Path) -> Iterator[dist.ProcessGroup]:
    """One rank: the default group is NCCL's, the other is gloo's."""
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    torch.cuda.set_device(0)
    limit = timedelta(seconds=20)
    dist.init_process_group("nccl", init_method=f"file://{tmp_path}/meeting", rank=0, world_size=1, timeout=limit)
    group = dist.new_group(backend="gloo", timeout=limit)
    assert isinstance(group, dist.ProcessGroup)
    yield group
    dist.destroy_process_group()


def trained(device: str, group: dist.ProcessGroup | None, options: dict[str, Any]) -> tuple[OuterStep, nn.Module]:
    """Changes are drawn, so that nothing but the outer step can differ."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(100, 60), nn.Linear(60, 50).bfloat16()).to(device)
    outer = OuterStep(model, inner_steps=INNER, process_group=group, **options)
    stream = torch.Generator().manual_seed(1)
    for _ in range(INNER * OUTER):
        for parameter in model.parameters():
            parameter.data += (0.1 * torch.randn(parameter.shape, generator=stream)).to(parameter)
        outer.step()
    return outer, model


def results(outer: OuterStep, model: nn.Module) -> list[Tensor]:
    anchor = outer.state_dict()["anchor"].values()
    return [part.cpu() for part in (*anchor, outer.pending, *(p.detach() for p in model.parameters()))]


def test_an_outer_step_on_cuda_has_the_bits_of_the_cpu(gloo: dist.ProcessGroup) -> None:
    for options in CASES:
        here = trained("cpu", gloo, options)
        for group in (gloo, None):
            outer, model = trained("cuda", group, options)
            assert outer.pending.device.type == "cuda"
            assert all(map(torch.equal, results(outer, model), results(*here))), (options, group)
            assert outer.sent_bytes == here[0].sent_bytes


def test_a_saved_outer_step_goes_back_to_cuda_and_a_model_that_left_it_is_refused(gloo: dist.ProcessGroup) -> None:
    outer, model = trained("cuda", None, CASES[0])
    saved = {name: part for name, part in outer.state_dict().items() if name != "residuals"}
    residuals = {name: part.cpu() for name, part in outer.state_dict()["residuals"].items()}
    before = outer.pending
    outer.load_state_dict({**saved, "residuals": residuals})
    assert outer.pending.device == before.device
    assert torch.equal(outer.pending, before)
    model.cpu()
    outer.step_count += INNER - 1
    with pytest.raises(ValueError, match="must be on one device, got cpu, cuda:0"):
        outer.step()
