"""Workers that a careless launcher overlooks, each in one way, and the ways in which a job comes to its end.

A worker first starts the leftovers of its kind, then reports that it is ready and waits for the note `go` or sleeps.
Its leftovers carry the run's mark, in its environment or (where that was cleaned) as an argument.
"""

import signal

import pytest

from processes import state, until
from running import kill

PID = 'sh -c \'echo $$ > "$1"; exec sleep "$2"\' - "$SEEN/$RANK.child" "$TEST_RUN_MARK"'
TREE = (
    "grow() { [ $1 = 0 ] || { grow $(($1 - 1)) & grow $(($1 - 1)) & }\n"
    'echo $1 >> "$SEEN/$RANK.leaves"; sleep "$TEST_RUN_MARK"; }\ngrow 3 &\n'
    'until [ "$(grep -c 0 "$SEEN/$RANK.leaves" 2>/dev/null)" = 8 ]; do sleep 0.01; done\n'
)

OTHER = "setpriv --reuid=65534 --clear-groups"
CHANGED = 'until grep -q "^Uid:.65534" "/proc/$(cat "$SEEN/$RANK.child")/status"; do sleep 0.01; done\n'

# For each kind the shell commands that it runs, and its replacement for the final sleep, if any.
KINDS = {
    "plain": "",
    "stubborn": f"trap '' TERM INT HUP QUIT\n{PID} &\n",
    "stopped": f"{PID} &\n",
    "daemon": f"( setsid {PID} </dev/null >/dev/null 2>&1 & )\n",
    "hidden": f'( cd / && exec env -i PATH="$PATH" setsid {PID} </dev/null >/dev/null 2>&1 & )\n',
    "keeper": f"( setsid {PID} & )\n",
    "tree": TREE,
    "changed": f"( setsid {PID.replace('exec', 'exec ' + OTHER)} & )\n",
}
STAYS = {
    "stopped": "kill -STOP $$\n",
    "changed": f'exec {OTHER} sleep "$TEST_RUN_MARK"\n',
}
AWAITED = set(KINDS) - {"plain", "tree"}
ALL_KINDS = [
    pytest.param(kind, marks=[pytest.mark.root, pytest.mark.needs("setpriv")] if kind == "changed" else [])
    for kind in KINDS
]
SWEEPS = pytest.mark.parametrize("extra_variables", [{}, {"DLAUNCH_NO_CGROUP": "1"}], ids=["cgroup", "sweep"])


def text(kind, then):
    """A worker of `kind` which then stays, or ends at the note `go`, or fails at it: rank 1 with 3."""
    lines = KINDS[kind]
    if kind in AWAITED:
        lines += 'until [ -s "$SEEN/$RANK.child" ]; do sleep 0.01; done\n'
    if kind == "changed":
        lines += CHANGED
    if kind == "stopped":
        lines += 'kill -STOP "$(cat "$SEEN/$RANK.child")"\n'
    lines += "ready\n"
    stay = STAYS.get(kind, 'exec sleep "$TEST_RUN_MARK"\n')
    fail = f"[ $RANK = 1 ] && {{ await go; exit 3; }}\n{stay}"
    return lines + {"stay": stay, "end": "await go\nexit 0\n", "fail": fail}[then]


def begin(job, kind, then, extra_variables, *options):
    """Starts a job of two such workers and waits until they are in the state that their kind requires."""
    run = job(text(kind, then), "--grace=0.5", *options, env=extra_variables)
    pids = run.ready(2)
    if kind == "stopped":
        stopped = [] if then == "end" else pids if then == "stay" else pids[:1]
        for pid in stopped:
            until(lambda: state(pid) == "T", 5, "the stop")
    if kind == "tree":
        assert len(run.living()) >= 2 + 2 * 15
    return run


def signal_until_noticed(run, number, again):
    """Sends a signal; with `again`, a second time as soon as dlaunch has reported the first."""
    kill(run.pid, number)
    if again:
        until(lambda: run.ended() or signal.Signals(number).name in run.err(), 5, "the message about the first signal")
        if not run.ended():
            run.signal_again(number)
