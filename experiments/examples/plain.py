"""A network on Fashion-MNIST with DistributedDataParallel: `torchrun --nproc-per-node 4 plain.py`."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from sparsync.experiments.training.data import load_dataset

STEPS, BATCH_SIZE = 200, 32


def main() -> None:
    """Train on every rank; rank 0 prints the test accuracy."""
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    data = load_dataset("embedded")
    torch.manual_seed(0)  # all ranks start from the same parameters
    model = nn.Sequential(nn.Linear(784, 200), nn.ReLU(), nn.Linear(200, 10))
    network = DistributedDataParallel(model)
    optimiser = torch.optim.SGD(network.parameters(), lr=0.1)
    draws = torch.Generator().manual_seed(rank)  # and see data of their own
    for _ in range(STEPS):
        batch = torch.randint(len(data.train_labels), (BATCH_SIZE,), generator=draws)
        optimiser.zero_grad()
        loss = nn.functional.cross_entropy(network(data.train_images[batch]), data.train_labels[batch])
        loss.backward()
        optimiser.step()
    if rank == 0:
        right = model(data.test_images).argmax(dim=1) == data.test_labels
        print(f"test accuracy {right.double().mean():.1%}")
    del network  # before its group: else either may wait for the other for ever
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
