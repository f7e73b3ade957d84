"""A control loop that is held up reports it in the event log."""

import json
import os
import signal
import time

from processes import state, until


def test_a_frozen_agent_logs_its_lag(cluster, tmp_path):
    """The beats of a job with several nodes are timers: the first after a pause is late."""
    job = cluster(2)
    log = tmp_path / "events"
    runs = [job.join(host, "2", *([f"--event-log={log}"] if host is job.net[0] else [])) for host in job.net]
    world = job.world(2)
    agent = runs[0].agent()
    os.kill(agent, signal.SIGSTOP)
    until(lambda: state(agent) == "T", 5, "the stop")
    time.sleep(1.5)  # the length of the pause, above the pause between two beats
    os.kill(agent, signal.SIGCONT)

    def lags():
        events = [json.loads(line) for line in log.read_text().splitlines()]
        return [event for event in events if event["event"] == "loop_lag"]

    until(lags, 10, "the event")
    assert lags()[0]["seconds"] > 0.1
    job.end_well(world, *runs)
