#!/bin/bash
# sbatch configuration/launch/ray.sh COMMAND, such as
#     sbatch configuration/launch/ray.sh glossa prepare RECIPE --output /shared/prepared --ray auto
# Starts Ray on all nodes of the job, runs the command on the first one, and stops Ray. All nodes must see the files.
# Queued again after its time limit, the job continues with the same command.
#SBATCH --job-name=glossa-ray
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --exclusive
#SBATCH --time=24:00:00
#SBATCH --requeue
set -euo pipefail
head=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | sed -n 1p)
address=$(srun --nodes=1 --ntasks=1 --nodelist="$head" hostname --ip-address | cut -d " " -f 1)
exec srun ray symmetric-run --address "$address:6379" --min-nodes "$SLURM_NNODES" -- "$@"
