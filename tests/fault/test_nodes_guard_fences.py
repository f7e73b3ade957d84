"""An agent is stopped (SIGSTOP) for longer than --node-timeout: its guard ends the workers and their detached processes
before the other nodes start the next round. After SIGCONT the agent reports the gap and rejoins."""

import os
import signal

from bad_workers import SWEEPS
from processes import state, stop, until


@SWEEPS
def test_the_workers_of_a_frozen_agent_are_gone_before_the_next_round(cluster, extra_variables):
    job = cluster(2)
    runs = [host.start(*job.words("1:2"), env=extra_variables) for host in job.net]
    world = job.world(2)
    job.order(1, "( setsid sleep 600 9>&9 & ); note detached")
    until(lambda: (job.seen / "detached").exists(), 10, "the daemon")
    agent, guard = runs[1].agent(), runs[1].pid
    stop(agent)

    alone = job.world(1, after=world, seconds=15)
    assert alone.hosts == ["node1"]
    assert set(job.net["node2"].pids()) - {runs[1].process.pid} <= {agent, guard}, "all of the old round is dead"
    assert state(agent) == "T", "the agent is still stopped"

    os.kill(agent, signal.SIGCONT)
    both = job.world(2, after=alone, seconds=15)
    err = runs[1].err()
    assert "was frozen for too long: its guard has killed the workers" in err and "joined the job again" in err
    assert "SIGKILL" not in err, "no message calls the fence a failure"
    assert both.restarts == {0}
    job.end_well(both, *runs)
