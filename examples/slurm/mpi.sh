#!/bin/bash
# An MPI program, linked with MPICH or Open MPI: dlaunch is its process manager, so --mpi=none keeps SLURM's own away.
#   sbatch mpi.sh ./simulation input.txt
#SBATCH --job-name=mpi
#SBATCH --output=%x-%j.out
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=4
#SBATCH --time=01:00:00
srun --mpi=none dlaunch "$@"
