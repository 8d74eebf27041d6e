"""What cannot work says so before anything is sent; where one rank cannot go on, all with its shard end alike."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

from sparsync.experiments import fsdp as module
from sparsync.experiments.ddp import ErrorFeedbackState
from sparsync.experiments.fsdp import ShardedErrorFeedback
from sparsync.experiments.hooks.sharding import ShardGroup, shard_groups
from sparsync.experiments.hooks.side import Side
from tests.support.hooks.sharding import loss_now, mesh_of, uneven_model
from tests.support.workers import run_workers


def whole_model(**options: Any) -> nn.Module:
    """In one group."""
    model = uneven_model()
    fully_shard(model, **options)
    return model


def refusals() -> dict[str, str]:
    """By what is wrong, what the state says."""
    mesh = mesh_of()
    line = init_device_mesh("cpu", (4,))
    taken = whole_model(mesh=mesh["shard"])
    ShardedErrorFeedback(taken, mesh)
    with torch.device("meta"):
        without_values = nn.Sequential(nn.Linear(4, 4))
    fully_shard(without_values, mesh=mesh["shard"])
    half = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
    fully_shard(half[0], mesh=mesh["shard"])
    sharded = partial(whole_model, mesh=mesh["shard"])
    tried: dict[str, Callable[[], object]] = {
        "one dimension": lambda: ShardedErrorFeedback(whole_model(mesh=line), line),
        "all ranks": lambda: ShardedErrorFeedback(whole_model(mesh=line), mesh),
        "replicated": lambda: ShardedErrorFeedback(whole_model(mesh=mesh), mesh),
        "other dimension": lambda: ShardedErrorFeedback(whole_model(mesh=mesh["replicate"]), mesh),
        "whole": lambda: ShardedErrorFeedback(uneven_model(), mesh),
        "half": lambda: ShardedErrorFeedback(half, mesh),
        "frozen": lambda: ShardedErrorFeedback(nn.Linear(2, 2).requires_grad_(requires_grad=False), mesh),
        "meta": lambda: ShardedErrorFeedback(without_values, mesh),
        "taken": lambda: ShardedErrorFeedback(taken, mesh),
        "selector": lambda: ShardedErrorFeedback(sharded(), mesh, selector="best"),
        "density": lambda: ShardedErrorFeedback(sharded(), mesh, density=0.0),
        "granularity": lambda: ShardedErrorFeedback(sharded(), mesh, granularity="model"),  # type: ignore[arg-type]
        "dense_steps": lambda: ShardedErrorFeedback(sharded(), mesh, dense_steps=-1),
        "rules": lambda: ShardedErrorFeedback(sharded(), mesh, rules={"embed": "dense"}),
        "updates of sums": lambda: one_step(mesh, forced=True),
        "updates in float16": lambda: one_step(mesh, mp_policy=MixedPrecisionPolicy(reduce_dtype=torch.float16)),
        "updates in bfloat16": lambda: one_step(mesh, mp_policy=MixedPrecisionPolicy(reduce_dtype=torch.bfloat16)),
        "hook of DDP": lambda: ErrorFeedbackState(sharded()),
        "name": lambda: ShardedErrorFeedback(sharded(), mesh).pending("embed"),
        "held back": lambda: held_back(ShardedErrorFeedback, sharded(), mesh),
        "left out": lambda: left_out(mesh),
        "offloaded": lambda: shard_groups(sharded(), mesh)[0][0].parts(torch.empty(84, device="meta")),
        "too wide": lambda: shard_groups(sharded(), mesh)[0][0].parts(torch.empty(84, dtype=torch.float64)),
    }
    return {name: said_by(make) for name, make in tried.items()}


def said_by(make: Callable[[], object]) -> str:
    try:
        make()
    except ValueError as error:
        return str(error)
    return "nothing"


def held_back(kind: type[ShardedErrorFeedback], model: nn.Module, mesh: Any) -> None:
    state = kind(model, mesh)
    model.set_requires_all_reduce(False)  # type: ignore[operator]
    loss_now(model, 0).backward()
    state.state_dict()


def one_step(mesh: Any, *, forced: bool = False, **options: Any) -> None:
    """With a variant that makes updates."""
    model = whole_model(mesh=mesh["shard"], **options)
    ShardedErrorFeedback(model, mesh, feedback="rmsprop")
    model.set_force_sum_reduction_for_comms(forced)  # type: ignore[operator]
    loss_now(model, 0).backward()


def left_out(mesh: Any) -> None:
    """One layer of the group takes no part in the step."""
    model = nn.Sequential(nn.Linear(12, 4), nn.Linear(12, 4))
    fully_shard(model, mesh=mesh["shard"])
    ShardedErrorFeedback(model, mesh)
    model.register_forward_pre_hook(lambda _, inputs: inputs)
    loss_now(FirstOnly(model), 0).backward()


class FirstOnly(nn.Module):
    """Calls a sharded module, which gathers its parameters, and uses its first layer only."""

    def __init__(self, model: nn.Sequential) -> None:
        super().__init__()
        self.model = model
        model.forward = lambda features: model[0](features)  # type: ignore[method-assign]

    def forward(self, features: Tensor) -> Tensor:
        out: Tensor = self.model(features)
        return out


class Spoilt(ShardedErrorFeedback):
    """In step 2 one entry of the first shard of the second replica is not finite."""

    def _communicate(self, group: ShardGroup, reduced: Tensor) -> None:
        if self.step == 2 and dist.get_rank() == 2:
            group.parts(reduced)["2.weight"][3] = torch.nan
        super()._communicate(group, reduced)


class Astray(ShardedErrorFeedback):
    """The last rank believes to be in another step than its peer."""

    def _communicate(self, group: ShardGroup, reduced: Tensor) -> None:
        if self.step == 1 and dist.get_rank() == 3:
            self.step = 7
        super()._communicate(group, reduced)


def fickle() -> Callable[[int], float]:
    """A density that is another once it was asked for the same step before."""
    asked = set[int]()

    def density(step: int) -> float:
        is_known = step in asked
        asked.add(step)
        return 0.02 if is_known else 0.01

    return density


def error_of_backward(
    state_kind: type[ShardedErrorFeedback], options: dict[str, Any], *, steps: int, seed: int = 0
) -> str:
    """What backward raised; no step follows, for ranks with the other shard would wait there for those that raised."""
    mesh = mesh_of()
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(12, 7), nn.Tanh(), nn.Linear(7, 4))
    fully_shard(model, mesh=mesh["shard"])
    state = state_kind(model, mesh, **options)
    for step in range(steps):
        loss = loss_now(model, step)
        try:
            loss.backward()
        except (RuntimeError, ValueError, FloatingPointError) as error:
            return f"{type(error).__name__} in step {step}: {error}; saved: {said_by(state.state_dict)}"
    return "nothing"


def endings() -> dict[str, str]:
    """By what went wrong, how this rank ended."""
    rank = dist.get_rank()
    ends = {
        f"not finite, {name}": error_of_backward(Spoilt, options, steps=3)
        for name, options in (("tensor", {}), ("group", {"granularity": "group"}), ("dense", {"selector": "keep_all"}))
    }
    with pytest.MonkeyPatch.context() as patch:
        # As on a GPU, where the host looks a step later.
        patch.setattr(module, "side_for", Side)
        ends["not finite, later"] = error_of_backward(Spoilt, {}, steps=4)
    ends["astray"] = error_of_backward(Astray, {}, steps=2)
    odd = {"density": 0.02} if rank == 3 else {}
    ends["unlike density"] = error_of_backward(ShardedErrorFeedback, odd, steps=1)
    ends["fickle density"] = error_of_backward(ShardedErrorFeedback, {"density": fickle()}, steps=2)
    ends["unlike values"] = error_of_backward(ShardedErrorFeedback, {}, steps=1, seed=int(rank == 3))
    return ends


def everything() -> dict[str, str]:
    return {**refusals(), **endings()}


@pytest.fixture(scope="module")
def said() -> list[dict[str, str]]:
    return run_workers(everything, 4)


@pytest.mark.parametrize(
    ("what", "reason"),
    [
        ("one dimension", "mesh must have two dimensions, (replicate, shard), got 1: gradients are reduce-scattered"),
        ("all ranks", "'0.weight' is sharded over ranks [0, 1, 2, 3], the mesh's second dimension has ranks "),
        (
            "replicated",
            "'0.weight' lies on a mesh of shape (2, 2), and one dimension can be served",
        ),
        ("other dimension", "there is nothing to send sparsely"),
        ("whole", "parameter '0.weight' is not sharded: fully_shard(model, mesh=mesh['shard']) comes first"),
        ("half", "parameter '1.weight' is not sharded"),
        ("frozen", "no parameter of Linear needs a gradient"),
        ("meta", "parameter '0.weight' is on the meta device"),
        ("taken", "the root module has a hook already"),
        ("selector", "unknown selector 'best'"),
        ("density", "expected a density in (0, 1], got 0.0"),
        ("granularity", "granularity must be one of tensor, group, got 'model'"),
        ("dense_steps", "dense_steps must be at least 0, got -1"),
        ("rules", "rule 'embed' decides for no parameter"),
        ("updates of sums", "divides sums of gradients after the exchange, and so would the updates of RmsProp("),
        ("updates in float16", "reduce in float32 or bfloat16 instead of torch.float16"),
        ("updates in bfloat16", "nothing"),
        ("hook of DDP", "parameter '0.weight' is sharded; sparsync.experiments.fsdp serves FSDP2"),
        ("name", "no parameter that needs a gradient is called 'embed'"),
        ("held back", "set_requires_all_reduce(False) holds gradients of modules [''] back"),
        ("left out", "the root module: gradients of 26 entries were reduce-scattered, its parameters have 52"),
        ("offloaded", "'0.weight' is on cpu, its gradient on meta: no offloading"),
        ("too wide", "gradients of '0.weight', which is torch.float32, are reduced in torch.float64"),
    ],
)
def test_what_cannot_work_says_why_on_every_rank(said: list[dict[str, str]], what: str, reason: str) -> None:
    for words in said:
        assert reason in words[what]


def test_ranks_with_the_same_shard_end_alike_and_say_what_it_was(said: list[dict[str, str]]) -> None:
    first, second, third, fourth = said
    for kind, step in (("tensor", 2), ("group", 2), ("dense", 2), ("later", 3)):
        ends = [rank[f"not finite, {kind}"] for rank in (first, second, third, fourth)]
        assert ends[0] == ends[2]
        assert ends[1] == ends[3] == "nothing"
        assert ends[0].startswith(
            f"FloatingPointError in step {step}: step 2: the gradient of '2.weight' is not finite"
        )
        ending, _, saved = ends[0].partition("; saved: ")
        assert ending.endswith("in replica 1")
        # Where the host looks later, memories are what they were before the step.
        assert saved.startswith(
            "nothing" if kind == "later" else "what was sent in a step that failed is in no residual"
        )
    for kind, named in (
        ("unlike density", "the densities of ranks [1]"),
        ("unlike values", "the values of the parameters of ranks [1]"),
    ):
        ends = [rank[kind] for rank in (first, second, third, fourth)]
        assert ends[0] == ends[2] == "nothing"
        assert ends[1] == ends[3]
        assert ends[1].startswith("ValueError in step 0: step 0, before the gradients of the root module are sent: ")
        assert named in ends[1]
    words = "density of step 1: it is 0.02, and was 0.01 as ranks compared it; a density must depend on the step alone"
    assert all(rank["fickle density"].startswith(f"ValueError in step 1: {words}") for rank in said)
    assert first["astray"] == third["astray"] == "nothing"
    assert "step 1: rank 1 is at step 7" in second["astray"]
    assert "step 7: rank 0 is at step 1" in fourth["astray"]
