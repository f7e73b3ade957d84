#!/bin/bash
# As users of srun and mpiexec count: SLURM distributes eight tasks, and dlaunch starts a worker for each.
#   sbatch tasks.sh ./prog input.txt
#SBATCH --job-name=tasks
#SBATCH --output=%x-%j.out
#SBATCH --ntasks=8
#SBATCH --time=01:00:00
srun dlaunch "$@"
