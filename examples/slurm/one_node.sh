#!/bin/bash
# One node: a worker per GPU that SLURM has given to the job.
#   sbatch one_node.sh train.py --lr=0.1
#SBATCH --job-name=one-node
#SBATCH --output=%x-%j.out
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=8
#SBATCH --gpus-per-node=2
#SBATCH --time=04:00:00
export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK # srun does not take it over by itself

srun dlaunch --nproc-per-node=gpu "$@"
