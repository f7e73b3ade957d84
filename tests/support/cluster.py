"""A job on several hosts. Its workers report their place, execute orders, and detect rounds that overlap."""

import os
from dataclasses import dataclass

from hosts import PORT
from processes import until
from workers import shell_text

# Each worker holds an exclusive lock during its lifetime, inherited by its children. A new worker tries a shared lock on
# the files of all earlier rounds; if one is still held, two rounds overlap.
WORKER = shell_text(r"""
exec 9> "$SEEN/lives.$DLAUNCH_ROUND.$RANK"
flock -x 9
for file in "$SEEN"/lives.*; do
    case $file in */lives.$DLAUNCH_ROUND.*) continue ;; esac
    flock -ns "$file" true || note "overlap.$DLAUNCH_ROUND.$RANK" "$file"
done
note "began.$DLAUNCH_ROUND.$RANK" "$(cat /proc/sys/kernel/hostname) $WORLD_SIZE $GROUP_RANK \
$TORCHELASTIC_RESTART_COUNT $MASTER_ADDR:$MASTER_PORT"
[ ! -e "$SEEN/first.$DLAUNCH_ROUND.$RANK" ] || . "$SEEN/first.$DLAUNCH_ROUND.$RANK"
# The worker may reopen its pipe before the writer of the previous order has closed it; it then reads an empty order.
while [ -p "$SEEN/order.$RANK" ]; do read -r order < "$SEEN/order.$RANK" && eval "$order"; done
""")
MOST_RANKS = 8


@dataclass
class World:
    """The workers of one round, in rank order."""

    round: int
    hosts: list
    group_ranks: list
    restarts: set
    masters: set

    @property
    def master_addresses(self):
        return {master.rpartition(":")[0] for master in self.masters}


class Cluster:
    def __init__(self, net, seen, program):
        self.net, self.seen, self.program = net, seen, program
        for rank in range(MOST_RANKS):
            os.mkfifo(seen / f"order.{rank}")

    def words(self, nnodes, *options, each=1, job="job", conf="last_call_timeout=0.5", endpoint=None):
        return [
            f"--nnodes={nnodes}",
            f"--nproc-per-node={each}",
            "--rdzv-backend=c10d",
            f"--rdzv-endpoint={endpoint or self.net[0].name + ':' + str(PORT)}",
            f"--rdzv-id={job}",
            f"--rdzv-conf={conf}",
            *options,
            "--no-python",
            str(self.program),
        ]

    def join(self, host, nnodes, *options, **more):
        """Starts another dlaunch of the job and waits for its start."""
        run = host.start(*self.words(nnodes, *options, **more))
        until(lambda: run.ended() or run.workers_parent(), 10, "the start of the agent")
        return run

    def begin(self, nnodes, *options, hosts=None, **more):
        """Starts the job on these hosts (default: all), the endpoint's node first; returns the runs."""
        return [self.join(host, nnodes, *options, **more) for host in hosts or self.net]

    def world(self, size, after=None, seconds=20):
        """Waits until a round later than `after` runs on `size` workers."""
        first = after.round + 1 if after else 0

        def complete():
            notes = {}
            for path in self.seen.glob("began.*[0-9]"):
                _, number, rank = path.name.split(".")
                if int(number) >= first:
                    notes.setdefault(int(number), {})[int(rank)] = path.read_text().split()
            for number, by_rank in sorted(notes.items()):
                if all(words[1] == str(size) for words in by_rank.values()) and sorted(by_rank) == list(range(size)):
                    lines = [by_rank[rank] for rank in range(size)]
                    hosts, _, group_ranks, restarts, masters = zip(*lines)
                    return World(
                        number, list(hosts), list(map(int, group_ranks)), set(map(int, restarts)), set(masters)
                    )
            return None

        return until(complete, seconds, f"a world of {size} in round {first} or later")

    def rounds(self):
        """The number of rounds that have started on any host."""
        return len({path.name.split(".")[1] for path in self.seen.glob("began.*")})

    def order(self, rank, text):
        """Makes the worker with this rank execute a line of shell."""

        def written():
            try:
                fifo = os.open(self.seen / f"order.{rank}", os.O_WRONLY | os.O_NONBLOCK)
            except OSError:  # the worker has not opened its pipe yet
                return False
            os.write(fifo, text.encode() + b"\n")
            os.close(fifo)
            return True

        until(written, 10, f"a worker of rank {rank} that reads its pipe")

    def first(self, number, rank, text):
        """Makes the worker with this rank execute the order as soon as it starts in that round."""
        (self.seen / f"first.{number}.{rank}").write_text(text + "\n")

    def end_well(self, world, *runs, may_overlap=False):
        """Ends all workers; asserts that each dlaunch ends with 0, no process remains and no rounds overlapped."""
        for rank in range(len(world.hosts)):
            self.order(rank, "exit 0")
        results = [run.wait(20) for run in runs]
        assert [result.rc for result in results] == [0] * len(runs), "\n".join(result.err for result in results)
        if not may_overlap:
            self.no_overlap()
        self.all_empty()

    def no_overlap(self):
        assert [path.name for path in self.seen.glob("overlap.*")] == []

    def all_empty(self):
        for host in self.net:
            if not host.down:
                host.empty()
