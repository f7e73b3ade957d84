#!/bin/bash
# A heterogeneous job: one node with many cores, and two with GPUs. srun makes one step of both components, so this is
# one job of three nodes, of which each gets as many workers as tasks.
#   sbatch heterogeneous.sh train.py
#SBATCH --job-name=heterogeneous
#SBATCH --output=%x-%j.out
#SBATCH --nodes=1 --ntasks-per-node=1 --cpus-per-task=8
#SBATCH hetjob
#SBATCH --nodes=2 --ntasks-per-node=2 --cpus-per-task=4 --gpus-per-node=2
srun --het-group=0,1 dlaunch "$@"
