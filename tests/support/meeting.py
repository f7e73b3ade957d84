"""One job over several hosts: its workers tell where they are, obey orders, and notice a round that lives too long."""

import os
from dataclasses import dataclass

from hosts import PORT
from processes import until
from workers import shell_text

# Each worker holds a lock for its life (whatever it leaves behind holds it too). A newcomer looks whether it can share
# the locks of all earlier rounds; where it cannot, two rounds live at a time.
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
while :; do
    read -r order < "$SEEN/order.$RANK"
    case $? in
    0) eval "$order" ;;
    1) ;; # opened again before who gave the last order had closed it
    *) break ;;
    esac
done
""")
MOST_RANKS = 8


@dataclass
class World:
    """All workers of one round, in the order of their ranks."""

    round: int
    hosts: list
    group_ranks: list
    restarts: set
    masters: set


class Meeting:
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
        """One more dlaunch of the job; it has started when this returns."""
        run = host.start(*self.words(nnodes, *options, **more))
        until(lambda: run.ended() or run.workers_parent(), 10, "the start of the agent")
        return run

    def begin(self, nnodes, *options, hosts=None, **more):
        """The job on these hosts, or on all, the endpoint's node first; its runs."""
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
            for number, said in sorted(notes.items()):
                if all(words[1] == str(size) for words in said.values()) and sorted(said) == list(range(size)):
                    lines = [said[rank] for rank in range(size)]
                    hosts, _, group_ranks, restarts, masters = zip(*lines)
                    return World(
                        number, list(hosts), list(map(int, group_ranks)), set(map(int, restarts)), set(masters)
                    )
            return None

        return until(complete, seconds, f"a world of {size} in round {first} or later")

    def rounds(self):
        """How many rounds have begun anywhere."""
        return len({path.name.split(".")[1] for path in self.seen.glob("began.*")})

    def order(self, rank, text):
        """The worker with this rank does it, a line of shell."""

        def said():
            try:
                fifo = os.open(self.seen / f"order.{rank}", os.O_WRONLY | os.O_NONBLOCK)
            except OSError:  # nobody listens yet
                return False
            os.write(fifo, text.encode() + b"\n")
            os.close(fifo)
            return True

        until(said, 10, f"a worker of rank {rank} that listens")

    def first(self, number, rank, text):
        """The worker with this rank does it as soon as it has begun in that round."""
        (self.seen / f"first.{number}.{rank}").write_text(text + "\n")

    def end_well(self, world, *runs, may_overlap=False):
        """All workers of the world are told to end; each dlaunch ends with 0, nothing is left, no rounds overlapped."""
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
