#!/usr/bin/env bash
# Elastic training on the nodes of one Slurm job. A lost node's ranks leave; the others go on from the last checkpoint.
#
#   sbatch experiments/launch/slurm.sh fnn3_gaussian_k --steps 2000
#
# The first word names a run; the others are options of sparsync.experiments.train. On GPUs add --gpus-per-node before
# the file: a node has as many processes as GPUs, else PROCESSES_PER_NODE, else one. Result and checkpoints go to
# RUN_FOLDER (sparsync-JOB where sbatch was called, if not set), which all nodes must see. The same RUN_FOLDER in another
# job goes on where this one stopped. Lost with the first node is the meeting point: then Slurm queues the job again.
#SBATCH --job-name=sparsync
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=8
#SBATCH --time=04:00:00
#SBATCH --no-kill
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=%x-%j.out
set -euo pipefail

run=${1:?name a run, for example fnn3_gaussian_k}
folder=${RUN_FOLDER:-$SLURM_SUBMIT_DIR/sparsync-$SLURM_JOB_ID}
mkdir -p "$folder"
hosts=$(scontrol show hostnames "$SLURM_JOB_NODELIST")
# On the first node; jobs that share it meet at different ports.
meeting_point=${hosts%%$'\n'*}:$((20000 + SLURM_JOB_ID % 10000))
# PyTorch 2.13 would hand ranks that are started anew the addresses of the lost ones.
export TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1

# An agent that ends must not take the others along: that is what they are elastic for.
exec srun --no-kill --kill-on-bad-exit=0 --wait=0 --cpus-per-task="$SLURM_CPUS_PER_TASK" \
  torchrun --nnodes="1:$SLURM_JOB_NUM_NODES" --nproc-per-node="${SLURM_GPUS_ON_NODE:-${PROCESSES_PER_NODE:-1}}" \
  --max-restarts=10 --rdzv-backend=c10d --rdzv-id="$SLURM_JOB_ID" --rdzv-endpoint="$meeting_point" \
  -m sparsync.experiments.train --run-name="$run" --output="$folder/result.json" \
  --checkpoint="$folder/checkpoint" --every=50 --resume "${@:2}"
