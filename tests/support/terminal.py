"""dlaunch, or a shell, on its own pseudo-terminal."""

import fcntl
import os
import re
import signal
import struct
import termios

import pexpect

from processes import alive, describe, marked, until


class Terminal:
    def __init__(self, words, env, mark, folder, columns=120):
        self.mark, self.folder, self.text = mark, folder, ""

        def resize():  # pexpect sets the size when the program runs already
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))

        self.tty = pexpect.spawn(
            words[0], words[1:], env=env, encoding="utf-8", codec_errors="replace", timeout=10, dimensions=(24, columns), preexec_fn=resize
        )
        self.tty.delaybeforesend = None

    @property
    def pid(self):
        return self.tty.pid

    def living(self):
        return marked(self.mark)

    def expect(self, pattern, seconds=10):
        """Waits for a pattern in the terminal's output; returns the match."""
        try:
            self.tty.expect(pattern, timeout=seconds)
        finally:
            self.text += (self.tty.before if isinstance(self.tty.before, str) else "") + (
                self.tty.after if isinstance(self.tty.after, str) else ""
            )
        return self.tty.match

    def send(self, text):
        self.tty.send(text)

    def line(self, text):
        self.tty.sendline(text)

    def ready(self, count, seconds=20):
        """Waits until `count` workers have left their notes; returns their pids by rank."""
        until(lambda: len(list(self.folder.glob("*.ready"))) >= count, seconds, f"the start of {count} workers")
        return [int((self.folder / f"{rank}.ready").read_text()) for rank in range(count)]

    def finish(self, seconds=15):
        """Reads to the end; returns (exit status as in a shell, or -n for a signal n that does not end jobs; the output with
        plain newlines)."""
        self.expect(pexpect.EOF, seconds)
        self.tty.wait()
        left = self.living()
        assert not left, f"left behind: {describe(left)}"
        signal_number = self.tty.signalstatus or 0
        ends_jobs = signal_number in (signal.SIGINT, signal.SIGTERM)
        status = 128 + signal_number if ends_jobs else -signal_number or self.tty.exitstatus
        return status, re.sub("\r+\n", "\n", self.text)

    def end(self):
        for _ in range(100):
            left = {*self.living(), *([self.pid] if alive(self.pid) else [])}
            if not left:
                break
            for pid in left:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
        self.tty.close(force=True)
