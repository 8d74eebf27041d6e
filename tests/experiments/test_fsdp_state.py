"""What sharded replicas remember survives a checkpoint in bits, and another mesh but for a rounding."""

from __future__ import annotations

import io
from functools import partial
from typing import Any, NamedTuple

import pytest
import torch
from torch import Tensor, nn
from torch.distributed.checkpoint.state_dict_saver import save as save_checkpoint
from torch.distributed.fsdp import fully_shard

from sparsync.experiments.fsdp import ShardedErrorFeedback
from sparsync.experiments.hooks.checkpoint import KEY, load, sharded
from tests.support.hooks.sharding import local_parameters, loss_now, mesh_of, shard_of, sharded_model
from tests.support.workers import run_workers

STEPS, SAVED_AT = 4, 2


def stepped(saved: bytes | None, *, until: int, options: dict[str, Any]) -> tuple[bytes, list[Tensor]]:
    """Train from what this rank saved, or from the start; what is saved then, and the parameters."""
    mesh = mesh_of()
    model = sharded_model(mesh["shard"])
    state = ShardedErrorFeedback(model, mesh, **options)
    first = 0
    if saved is not None:
        checkpoint = torch.load(io.BytesIO(saved), weights_only=True)
        for parameter, shard in zip(model.parameters(), checkpoint["shards"], strict=True):
            shard_of(parameter).copy_(shard)
        state.load_state_dict(checkpoint["state"])
        first = state.step
    optimiser = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(first, until):
        optimiser.zero_grad()
        loss_now(model, step).backward()
        optimiser.step()
    file = io.BytesIO()
    torch.save({"shards": local_parameters(model), "state": state.state_dict()}, file)
    return file.getvalue(), local_parameters(model)


def resumed_unlike_whole() -> list[str]:
    different = []
    variants = ("ef21_sgdm", "dgc", "rmsprop")
    tried: list[dict[str, Any]] = [{}, {"selector": "random_k"}, *({"feedback": name} for name in variants)]
    for options in ({"density": 0.1, **others} for others in tried):
        _, whole = stepped(None, until=STEPS, options=options)
        half, _ = stepped(None, until=SAVED_AT, options=options)
        _, resumed = stepped(half, until=STEPS, options=options)
        if not all(map(torch.equal, whole, resumed)):
            different.append(str(options))
    return different


Whole = dict[str, Tensor]


def whole_residuals(state: ShardedErrorFeedback) -> tuple[int, Whole]:
    """[replicas, *shape] of every parameter, in float64; the same on every rank."""
    residuals = sharded(state)["residuals"]
    return state.step, {name: residual.full_tensor().double() for name, residual in residuals.items()}


def through_a_folder(folder: str, **options: Any) -> list[tuple[int, Whole]]:
    """Step and residuals as they are saved, and as they are loaded on meshes of other shapes."""
    mesh = mesh_of()
    model = sharded_model(mesh["shard"])
    state = ShardedErrorFeedback(model, mesh, density=0.1, **options)
    for step in range(SAVED_AT):
        loss_now(model, step).backward()
    save_checkpoint({KEY: sharded(state)}, checkpoint_id=folder)
    found = [whole_residuals(state)]
    for replicas, shards in ((2, 2), (4, 1), (1, 4)):
        other_mesh = mesh_of(replicas, shards)
        other = ShardedErrorFeedback(sharded_model(other_mesh["shard"]), other_mesh, density=0.1, **options)
        load(other, folder)
        found.append(whole_residuals(other))
    return found


def refusals(folder: str) -> list[str]:
    """What loading says of wrong states, and whether anything changed."""
    mesh = mesh_of()
    state = ShardedErrorFeedback(sharded_model(mesh["shard"]), mesh)
    other = nn.Sequential(nn.Linear(12, 4))
    fully_shard(other, mesh=mesh["shard"])
    other_state = ShardedErrorFeedback(other, mesh)
    loss_now(other, 0).backward()
    save_checkpoint({KEY: sharded(other_state)}, checkpoint_id=folder)
    right = state.state_dict()
    said = []
    for wrong in ({"rank": 1 - right["rank"]}, {"shard_count": 4}, {"step": 3}, {"residuals": {"head": torch.ones(2)}}):
        try:
            state.load_state_dict({**right, **wrong})
        except ValueError as error:
            said.append(str(error))
    try:
        load(state, folder)
    except ValueError as error:
        said.append(str(error))
    state.load_state_dict({**right, "step": 3}, missing="zero")
    return [*said, str(state.step)]


class Found(NamedTuple):
    """What one rank found."""

    unlike_whole: list[str]
    loaded: list[tuple[int, Whole]]
    loaded_with_momentum: list[tuple[int, Whole]]
    refusals: list[str]


def everything(folder: str) -> Found:
    return Found(
        resumed_unlike_whole(),
        through_a_folder(f"{folder}/same"),
        through_a_folder(f"{folder}/momentum", feedback="dgc", feedback_settings={"masking": 0}),
        refusals(f"{folder}/other"),
    )


@pytest.fixture(scope="module")
def ranks(tmp_path_factory: pytest.TempPathFactory) -> list[Found]:
    return run_workers(partial(everything, str(tmp_path_factory.mktemp("checkpoints"))), 4)


def test_a_resumed_run_ends_with_the_bits_of_one_that_was_not_interrupted(ranks: list[Found]) -> None:
    assert [found.unlike_whole for found in ranks] == [[]] * 4


MATRICES = ("0.weight", "2.weight", "3.weight", "5.weight")


@pytest.mark.parametrize(
    ("field", "keys"),
    [
        ("loaded", {*MATRICES}),
        ("loaded_with_momentum", {f"{name}.{vector}" for name in MATRICES for vector in ("residual", "velocity")}),
    ],
)
def test_a_distributed_checkpoint_serves_any_mesh(field: str, keys: set[str], ranks: list[Found]) -> None:
    for found in ranks:
        (step, saved), *loaded = getattr(found, field)
        assert step == SAVED_AT
        assert set(saved) == keys
        assert all(residual.any() for residual in saved.values())
        for its_step, residuals in loaded:
            assert its_step == SAVED_AT
            assert set(residuals) == set(saved)
        _, same = loaded[0]
        for name, before in saved.items():
            assert torch.equal(before, same[name])
            for _, residuals in loaded:
                after = residuals[name]
                # Rounded once, to float32.
                assert (before.mean(0) - after.mean(0)).abs().max() <= before.abs().max() * 2.0**-24


def test_a_state_of_another_place_or_model_is_an_error(ranks: list[Found]) -> None:
    for rank, said in enumerate(found.refusals for found in ranks):
        replica, shard = divmod(rank, 2)
        now = f"this is replica {replica} of 2, shard {shard} of 2"
        assert f"these residuals are of replica {1 - replica} of 2, shard {shard} of 2, {now}" in said[0]
        assert f"of replica {replica} of 2, shard {shard} of 4, {now}" in said[1]
        assert said[2].startswith("no residual was saved for '0.weight'")
        assert said[3] == "no parameter with a residual is called 'head'; foreign='drop' leaves it out"
        assert said[4] == "the residual of '0.weight' was saved with shape (4, 12), the parameter has (7, 12)"
        assert said[5] == "3"
