"""How long 100, 1000 and 10000 agents take to meet, and how many bytes each of them sends and hears for it.

The agents are simulated by one process, each with a connection of its own, and all start to connect at the same moment;
the coordinator is in a real dlaunch. The last column is its share of a core while every agent beats twice a second.
"""
from agents import medians
from common import parse, show

GOAL_MS = 2000  # for 10000 agents


def main():
    options = parse(__doc__, repeats=5)
    result = medians(options, beating=2)
    rows = [[count, f"{its['meet_ms']:.1f} ms", f"{1e3 * its['meet_ms'] / count:.1f} us", f"{its['meet_sent']:.0f}",
             f"{its['meet_received']:.0f}", f"{100 * its['beats_core_share']:.1f} %"] for count, its in result.items()]
    header = ["agents", "all assigned", "per agent", "bytes sent", "bytes heard", "core while beating"]
    show(options, f"meet: from the first connect() to the last assignment, medians of {options.repeats}", header, rows,
         result)
    if result[10000]["meet_ms"] > GOAL_MS:
        print(f"\n10000 agents should meet within {GOAL_MS} ms")


main()
