#!/bin/bash
# Prints, for each host, the address that it would advertise, where the coordinator is, and whether it answers. For jobs
# that do not find each other.
#   HOSTS='node[01-16]' check.sh 16
set -eu
: "${HOSTS:?expected a list of hosts such as node[01-16]}"
hosts=$(dlaunch hosts "$HOSTS")
first=${hosts%%$'\n'*}
exec pdsh -R "${PDSH_RCMD_TYPE:-ssh}" -S -w "$HOSTS" \
    "dlaunch check --nnodes=${1:?expected the number of hosts} --rdzv-backend=c10d --rdzv-endpoint=$first:29400"
