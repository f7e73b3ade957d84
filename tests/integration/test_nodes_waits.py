"""A waiting node prints for how long and where it waits, and for what."""

import os
import re
import socket

from processes import until


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as free:
        return free.getsockname()[1]


def test_it_says_for_how_long_and_where_the_others_are_to_come(start):
    port = free_port()
    run = start("--nnodes=2", f"--master-port={port}", "true")
    until(lambda: "\n" in run.err(), 8, "the line about the wait")
    where = rf"at 127\.0\.0\.1:{port} for nodes of this host only, see --master-addr"
    assert re.fullmatch(rf"dlaunch: 1 of 2 nodes \({where}, [34] s of at most 600 s\)", run.err().splitlines()[0]), run.err()


def test_enough_nodes_wait_for_a_last_call(start):
    words = ["--nnodes=1:2", "--rdzv-backend=c10d", f"--rdzv-endpoint=127.0.0.1:{free_port()}", "--rdzv-id=j"]
    run = start(*words, "--rdzv-conf=last_call_timeout=20", "true")
    until(lambda: "\n" in run.err(), 8, "the line about the last call")
    assert re.fullmatch("dlaunch: 1 of at most 2 nodes, which is enough: starting in 1[67] s", run.err().splitlines()[0]), run.err()


def test_a_port_that_another_program_has_is_named_with_its_process(start):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        place = f"127.0.0.1:{taken.getsockname()[1]}"
        run = start("--nnodes=2", "--node-rank=0", "--master-addr=127.0.0.1", f"--master-port={place[10:]}", "true")
        until(lambda: "in use" in run.err(), 8, "the line about the port")
        line = run.err().splitlines()[0]
        assert line.startswith(f"dlaunch: --master-addr: {place}: Address already in use, by ") and f"(pid {os.getpid()})" in line


def test_the_address_of_an_interface(start):
    words = ["--nnodes=1:1", "--rdzv-backend=c10d", f"--rdzv-endpoint=127.0.0.1:{free_port()}", "--rdzv-id=j"]
    result = start(*words, "--local-addr=lo", "printenv", "MASTER_ADDR").wait()
    assert (result.rc, result.out) == (0, "127.0.0.1\n")
