"""The same with sharded replicas in a loop of one's own: `torchrun --nproc-per-node 4 hsdp_own_loop.py`."""

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor

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
    mesh = init_device_mesh("cpu", (2, dist.get_world_size() // 2), mesh_dim_names=("replicate", "shard"))
    fully_shard(model, mesh=mesh["shard"])
    layers = list(model.parameters())
    optimiser = torch.optim.SGD(layers, lr=0.1)
    averager, state = GroupAverager("sparse", group=mesh["replicate"].get_group()), SelectionState()
    residual = torch.zeros(0)  # of this rank's shards; save it with the parameters, on every rank
    draws = torch.Generator().manual_seed(rank)  # and see data of their own
    for _ in range(STEPS):
        batch = torch.randint(len(data.train_labels), (BATCH_SIZE,), generator=draws)
        optimiser.zero_grad()
        loss = nn.functional.cross_entropy(model(data.train_images[batch]), data.train_labels[batch])
        loss.backward()
        shards = [layer.grad.to_local() for layer in layers if isinstance(layer.grad, DTensor)]
        gradient = torch.cat([shard.flatten() for shard in shards])
        residual = residual if len(residual) else torch.zeros_like(gradient)
        payload = feedback_select(gradient, residual, k=len(gradient) // 100, rule="gaussian_k", state=state)
        mean = averager.average([payload]).mean
        for shard, part in zip(shards, mean.split([shard.numel() for shard in shards]), strict=True):
            shard.copy_(part.view_as(shard))
        optimiser.step()
    right = model(data.test_images).argmax(dim=1) == data.test_labels  # every rank has a part of the parameters
    if rank == 0:
        print(f"test accuracy {right.double().mean():.1%}")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
