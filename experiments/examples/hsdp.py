"""The same with replicas that are sharded (HSDP), sparse between replicas: `torchrun --nproc-per-node 4 hsdp.py`."""

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from sparsync.experiments.fsdp import ShardedErrorFeedback
from sparsync.experiments.training.data import load_dataset

STEPS, BATCH_SIZE = 200, 32


def main() -> None:
    """Train on every rank; rank 0 prints the test accuracy."""
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    data = load_dataset("embedded")
    torch.manual_seed(0)  # all ranks start from the same parameters
    model = nn.Sequential(nn.Linear(784, 200), nn.ReLU(), nn.Linear(200, 10))
    mesh = init_device_mesh("cpu", (2, dist.get_world_size() // 2), mesh_dim_names=("replicate", "shard"))
    fully_shard(model, mesh=mesh["shard"])
    state = ShardedErrorFeedback(model, mesh, selector="top_k", density=0.01)
    optimiser = torch.optim.SGD(model.parameters(), lr=0.1)
    draws = torch.Generator().manual_seed(rank)  # and see data of their own
    for _ in range(STEPS):
        batch = torch.randint(len(data.train_labels), (BATCH_SIZE,), generator=draws)
        optimiser.zero_grad()
        loss = nn.functional.cross_entropy(model(data.train_images[batch]), data.train_labels[batch])
        loss.backward()
        optimiser.step()
    right = model(data.test_images).argmax(dim=1) == data.test_labels  # every rank has a part of the parameters
    if rank == 0:
        print(f"test accuracy {right.double().mean():.1%}, {state.sent_bytes / 1e6:.2f} MB sent by each rank")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
