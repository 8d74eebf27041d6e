"""Frameworks that take a communication hook take this one: Lightning before the model is wrapped, Accelerate after."""

from __future__ import annotations

import os
import warnings
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from sparsync.experiments.ddp import ErrorFeedbackState, error_feedback_hook
from tests.support.hooks.training import hooked, loss_of, seeded_model
from tests.support.workers import run_workers

STEPS = 4
OPTIONS: dict[str, Any] = {"density": 0.1}


def expected_parameters() -> list[Tensor]:
    """What DDP with the hook and plain gradient descent come to."""
    model = seeded_model()
    ddp = hooked(model, ErrorFeedbackState(model, **OPTIONS))
    for step in range(STEPS):
        ddp.zero_grad()
        loss_of(ddp, step).backward()
        torch.optim.SGD(model.parameters(), lr=0.1).step()
    return [parameter.detach() for parameter in model.parameters()]


def is_as_expected(model: torch.nn.Module, state: ErrorFeedbackState) -> bool:
    same = all(map(torch.equal, model.parameters(), expected_parameters()))
    pending = sum(int(e.count_nonzero()) for e in state.state_dict()["residuals"].values())
    return same and state.step == STEPS and pending > 0


def with_lightning() -> bool:
    import pytorch_lightning
    from pytorch_lightning.strategies import DDPStrategy, ddp

    class Strategy(DDPStrategy):
        # Lightning registers hooks on GPUs alone; the same call serves CPUs.
        def _register_ddp_hooks(self) -> None:
            register = vars(ddp)["_register_ddp_comm_hook"]
            register(self.model, self._ddp_comm_state, self._ddp_comm_hook, self._ddp_comm_wrapper)

    class Module(pytorch_lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.model = seeded_model()

        def training_step(self, step: Tensor) -> Tensor:
            return loss_of(self.model, int(step))

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return torch.optim.SGD(self.parameters(), lr=0.1)

        def train_dataloader(self) -> Any:
            return torch.utils.data.DataLoader(range(STEPS), batch_size=None)  # type: ignore[arg-type]

    size, rank = (str(number) for number in (dist.get_world_size(), dist.get_rank()))
    os.environ |= {"WORLD_SIZE": size, "RANK": rank, "LOCAL_RANK": rank, "TORCHELASTIC_RUN_ID": "test"}
    os.environ |= {"MASTER_ADDR": "localhost", "MASTER_PORT": "1", "GROUP_RANK": "0", "LOCAL_WORLD_SIZE": size}
    module = Module()
    state = ErrorFeedbackState(module, **OPTIONS)
    trainer = pytorch_lightning.Trainer(
        accelerator="cpu",
        devices=int(size),
        strategy=Strategy(process_group_backend="gloo", ddp_comm_state=state, ddp_comm_hook=error_feedback_hook),
        max_epochs=1,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        use_distributed_sampler=False,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trainer.fit(module)
    return is_as_expected(module.model, state)


def with_accelerate() -> bool:
    from accelerate import Accelerator  # type: ignore[import-untyped]  # it has no annotations

    size, rank = (str(number) for number in (dist.get_world_size(), dist.get_rank()))
    os.environ |= {"WORLD_SIZE": size, "RANK": rank, "LOCAL_RANK": rank, "ACCELERATE_USE_CPU": "true"}
    os.environ |= {"MASTER_ADDR": "localhost", "MASTER_PORT": "1"}
    accelerator = Accelerator(cpu=True)
    plain = seeded_model()
    model, optimiser = accelerator.prepare(plain, torch.optim.SGD(plain.parameters(), lr=0.1))
    state = ErrorFeedbackState(model, **OPTIONS)
    model.register_comm_hook(state, error_feedback_hook)
    for step in range(STEPS):
        optimiser.zero_grad()
        accelerator.backward(loss_of(model, step))
        optimiser.step()
    return is_as_expected(plain, state)


def test_lightning_trains_with_the_hook() -> None:
    assert run_workers(with_lightning, 2) == [True, True]


def test_accelerate_trains_with_the_hook() -> None:
    assert run_workers(with_accelerate, 2) == [True, True]
