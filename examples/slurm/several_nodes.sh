#!/bin/bash
# Several nodes: one task and so one agent per node, and a worker per GPU. Nodes, ranks, endpoint and job id come from
# SLURM. --exclusive keeps the cores of the nodes together.
#   sbatch --nodes=16 several_nodes.sh train.py --lr=0.1
#SBATCH --job-name=several-nodes
#SBATCH --output=%x-%j.out
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=8
#SBATCH --gpus-per-node=2
#SBATCH --exclusive
#SBATCH --time=04:00:00
export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK # srun does not take it over by itself

srun dlaunch --nproc-per-node=gpu --max-restarts=3 "$@"
