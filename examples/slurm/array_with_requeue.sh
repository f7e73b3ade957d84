#!/bin/bash
# An array of jobs, each longer than the time limit of the partition. At the limit, and at a preemption, SLURM sends
# SIGTERM: the workers save their state within the grace, and --requeue has SLURM run this element of the array again.
# dlaunch takes the place of the shell, which a SIGTERM for the script alone would end: scancel --batch --signal=TERM.
# SLURM_RESTART_COUNT, unset in the first run, counts the runs. After a failure the element ends.
#   sbatch array_with_requeue.sh train.py --save=state
#SBATCH --job-name=array
#SBATCH --output=%x-%A_%a.out
#SBATCH --open-mode=append
#SBATCH --array=0-3
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=8
#SBATCH --requeue
#SBATCH --time=02:00:00
export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK # srun does not take it over by itself

exec dlaunch --launcher=srun --requeue --grace=25 --nproc-per-node=2 "$@" --seed="$SLURM_ARRAY_TASK_ID"
