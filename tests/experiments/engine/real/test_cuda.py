"""Gradients on GPUs and broadcasts between them: what is chosen for them, and, where there are some, that it works."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, ClassVar

import pytest
import torch
import torch.distributed as dist
from torch.distributed.distributed_c10d import Store

from sparsync.experiments.engine.real.broadcasts import Collective
from sparsync.experiments.engine.real.roads import Announcements
from sparsync.experiments.engine.real.wire import SILENCE
from tests.support.launch.broadcasting import ends, require_bodies

COLLECTIVES: list[Collective] = ["broadcast", "scatter_allgather"]


class Nccl:
    """In place of NCCL's group: keeps what it was made of."""

    made: ClassVar[list[Any]] = []

    class Options:
        _timeout = timedelta(0)

    def __init__(self, store: Store, rank: int, size: int, options: Options) -> None:
        del store
        self.made.append((rank, size, options._timeout))


def test_models_are_broadcast_by_nccl_between_gpus_and_everything_else_is_gloo_s(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(dist, "ProcessGroupNCCL", Nccl, raising=False)
    announcements = Announcements(dist.HashStore())  # type: ignore[attr-defined]
    options: dict[str, Any] = {"worker_count": 3, "timeout_seconds": 0.1}
    announcements.broadcasts("broadcast", rank=2, **options, device=torch.device("cuda", 2))
    assert Nccl.made == [(2, 4, SILENCE)]
    made = [announcements.circle((1,), (0,), 1, 60.0), ends("broadcast", [torch.device("cpu")])[0]._group]
    assert [isinstance(group, dist.ProcessGroupGloo) for group in made] == [True, True]
    assert len(Nccl.made) == 1


@pytest.mark.parametrize("collective", COLLECTIVES)
def test_bodies_in_the_host_s_memory_are_broadcast_between_all_gpus_on_cuda(collective: Collective) -> None:
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    require_bodies(ends(collective, [torch.device("cuda", place) for place in range(torch.cuda.device_count())]))


def test_gradients_computed_on_cuda_are_those_of_a_processor_and_lie_in_the_host_s_memory() -> None:
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    pytest.importorskip("pooch")
    from sparsync.experiments.racing.contest import Race

    race = Race(workers=2, model="fnn2")
    data = race.load_data()
    here, there = race.make_problem(data), race.make_problem(data, "cuda:0")
    loss, gradient = here.loss_and_gradient(1, 3, here.initial, 1.0)
    other_loss, other = there.loss_and_gradient(1, 3, there.initial, 1.0)
    assert torch.equal(here.initial, there.initial)
    assert other.device.type == "cpu"
    # Sums of at most 784 products in float32, in another order.
    assert other_loss == pytest.approx(loss, rel=784 * 2.0**-23)
    assert torch.allclose(other, gradient, rtol=0, atol=784 * 2.0**-23 * float(gradient.abs().max()))
    assert there.quality(here.initial) == pytest.approx(here.quality(here.initial), abs=0.01)


def test_each_rank_has_the_gpu_of_its_number_or_is_told_that_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pooch")
    from sparsync.experiments.racing.real import own_device

    used: list[int] = []
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "set_device", used.append)
    monkeypatch.setenv("LOCAL_RANK", "1")
    assert (own_device("cpu"), used) == (torch.device("cpu"), [])
    assert (own_device("cuda"), used) == (torch.device("cuda", 1), [1])
    monkeypatch.setenv("LOCAL_RANK", "2")
    with pytest.raises(ValueError, match="local rank 2 has no GPU, 2 present; --device cpu computes on processors"):
        own_device("cuda")
    assert used == [1]
