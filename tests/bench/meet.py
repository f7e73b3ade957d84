"""How long 100, 1000 and 10000 simultaneous agents take to join, and to rejoin after their coordinator was killed.

The agents are simulated by several processes, each agent with a connection and the state machine of a real one; all
connect at the same moment, without pacing. The coordinator is in a real dlaunch. The same for 100 and 1000 with
a token, inside TLS. Then 50000 agents beat as often as
real ones with the default node time-out: the coordinator's share of a core, beside that of a bare loop which receives
and answers the same bytes. Where a process may not have that many open files, several jobs share the agents, and the
figure is the share of all their coordinators. The simulated agents need as much of the machine as the coordinators:
two cores manage at most --beating=20000. The agents of one job send at most 25000 beats a second, whatever their
number: 20000 agents of two jobs send 22000.
"""
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from agents import COUNTS, Agents, core_share, most_of_one_process
from common import median, parse, show

JOIN_MS, AGAIN_MS = 1000, 2000  # goals for 10000 agents
JOIN_TLS_MS = 1000              # and for 1000 inside TLS
BEATING, SHARE = 50000, 0.5     # agents, and the goal for their beats
SECONDS = 5


def join(options, count, token=None):
    with Agents(options, count, token=token) as agents:
        ms, sent, received = agents.join_all()
        figures = {"join_ms": ms, "sent": sent, "received": received}
        if agents.has_coordinator_process():
            figures["again_ms"], figures["stopped"] = agents.kill_coordinator()
        return figures


def bare_loops(options, jobs, count):
    """The share of a core that `jobs` loops without any state take together for `count` connections each."""
    words = [options.programs / "beat_floor", str(count), str(SECONDS)]
    loops = [subprocess.Popen(words, stdout=subprocess.PIPE, text=True) for _ in range(jobs)]
    return sum(float(loop.communicate()[0]) for loop in loops)


def beat(options):
    jobs = -(-options.beating // most_of_one_process(options.beating))
    count = options.beating // jobs
    floor = bare_loops(options, jobs, count)
    with ExitStack() as stack:
        running = [stack.enter_context(Agents(options, count)) for _ in range(jobs)]
        for job in running:
            job.join_all()
        return {"agents": jobs * count, "coordinators": jobs, "core_share": core_share(running, SECONDS), "floor": floor}


def main():
    options = parse(__doc__, 3, lambda parser: parser.add_argument(
        "--beating", type=int, default=BEATING, help="how many agents beat (default %(default)s)"))
    result = {}
    for count in COUNTS:
        runs = [join(options, count) for _ in range(options.repeats)]
        result[count] = {name: median([run[name] for run in runs]) for name in runs[0]}
    with tempfile.TemporaryDirectory() as folder:
        token = Path(folder) / "token"
        subprocess.run([options.build.resolve() / "bin" / "dlaunch", "token", token], check=True)
        for count in COUNTS[:2]:
            runs = [join(options, count, token) for _ in range(options.repeats)]
            result[f"{count}, TLS"] = {name: median([run[name] for run in runs]) for name in runs[0]}
    rows = [[name, f"{its['join_ms']:.1f} ms", f"{1e3 * its['join_ms'] / int(str(name).split(',')[0]):.1f} us",
             f"{its['again_ms']:.1f} ms" if "again_ms" in its else "no coordinator process",
             f"{its['stopped']:.0f}" if "stopped" in its else "", f"{its['sent']:.0f}", f"{its['received']:.0f}"]
            for name, its in result.items()]
    show(options, f"join: from the first connect() to the last assignment, medians of {options.repeats}",
         ["agents", "all assigned", "per agent", "again after its death", "stopped", "bytes sent", "received"], rows,
         result)
    beating = result["beating"] = beat(options)
    print()
    share, floor = beating["core_share"], beating["floor"]
    show(options, f"beats of {beating['agents']} agents, {SECONDS} s",
         ["coordinators", "of one core", "bare loop", "ratio", "per agent"],
         [[beating["coordinators"], f"{100 * share:.1f} %", f"{100 * floor:.1f} %", f"{share / floor:.2f}",
           f"{1e6 * share / beating['agents']:.1f} us"]], result)
    goals = [(result["1000, TLS"]["join_ms"] > JOIN_TLS_MS, f"1000 agents should join inside TLS within {JOIN_TLS_MS} ms"),
             (result[10000]["join_ms"] > JOIN_MS, f"10000 agents should join within {JOIN_MS} ms"),
             (result[10000].get("again_ms", 0) > AGAIN_MS, f"and rejoin within {AGAIN_MS} ms"),
             (options.beating >= BEATING and share > SHARE,
              f"{BEATING} agents should cost at most {100 * SHARE:.0f} % of a core")]
    for missed, goal in goals:
        if missed:
            print(f"\n{goal}", file=sys.stderr)


main()
