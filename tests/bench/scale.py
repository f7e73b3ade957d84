"""What one coordinator carries: a whole life of a job of 1000, 10000 and 50000 simulated agents (see meet.py).

All agents connect at the same moment and beat. In a second job, whose node time-out is 60 s, the coordinator is killed;
one agent reports a failure, and the job restarts; another failure ends the job, with a record of every agent. The
coordinator is a real dlaunch on this machine, and the agents need more of it than their coordinator.

Then 12500 nodes of 8 ranks: their relays send one round's worker store what init_process_group sends, all at once (see
relays_load.cpp).

With --token=FILE all of it inside TLS. Where a process may not have that many open files, the largest job has as many
agents or relays as it may, which its row says.
"""
from agents import SPARE_DESCRIPTORS, STATUS, Agents, core_share, memory_kib, most_of_one_process
from common import median, parse, show
from relays import Relays

AGENTS = (1000, 10000, 50000)
RELAYS = (1000, 12500)
RANKS = 8            # of a relay's node
BEATS_FOR = 5        # seconds
RECORD = 4 << 10     # bytes; a round's end carries 256 KiB of them at most
GOALS = {"join_ms": 5000, "stop_ms": 500, "share": 0.5}  # of 50000 agents


def life(options, count):
    """The agents of the first job beat often; those of the second one lose no lease on a busy machine."""
    with Agents(options, count, token=options.token) as agents:
        figures = {"join_ms": agents.join_all()[0], "memory_mib": memory_kib(agents.coordinator()) / 1024,
                   "share": core_share([agents], BEATS_FOR)}
    with Agents(options, count, ["--node-timeout=60"], options.token, "exec sleep 600") as agents:
        agents.join_all()
        figures["adopted_ms"] = agents.kill_coordinator()[0]
        figures["stop_ms"] = agents.fail()
        figures["again_ms"] = agents.start_again()[0]
        agents.fail()
        figures["end_ms"] = agents.end(f"over {RECORD}", STATUS)
    return figures


def initialize(options, count):
    with Relays(options, count, RANKS, options.token) as relays:
        return relays.initialize()


def measure(options, what, sizes, run):
    """Size -> medians. A size beyond the open files of a process becomes the largest one that they permit."""
    result = {}
    for wanted in sizes:
        count = most_of_one_process(wanted)
        if count < wanted:
            print(f"{wanted} {what} need {wanted + SPARE_DESCRIPTORS} open files of one process; here {count} are connected")
        runs = [run(options, count) for _ in range(options.repeats)]
        result[count] = {name: median([each[name] for each in runs]) for name in runs[0]}
    return result


def main():
    def add(parser):
        parser.add_argument("--agents", type=int, nargs="*", default=AGENTS, help="sizes (default %(default)s)")
        parser.add_argument("--relays", type=int, nargs="*", default=RELAYS, help="sizes (default %(default)s)")
        parser.add_argument("--token", metavar="FILE", help="inside TLS")
    options = parse(__doc__, 3, add)
    agents = measure(options, "agents", options.agents, life)
    names = ["join_ms", "adopted_ms", "stop_ms", "again_ms", "end_ms"]
    rows = [[count, *(f"{its[name]:.0f} ms" for name in names), f"{100 * its['share']:.1f} %",
             f"{its['memory_mib']:.0f} MiB"] for count, its in agents.items()]
    if rows:
        show(options, f"scale: one coordinator, medians of {options.repeats}",
             ["agents", "all assigned", "adopted", "all stopped", "assigned again", "all ended", "beats: of a core",
              "memory"], rows, {"agents": agents})
        print()
    relays = measure(options, "relays", options.relays, initialize)
    rows = [[f"{count} of {count * RANKS} ranks", f"{its['initialized_ms']:.0f} ms", f"{its['store_cpu_ms']:.0f} ms",
             f"{its['store_mib']:.0f} MiB"] for count, its in relays.items()]
    if rows:
        show(options, f"scale: one worker store, medians of {options.repeats}",
             ["relays", "all initialized", "processor time of the store", "memory"], rows,
             {"agents": agents, "relays": relays})
    its = agents.get(AGENTS[-1], {})
    for name, goal in GOALS.items():
        if its.get(name, 0) > goal:
            print(f"{AGENTS[-1]} agents: {name} should be at most {goal}")


main()
