#!/bin/bash
# A program of MPICH or Open MPI on several nodes, as it is: one task and so one agent per node, and a rank per core.
# dlaunch serves the program's library itself, so srun's own support for MPI stays off. A script that starts Python with
# mpi4py needs --mpi=pmi1 or --mpi=pmix before its name.
#   sbatch --nodes=16 mpi.sh ./mpi_pi
#SBATCH --job-name=mpi
#SBATCH --output=%x-%j.out
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=4
#SBATCH --exclusive
#SBATCH --time=04:00:00
export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK # srun does not take it over by itself

srun --mpi=none dlaunch --nproc-per-node="$SLURM_CPUS_PER_TASK" "$@"
