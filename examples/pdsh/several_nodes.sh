#!/bin/bash
# Starts the same command on every host with pdsh. The first host has the coordinator. The id keeps two jobs on the same
# hosts apart. pdsh -S ends with the highest status of all hosts; Ctrl-C twice ends pdsh, and then the jobs by hand.
#   HOSTS='node[01-16]' several_nodes.sh 16 train.py --lr=0.1
set -eu
: "${HOSTS:?expected a list of hosts such as node[01-16]}"
count=${1:?expected the number of hosts}
shift
hosts=$(dlaunch hosts "$HOSTS")
first=${hosts%%$'\n'*}
id=$(date +%s)-$$

printf -v program '%q ' "$@"
printf -v folder '%q' "$PWD"
exec pdsh -R "${PDSH_RCMD_TYPE:-ssh}" -S -w "$HOSTS" "cd $folder && exec dlaunch --nnodes=$count \
    --nproc-per-node=${WORKERS:-auto} --rdzv-backend=c10d --rdzv-endpoint=$first:29400 --rdzv-id=$id $program"
