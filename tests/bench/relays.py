"""Many simulated relays and one worker store, for scale.py."""
import subprocess
import time

from agents import PROCESSES, SPARE_DESCRIPTORS, allow_descriptors, cpu_seconds, memory_kib


class Relays:
    """`count` relays of `ranks` workers each in several processes, and a round's store in another."""

    def __init__(self, options, count, ranks, token=None):
        if not allow_descriptors(count + SPARE_DESCRIPTORS):
            raise SystemExit(f"{count} relays need {count + SPARE_DESCRIPTORS} open files: run it as root")
        self.program, self.token = options.programs / "relays_load", [token] if token else []
        self.processes = []
        try:
            self.store = self.start("store")
            [port] = self.receive("serves", [self.store])
            shares = [count * (n + 1) // PROCESSES - count * n // PROCESSES for n in range(PROCESSES)]
            self.loads = [self.start(port, sum(shares[:n]), share, ranks, count * ranks)
                          for n, share in enumerate(shares)]
            self.receive("ready", self.loads)
        except BaseException:
            self.close()
            raise

    def start(self, *words):
        process = subprocess.Popen([str(word) for word in (self.program, *words, *self.token)], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, text=True)
        self.processes.append(process)
        return process

    def receive(self, event, processes):
        """The last field of each process's line about this event."""
        reports = [process.stdout.readline().split() for process in processes]
        if any(words[:1] != [event] for words in reports):
            raise SystemExit(f"relays_load: no {event} in {reports}")
        return [int(words[-1]) for words in reports if words[1:]]

    def initialize(self):
        """Milliseconds until the last rank is initialized, the store's processor time in them, and its memory."""
        before, start = cpu_seconds(self.store.pid), time.monotonic_ns()
        for load in self.loads:
            load.stdin.write("go\n")
            load.stdin.flush()
        end = max(self.receive("initialized", self.loads))
        return {"initialized_ms": (end - start) / 1e6,
                "store_cpu_ms": (cpu_seconds(self.store.pid) - before) * 1e3,
                "store_mib": memory_kib(self.store.pid) / 1024}

    def close(self):
        for process in reversed(self.processes):  # relays first: a relay prints a warning when the store ends
            process.kill()
            process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()
