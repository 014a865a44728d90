#!/bin/bash
# sbatch configuration/launch/slurm.sh RECIPE [--setting value ...], from the folder of the repository.
# Two minutes before its time limit the job gets SIGTERM and saves. Queued again, it continues with the same command.
# Where a process dies, all are started again from the last checkpoint, up to three times.
#SBATCH --job-name=glossa
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=8
#SBATCH --time=24:00:00
#SBATCH --signal=TERM@120
#SBATCH --requeue
set -euo pipefail
first=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | sed -n 1p)
export first TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1  # see "When a process dies" in docs/scaling.md
# The single quotes are meant: each node fills in its own number.
srun bash -c 'exec accelerate launch --config_file configuration/accelerate/several_nodes.yaml \
    --num_machines "$SLURM_NNODES" --num_processes "$((SLURM_NNODES * SLURM_GPUS_ON_NODE))" \
    --machine_rank "$SLURM_NODEID" --main_process_ip "$first" --rdzv_backend c10d --max_restarts 3 \
    scripts/train.py "$@" --resume_from_checkpoint true' node "$@"
