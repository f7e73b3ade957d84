"""A screen of tmux: what a person sees of dlaunch, or of any program, in a terminal of a given size."""

import os
import re
import shlex
import signal
import subprocess

from processes import marked, until
from running import kill


class Screen:
    def __init__(self, folder, words, env, mark, columns, rows=24):
        """`folder` is for tmux's socket: its name must be short."""
        self.mark, self.socket, self.status = mark, folder / "tmux", folder / "status"
        self.env = env | {"TERM": "xterm-256color", "LANG": "C.UTF-8", "SHELL": "/bin/sh"}
        command = f"{shlex.join(words)}; echo $? >{self.status}.part; mv {self.status}.part {self.status}; exec sleep 617"
        options = folder / "tmux.conf"
        options.write_text("set -g status off\nset -g history-limit 50000\nset -g default-terminal xterm-256color\n")
        self.tmux("-f", options, "new-session", "-d", "-x", columns, "-y", rows, "-s", "s", command)

    def tmux(self, *words):
        done = subprocess.run(["tmux", "-S", self.socket, *map(str, words)], env=self.env, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def lines(self, *more):
        """The rows of the screen without those below the last one that is used. With "-S", "-": all rows since the start;
        with "-e": with colours."""
        return [row.rstrip() for row in self.tmux("capture-pane", "-p", "-t", "s", *more).rstrip().splitlines()]

    def shows(self, pattern, seconds=20, *more):
        """Waits until the rows have the pattern; returns them."""
        seen = []

        def has():
            seen[:] = self.lines(*more)
            return re.search(pattern, "\n".join(seen), re.M)

        try:
            until(has, seconds, f"{pattern!r} on the screen")
        except AssertionError as error:
            raise AssertionError(f"{error}\n" + "\n".join(seen)) from None
        return list(seen)

    def resize(self, columns, rows=24):
        """Returns when programs in the terminal see the new size: tmux holds later ones of several back for a moment."""
        self.tmux("resize-window", "-t", "s", "-x", columns, "-y", rows)
        name = self.tmux("display-message", "-p", "-t", "s", "#{pane_tty}").strip()
        with open(name, "rb") as tty:
            until(lambda: os.get_terminal_size(tty.fileno()) == (columns, rows), 10, "the new size of the terminal")

    def line(self, text):
        self.tmux("send-keys", "-t", "s", "-l", text)
        self.tmux("send-keys", "-t", "s", "Enter")

    def finish(self, seconds=30):
        """Waits for the end of the program; returns its exit status and the rows since the start."""
        until(self.status.exists, seconds, "the end of the program on the screen")
        return int(self.status.read_text()), self.lines("-S", "-")

    def end(self):
        """Closes the terminal's window: what runs there ends by SIGHUP."""
        subprocess.run(["tmux", "-S", self.socket, "kill-server"], env=self.env, capture_output=True, check=False)
        try:
            until(lambda: not marked(self.mark), 10, "the end of all processes on the screen")
        finally:
            for pid in marked(self.mark):
                kill(pid, signal.SIGKILL)
