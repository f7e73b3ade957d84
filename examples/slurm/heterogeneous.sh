#!/bin/bash
# A heterogeneous job: one node with much memory and two with GPUs. Each component is a step of its own, so both jobs
# get the coordinator's endpoint and the number of nodes.
#   sbatch heterogeneous.sh train.py
#SBATCH --job-name=heterogeneous
#SBATCH --output=%x-%j.out
#SBATCH --nodes=1 --ntasks-per-node=1 --cpus-per-task=2
#SBATCH hetjob
#SBATCH --nodes=2 --ntasks-per-node=1 --cpus-per-task=4 --gpus-per-node=2
srun --het-group=0,1 dlaunch "$@"
