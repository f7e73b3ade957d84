"""How long 100, 1000 and 10000 agents that come at once take to meet, and to meet again after their coordinator died.

The agents are simulated by several processes, each agent with a connection and the state machine of a real one; all
connect at the same moment, without pacing. The coordinator is in a real dlaunch. Then 50000 agents beat as often as
real ones with the default node time-out: the coordinator's share of a core.
"""
import sys

from agents import COUNTS, Agents
from common import median, parse, show

MEET_MS, AGAIN_MS = 1000, 2000  # goals for 10000 agents
BEATING, SHARE = 50000, 0.5     # agents, and their goal
SECONDS = 5


def meet(options, count):
    with Agents(options, count) as agents:
        ms, sent, received = agents.meet()
        figures = {"meet_ms": ms, "sent": sent, "received": received}
        if agents.has_coordinator_process():
            figures["again_ms"], figures["stopped"] = agents.kill_coordinator()
        return figures


def beat(options):
    with Agents(options, BEATING) as agents:
        ms, _, _ = agents.meet()
        return {"meet_ms": ms, "core_share": agents.core_share(SECONDS)}


def main():
    options = parse(__doc__, repeats=3)
    result = {}
    for count in COUNTS:
        runs = [meet(options, count) for _ in range(options.repeats)]
        result[count] = {name: median([run[name] for run in runs]) for name in runs[0]}
    rows = [[count, f"{its['meet_ms']:.1f} ms", f"{1e3 * its['meet_ms'] / count:.1f} us",
             f"{its['again_ms']:.1f} ms" if "again_ms" in its else "no coordinator process",
             f"{its['stopped']:.0f}" if "stopped" in its else "", f"{its['sent']:.0f}", f"{its['received']:.0f}"]
            for count, its in result.items()]
    show(options, f"meet: from the first connect() to the last assignment, medians of {options.repeats}",
         ["agents", "all assigned", "per agent", "again after its death", "stopped", "bytes sent", "received"], rows,
         result)
    beating = result["beating"] = beat(options)
    print()
    show(options, f"beats: {BEATING} agents, {SECONDS} s", ["all assigned", "of one core"],
         [[f"{beating['meet_ms']:.0f} ms", f"{100 * beating['core_share']:.1f} %"]], result)
    goals = [(result[10000]["meet_ms"] > MEET_MS, f"10000 agents should meet within {MEET_MS} ms"),
             (result[10000].get("again_ms", 0) > AGAIN_MS, f"and meet again within {AGAIN_MS} ms"),
             (beating["core_share"] > SHARE, f"{BEATING} agents should cost at most {100 * SHARE:.0f} % of a core")]
    for missed, goal in goals:
        if missed:
            print(f"\n{goal}", file=sys.stderr)


main()
