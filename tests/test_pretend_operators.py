"""torch's operators on the pretend GPU go in order, on one device, with numbers of their own."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

if not torch.cuda.is_available() or torch.cuda.get_device_name() != "pretend GPU":
    pytest.skip("no pretend GPU", allow_module_level=True)

SLEEP_CYCLES = 300_000_000  # 0.3 s


MAKING: dict[str, Callable[[str], Tensor]] = {
    "zeros": lambda device: torch.zeros(1000, device=device),
    "ones": lambda device: torch.ones(10, 10, device=device),
    "full": lambda device: torch.full((5,), 3.0, device=device),
    "full_like": lambda device: torch.full_like(torch.empty(3, 4, device=device).t(), 2.0),
    "nothing": lambda device: torch.zeros(0, device=device),
}


@pytest.mark.parametrize("name", MAKING)
def test_new_cuda_memory_is_filled_without_a_wait(name: str) -> None:
    expected = MAKING[name]("cpu")
    assert torch.equal(MAKING[name]("cuda").cpu(), expected)  # from here on, there is memory
    torch.cuda._sleep(SLEEP_CYCLES)
    asleep = torch.cuda.Event()
    asleep.record()
    made = MAKING[name]("cuda")
    assert not asleep.query()
    assert torch.equal(made.cpu(), expected)


def test_a_cuda_operator_waits_for_its_stream_and_for_no_other() -> None:
    other = torch.cuda.Stream()
    asleep = torch.cuda.Event()
    with torch.cuda.stream(other):
        torch.cuda._sleep(SLEEP_CYCLES)
        asleep.record()
    one = torch.ones(10, device="cuda").add_(1.0)
    assert not asleep.query()
    with torch.cuda.stream(other):
        one.add_(1.0)
        assert asleep.query()
    assert one.tolist() == [3.0] * 10


def test_cuda_tensors_meet_no_others() -> None:
    there, here, places = torch.ones(4, device="cuda"), torch.ones(4), torch.tensor([1, 2])
    single = torch.tensor(2.0, device="cuda")
    refusals: list[Callable[[], Tensor]] = [
        lambda: there + here,
        lambda: here * single,
        lambda: here[places.cuda()],
        lambda: there.index_put_((places,), here[:2]),
        lambda: here.index_put_((places,), there[:2]),
    ]
    for refused in refusals:
        with pytest.raises(RuntimeError, match="tensors on c"):
            refused()
    assert (there + torch.tensor(2.0)).tolist() == [3.0] * 4
    assert there[places].tolist() == [1.0, 1.0]
    assert there.index_put_((places,), torch.tensor(5.0)).tolist() == [1.0, 5.0, 5.0, 1.0]


def test_a_cuda_generator_draws_its_own_numbers_again_after_the_same_seed() -> None:
    generator, drawn = torch.Generator("cuda"), []
    for _ in range(2):
        generator.manual_seed(7)
        drawn += [torch.randn(5, generator=generator, device="cuda").tolist() for _ in range(2)]
    assert drawn[:2] == drawn[2:]
    assert drawn[0] != drawn[1]
    assert drawn[0] != torch.randn(5, generator=torch.Generator().manual_seed(7)).tolist()


def test_a_captured_cuda_operator_is_done_when_its_graph_is_launched() -> None:
    one, graph = torch.zeros(4, device="cuda"), torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        zeros = torch.zeros(4, device="cuda")
        zeros.add_(1.0)
        one.add_(2.0)
        with pytest.raises(NotImplementedError, match="captured"):
            _ = one * 2.0
    assert one.tolist() == [0.0] * 4
    for _ in range(3):
        graph.replay()
    assert one.tolist() == [6.0] * 4
    assert zeros.tolist() == [1.0] * 4
