"""Compares dlaunch's store server with Redis and torch's two servers, under one load generator. "relay" is the same store
through a node's relay, as with --store=relay or a token.

set_wait_get sends the requests of set() and get() of torch's client; set_get leaves its WAIT out, which Redis has not.
add counts at a key of each client, add_one at one key of all, as a store-based barrier does.
The speed of one client depends more on sleeping processors than on servers: trust the figures of 16 and 64. torch's
servers are measured where DLAUNCH_TORCH_PYTHON names an interpreter with a current torch, Redis where it is installed.
"""
import json
import os
import resource
import shutil
import socket
import subprocess
import time

from common import free_port, median, parse, show

TORCH = """
import socket, sys, threading, torch.distributed as dist
port = int(sys.argv[1])
# Without an own listener torch binds "::" and resolves the name of every client.
listener = socket.create_server(("127.0.0.1", port), backlog=4096)
store = dist.TCPStore("127.0.0.1", port, None, True, wait_for_workers=False, use_libuv=sys.argv[2] == "libuv",
                      master_listen_fd=listener.detach())
threading.Event().wait()
"""
LOADS = [(f"{op}, {n} clients", ["load", op, n, 0.5]) for op in ("set_wait_get", "set_get", "add", "add_one", "ping") for n in (1, 16, 64)]
WAKES = [(f"wake {n} waiters", ["wake", n, 30]) for n in (16, 256)]
# 5000 are more than the store takes in half-open. A server may leave a quarter of its descriptors free.
MEETS = [(f"connect {n} clients", ["connect", n, turns]) for n, turns in ((64, 3), (1000, 3), (5000, 1))
         if n * 4 / 3 + 100 < resource.getrlimit(resource.RLIMIT_NOFILE)[1]]


def servers(options):
    """name -> command line with a placeholder {port}."""
    found = {"dlaunch": [options.build.resolve() / "bin" / "dlaunch", "store", "--bind", "127.0.0.1:{port}"]}
    relay = options.programs / "store_relay"
    found |= {"relay": [relay, "{port}"], "relay, TLS": [relay, "{port}", "a-token-of-this-benchmark"]}
    if shutil.which("redis-server"):
        found["redis"] = "redis-server --port {port} --bind 127.0.0.1 --save  --appendonly no --loglevel warning".split(" ")
    if python := os.environ.get("DLAUNCH_TORCH_PYTHON"):
        found |= {f"torch {kind}": [python, "-c", TORCH, "{port}", kind] for kind in ("libuv", "legacy")}
    return found


def start(words):
    port = free_port()
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen([str(word).replace("{port}", str(port)) for word in words], **quiet)
    end = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < end:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return process, port
        time.sleep(0.01)
    process.kill()
    process.wait()
    raise SystemExit(f"{words[0]} does not serve")


def measure(options, name, port, words):
    protocol = "redis" if name == "redis" else "store"
    done = subprocess.run([options.programs / "store_load", protocol, str(port), *map(str, words)], capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        raise SystemExit(f"{name}: {done.stderr}")
    return json.loads(done.stdout)


def main():
    options = parse(__doc__, repeats=5)
    rows, result, running = [], {}, {}
    try:
        for name, words in servers(options).items():
            running[name] = start(words)
        for title, words in LOADS + WAKES + MEETS:
            figure = "per_second" if words[0] == "load" else "p50_us"
            samples = {name: [] for name in running}
            for _ in range(options.repeats):
                for name, (_, port) in running.items():
                    samples[name].append(measure(options, name, port, words)[figure])
            medians = result[title] = {name: median(numbers) for name, numbers in samples.items()}
            more = figure == "per_second"
            cells = [f"{value:,.0f}/s" if more else f"{value / 1e3:.2f} ms" for value in medians.values()]
            ours = medians["dlaunch"]
            ratios = [ours / other if more else other / ours for name, other in medians.items() if name != "dlaunch"]
            rows.append([title, *cells, *(f"{ratio:.2f} x" for ratio in ratios)])
    finally:
        for process, _ in running.values():
            process.kill()
            process.wait()
    header = ["", *running, *(f"beside {name}" for name in running if name != "dlaunch")]
    show(options, f"store: operations a second and times, medians of {options.repeats}; x is how much better dlaunch is", header, rows, result)


main()
