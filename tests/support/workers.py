"""Programs for workers. They report to the test by files in $SEEN; each file, a note, appears atomically."""

import sys

SHELL = r"""#!/bin/sh
note() { printf '%s' "$2" > "$SEEN/$1.part" && mv "$SEEN/$1.part" "$SEEN/$1"; }
await() { until [ -e "$SEEN/$1" ]; do sleep 0.01; done; }
ready() { note "$RANK.ready" $$; }
"""

PYTHON = f"#!{sys.executable} -SE\n" + r"""
import os, signal, sys, time
rank = int(os.environ["RANK"])
def note(name, value=""):
    with open(f"{os.environ['SEEN']}/{name}.part", "w") as file:
        file.write(str(value))
    os.rename(f"{os.environ['SEEN']}/{name}.part", f"{os.environ['SEEN']}/{name}")
def await_note(name):
    while not os.path.exists(f"{os.environ['SEEN']}/{name}"):
        time.sleep(0.005)
def ready():
    note(f"{rank}.ready", os.getpid())
"""

STAY = 'ready\nexec sleep "$TEST_RUN_MARK"\n'
IDLE = "while :; do sleep 0.01; done\n"
STUBBORN = "trap '' TERM INT HUP QUIT\nready\nwhile :; do sleep 0.05; done\n"


def shell_text(text):
    return SHELL + text


def python_text(text):
    return PYTHON + text
