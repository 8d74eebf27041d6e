"""The same in a loop of one's own, one selection from the whole gradient: `torchrun --nproc-per-node 4 own_loop.py`."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.utils import parameters_to_vector

from sparsync.experiments.training.collectives import GroupAverager
from sparsync.experiments.training.data import load_dataset
from sparsync.kernels.native import SelectionState, feedback_select

STEPS, BATCH_SIZE = 200, 32


def main() -> None:
    """Train on every rank; rank 0 prints the test accuracy."""
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    data = load_dataset("embedded")
    torch.manual_seed(0)  # all ranks start from the same parameters
    model = nn.Sequential(nn.Linear(784, 200), nn.ReLU(), nn.Linear(200, 10))
    layers = list(model.parameters())
    optimiser = torch.optim.SGD(layers, lr=0.1)
    residual = torch.zeros(sum(layer.numel() for layer in layers))  # save it with the parameters, on every rank
    state, averager = SelectionState(), GroupAverager("sparse")
    draws = torch.Generator().manual_seed(rank)  # and see data of their own
    for _ in range(STEPS):
        batch = torch.randint(len(data.train_labels), (BATCH_SIZE,), generator=draws)
        optimiser.zero_grad()
        loss = nn.functional.cross_entropy(model(data.train_images[batch]), data.train_labels[batch])
        loss.backward()
        gradient = parameters_to_vector([layer.grad for layer in layers if layer.grad is not None])
        payload = feedback_select(gradient, residual, k=len(gradient) // 100, rule="gaussian_k", state=state)
        mean = averager.average([payload]).mean
        for layer, part in zip(layers, mean.split([layer.numel() for layer in layers]), strict=True):
            layer.grad = part.view_as(layer)
        optimiser.step()
    if rank == 0:
        right = model(data.test_images).argmax(dim=1) == data.test_labels
        print(f"test accuracy {right.double().mean():.1%}")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
