"""What one coordinator carries: a whole life of a job of 1000, 10000 and 50000 simulated agents (see meet.py).

All agents connect at the same moment and beat. In a second job, whose node time-out is 60 s, the coordinator is killed;
one agent reports a failure, and the job restarts; another failure ends the job, with a record of every agent. With --token=FILE all of it inside TLS. The
coordinator is a real dlaunch on this machine, and the agents need more of it than their coordinator. Where a process
may not have that many open files, the largest job has as many agents as it may, which its row says.
"""
from agents import STATUS, Agents, core_share, memory_kib, most_of_one_coordinator
from common import median, parse, show

AGENTS = (1000, 10000, 50000)
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


def main():
    def add(parser):
        parser.add_argument("--agents", type=int, nargs="+", default=AGENTS, help="sizes (default %(default)s)")
        parser.add_argument("--token", metavar="FILE", help="inside TLS")
    options = parse(__doc__, 3, add)
    result = {}
    for wanted in options.agents:
        count = most_of_one_coordinator(wanted)
        if count < wanted:
            print(f"{wanted} agents need {wanted} open files of one process; here {count} are connected")
        runs = [life(options, count) for _ in range(options.repeats)]
        result[count] = {name: median([run[name] for run in runs]) for name in runs[0]}
    names = ["join_ms", "adopted_ms", "stop_ms", "again_ms", "end_ms"]
    rows = [[count, *(f"{its[name]:.0f} ms" for name in names), f"{100 * its['share']:.1f} %",
             f"{its['memory_mib']:.0f} MiB"] for count, its in result.items()]
    show(options, f"scale: one coordinator, medians of {options.repeats}",
         ["agents", "all assigned", "adopted", "all stopped", "assigned again", "all ended", "beats: of a core", "memory"],
         rows, result)
    its = result.get(AGENTS[-1], {})
    for name, goal in GOALS.items():
        if its.get(name, 0) > goal:
            print(f"{AGENTS[-1]} agents: {name} should be at most {goal}")


main()
