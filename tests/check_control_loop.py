#!/usr/bin/env python3
"""Checks that the control loop of an agent calls nothing that a disk, a process or a name server can hold up.

    check_control_loop.py [ROOT]      prints what is wrong, one line each; status 1 if anything is

The loop renews leases and serves signals, so it opens no path that a user named, waits for no process and resolves no
name. All code of agent/ and of the folders of rendezvous/ that an agent runs belongs to it, but for the files below,
which run elsewhere, and for single calls that cannot block.
"""
import re
import sys
from pathlib import Path

ROOMS = ["agent", "rendezvous/base", "rendezvous/rounds", "rendezvous/net", "rendezvous/discovery", "rendezvous/coordinate"]

# Files and folders of code that runs outside the control loop, and where it runs.
ELSEWHERE = {
    "agent/io/output_side": "the I/O thread",
    "agent/logs": "the I/O thread",
    "agent/status/event_file": "the I/O thread",
    "agent/status/open_error": "the I/O thread",
    "agent/status/write_file": "the I/O thread",
    "agent/status/write_reports": "the I/O thread",
    "agent/errors/error_file": "the I/O thread",
    "agent/mpi/pmix_server": "the PMIx server's process",
    "agent/mpi/session_files": "a thread for the files of ended rounds",
    "agent/process/guard": "the guard",
    "agent/process/guard_process": "the guard",
    "agent/process/guard_end": "the guard",
    "agent/last_record": "a child of the guard; the control loop writes memory only",
    "agent/process/print_within": "a child of the guard",
    "agent/process/remove_folders": "a child of the guard",
    "agent/process/status_socket": "the guard, and tasks without workers",
    "agent/process/wait_for_exit": "the guard",
    "agent/process/spawn_child": "the child, between clone and exec",
    "agent/process/leftovers": "a thread for what stays of earlier runs",
    "agent/binding": "before the loop",
    "agent/waiting_task": "a task without workers",
    "agent/services/job_link": "the I/O thread",
    "agent/services/socket_file": "the I/O thread",
    "agent/services/timer_fifo": "the I/O thread",
    "rendezvous/base/background": "threads for look-ups",
    "rendezvous/base/connect": "callers with a deadline, none of them an agent's loop",
    "rendezvous/base/files": "checked where it is called",
    "rendezvous/base/host": "before the loop",
    "rendezvous/base/peer_uid": "the threads of a round's store and of its relay",
    "rendezvous/discovery/fixed": "a thread for look-ups",
    "rendezvous/discovery/folder": "a thread for look-ups",
    "rendezvous/discovery/etcd": "a thread for look-ups",
    "rendezvous/discovery/etcd_claim": "a thread for look-ups, and the coordinator's own thread",
    "rendezvous/discovery/etcd_client": "as etcd_claim",
    "rendezvous/net/http": "as etcd_claim",
    "rendezvous/net/port_owner": "called by discovery/fixed",
    "rendezvous/discovery/folder_claim": "a thread for look-ups, and the coordinator's own thread",
    "rendezvous/discovery/part_file": "as folder_claim",
    "rendezvous/coordinate": "the coordinator's process",
}

BLOCKING = ["open", "openat", "creat", "fopen", "opendir", "mkfifo", "mkdir", "mkdtemp", "bind", "hold_folder", "rename", "symlink", "unlink", "unlinkat", "rmdir",
            "stat", "lstat", "access", "realpath", "readlink", "flock", "fsync", "waitpid", "waitid", "wait4", "system", "popen", "getaddrinfo",
            "getnameinfo", "gethostbyname", "addresses_of", "sleep", "usleep", "nanosleep", "sleep_for", "poll", "select", "text_of", "read_all", "write_all"]
CALL = re.compile(rf"(?<![\w.>])(?:(?:std::this_thread|base|fs|std)?::)?({'|'.join(BLOCKING)})\(")
STREAM = re.compile(r"\bstd::(?:basic_)?[io]?fstream\b|\bstd::filesystem::|\bfs::\w+\(")

# Calls on the loop that cannot block: the file, the call, the reason.
HARMLESS = {
    ("agent/errors/memory.cpp", "access"): "/sys/fs/cgroup",
    ("agent/errors/memory.cpp", "text_of"): "/proc and /sys/fs/cgroup",
    ("agent/group/group_shell.cpp", "text_of"): "/proc",
    ("agent/group/workers.cpp", "waitid"): "WNOHANG",
    ("agent/group/workers_signals.cpp", "waitid"): "WNOHANG",
    ("agent/group/workers_forked.cpp", "open"): "/dev/null",
    ("agent/membership/job_membership_locate.cpp", "addresses_of"): "in a thread for look-ups",
    ("agent/mpi/pmix_process.cpp", "open"): "/dev/null",
    ("agent/process/birth_probe.cpp", "waitid"): "a child of ours that exits at once, before the first round",
    ("agent/process/cgroup.cpp", "access"): "/sys/fs/cgroup",
    ("agent/process/cgroup.cpp", "hold_folder"): "/sys/fs/cgroup",
    ("agent/process/cgroup.cpp", "mkdir"): "/sys/fs/cgroup",
    ("agent/process/cgroup.cpp", "open"): "/sys/fs/cgroup",
    ("agent/process/cgroup.cpp", "opendir"): "/sys/fs/cgroup",
    ("agent/process/cgroup.cpp", "poll"): "bounded by its deadline, in the guard and at the agent's end",
    ("agent/process/cgroup.cpp", "rmdir"): "/sys/fs/cgroup",
    ("agent/process/guard_unresponsive.cpp", "poll"): "in the guard, without a wait",
    ("agent/process/cgroup.cpp", "text_of"): "/proc",
    ("agent/process/children.cpp", "waitid"): "WNOHANG",
    ("agent/process/forking.cpp", "openat"): "/sys/fs/cgroup",
    ("agent/process/guard_lease.cpp", "poll"): "bounded by its deadline, while the guard ends the workers",
    ("agent/process/helper.cpp", "open"): "/dev/null",
    ("agent/process/child_program.cpp", "waitid"): "WNOHANG",
    ("agent/process/limits.cpp", "opendir"): "/proc",
    ("agent/process/proc.cpp", "readlink"): "/proc",
    ("agent/process/proc.cpp", "text_of"): "/proc",
    ("agent/process/spawn.cpp", "waitid"): "a child of ours that has reported its end",
    ("agent/process/shared_memory.cpp", "openat"): "/dev/shm",
    ("agent/process/shared_memory.cpp", "opendir"): "/dev/shm",
    ("agent/process/shared_memory.cpp", "unlinkat"): "/dev/shm",
    ("agent/process/sweep.cpp", "access"): "/proc",
    ("agent/process/sweep.cpp", "opendir"): "/proc",
    ("agent/process/sweep.cpp", "poll"): "in the guard, bounded",
    ("agent/process/sweep.cpp", "text_of"): "/proc",
    ("agent/process/sweep.cpp", "waitid"): "WNOHANG",
    ("agent/process/sweep.cpp", "waitpid"): "WNOHANG",
    ("agent/services/input.cpp", "open"): "/dev/null",
    ("agent/services/store_client.cpp", "addresses_of"): "in a thread for look-ups",
    ("agent/services/template.cpp", "waitid"): "WNOHANG",
    ("rendezvous/base/listener.cpp", "bind"): "an address of the network, no path",
    ("rendezvous/base/reserved_port.cpp", "bind"): "an address of the network, no path",
    ("rendezvous/base/listener.cpp", "getaddrinfo"): "AI_NUMERICHOST, unless the caller is no loop",
    ("rendezvous/net/addresses.cpp", "addresses_of"): "the definition",
    ("rendezvous/net/addresses.cpp", "getaddrinfo"): "AI_NUMERICHOST, or in a thread for look-ups",
    ("rendezvous/net/link.cpp", "addresses_of"): "in a thread for look-ups",
}


def is_below(name, place):
    return name == place or name.startswith(place + "/") or name.rsplit(".", 1)[0] == place


def calls(text):
    """Names of the calls in C++ text, without comments and strings."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)
    text = re.sub(r'"(?:\\.|[^"\\\n])*"', '""', text)
    found = {match[1] for match in CALL.finditer(text)}
    return found | ({"a file stream"} if STREAM.search(text) else set())


def errors(root, elsewhere=ELSEWHERE, harmless=HARMLESS):
    used = set()
    for room in ROOMS:
        for file in sorted((root / room).rglob("*.cpp")):
            name = str(file.relative_to(root))
            if any(is_below(name, place) for place in elsewhere):
                continue
            for call in sorted(calls(file.read_text())):
                if (name, call) in harmless:
                    used.add((name, call))
                else:
                    yield f"{name}: {call} may block the control loop; the I/O thread or base::Background can do it"
    for name, call in sorted(set(harmless) - used):
        yield f"{name}: {call} is listed as harmless, and is not there"


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent)
    wrong = list(errors(root))
    print("\n".join(wrong) if wrong else "the control loop calls nothing that blocks")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
