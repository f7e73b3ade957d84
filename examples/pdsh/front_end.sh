#!/bin/bash
# The same with one command: dlaunch starts the agents by pdsh, prints every node's output, and ends everything on all
# hosts when it ends, in whatever way.
#   HOSTS='node[01-16]' front_end.sh train.py --lr=0.1
set -eu
: "${HOSTS:?expected a list of hosts such as node[01-16]}"
exec dlaunch --launcher=pdsh --hosts="$HOSTS" --nproc-per-node="${WORKERS:-auto}" "$@"
