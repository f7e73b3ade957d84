#!/bin/bash
# Three nodes run, one more may join, and the fifth is a spare that replaces a lost one at once. --no-kill keeps the job
# when SLURM loses a node. The coordinator is found in a shared folder, so that the job survives the loss of any node.
#   sbatch elastic_with_spares.sh train.py
#SBATCH --job-name=elastic
#SBATCH --output=%x-%j.out
#SBATCH --nodes=5
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=8
#SBATCH --gpus-per-node=2
#SBATCH --no-kill
#SBATCH --time=24:00:00
export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK # srun does not take it over by itself
folder=$SLURM_SUBMIT_DIR/rendezvous-$SLURM_JOB_ID
mkdir -p "$folder"

srun --no-kill dlaunch --nnodes=3:4 --rdzv-endpoint="file://$folder" --nproc-per-node=gpu --max-restarts=10 "$@"
status=$?
rm -rf "$folder"
exit $status
