#!/usr/bin/env python3
"""Checks the includes between folders, the sizes of files, that unit tests mirror the sources, and that the agent reads
no variables.

    check_layers.py [ROOT]      prints what is wrong, one line each; status 1 if anything is
"""
import re
import sys
from pathlib import Path

# Dependencies point one way: between the layers, and between the rooms of a layer. A path means this folder or file and
# all below it. A file follows the rule of the longest key that is its path or above it; its own room is always allowed.
MAY_INCLUDE = {
    "launcher": ["agent", "rendezvous"],
    "launcher/hosts": ["rendezvous/base"],
    "launcher/start": ["launcher/cli", "launcher/hosts", "launcher/deps", "launcher/job_token", "launcher/plan", "launcher/plan_mpi", "launcher/plan_ranks", "launcher/print_error", "agent", "rendezvous"],
    "launcher/jobs": ["agent/logs/old_runs", "agent/process", "agent/services/job_link", "launcher/cli", "launcher/print_error", "rendezvous/base"],
    "launcher/mpi": ["agent/mpi/family", "agent/process/pidfd", "launcher/cli", "rendezvous/base"],
    "launcher/slurm": ["agent/plan", "launcher/cli", "launcher/hosts", "rendezvous/base"],
    "agent": ["rendezvous"],
    "agent/plan": ["rendezvous/base", "rendezvous/auth/token", "rendezvous/net/endpoint", "agent/mpi/family"],
    "agent/process": ["rendezvous/base", "rendezvous/wire"],
    "agent/errors": ["rendezvous/base"],
    "agent/binding": ["rendezvous/base", "agent/plan"],
    "agent/logs": ["rendezvous/base", "agent/plan", "agent/process"],
    "agent/status": ["rendezvous/base", "agent/plan", "agent/errors"],
    "agent/io": ["rendezvous/base", "agent/plan", "agent/errors", "agent/logs", "agent/status"],
    "agent/services": ["rendezvous", "agent/plan", "agent/process", "agent/errors", "agent/membership/assignment"],
    "agent/mpi": ["rendezvous", "agent/plan", "agent/process", "agent/errors", "agent/services", "agent/membership/assignment"],
    "agent/membership": ["rendezvous", "agent/plan", "agent/process", "agent/errors", "agent/services/worker_store"],
    "agent/group": ["rendezvous", "agent/plan", "agent/process", "agent/errors", "agent/binding", "agent/io", "agent/logs/run_paths", "agent/status/events",
                    "agent/services", "agent/membership", "agent/mpi"],
    "rendezvous": [],
    "rendezvous/base": [],
    "rendezvous/auth": ["rendezvous/base"],
    "rendezvous/wire": ["rendezvous/base"],
    "rendezvous/net/stream": ["rendezvous/base", "rendezvous/auth"],
    "rendezvous/store/core": ["rendezvous/base", "rendezvous/wire"],
    "rendezvous/store/server": ["rendezvous/base", "rendezvous/auth", "rendezvous/net/stream", "rendezvous/wire", "rendezvous/store/core"],
    "rendezvous/store/relay": ["rendezvous/base", "rendezvous/auth", "rendezvous/net/stream", "rendezvous/net/addresses", "rendezvous/wire", "rendezvous/store/core", "rendezvous/store/server"],
    "rendezvous/store/client": ["rendezvous/base", "rendezvous/wire", "rendezvous/store/core"],
    "rendezvous/rounds": ["rendezvous/base", "rendezvous/wire"],
    "rendezvous/net": ["rendezvous/base", "rendezvous/auth", "rendezvous/wire", "rendezvous/rounds"],
    "rendezvous/discovery": ["rendezvous/base", "rendezvous/auth", "rendezvous/wire", "rendezvous/net"],
    "rendezvous/coordinate": ["rendezvous"],
    "worker_lib": ["rendezvous/base", "rendezvous/store/client", "rendezvous/store/server/threaded_server", "rendezvous/wire"],
    "worker_lib/src/tcp": ["worker_lib", "rendezvous/base", "rendezvous/net/addresses"],
    "examples": [],  # and <dlaunch/...>, as any user of the library
}
LAYERS = [room for room in MAY_INCLUDE if "/" not in room]
# Headers that take seconds to compile: a project header that includes one may have one user only.
HEAVY = re.compile(r'^\s*#\s*include\s*[<"](CLI/|nlohmann/json\.hpp|boost/(asio|beast|process)|spdlog/)', re.MULTILINE)
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)
GETENV = re.compile(r"\b(?:secure_)?getenv\(")
CODE = {".cpp", ".hpp", ".h", ".py", ".sh", ".cmake"}
OTHER_CODE = {"dev", "CMakeLists.txt"}
MOST_LINES = 400


def sources(root):
    """All files with code, relative to the root."""
    folders = [*LAYERS, "tests"]
    files = [file for folder in folders for file in sorted((root / folder).rglob("*"))]
    files += [root / name for name in sorted(OTHER_CODE)]
    return [file.relative_to(root) for file in files if file.is_file() and (file.suffix in CODE or file.name in OTHER_CODE)]


def room_of(file):
    """The key of the rule that a file follows; a unit test follows that of the layer that it tests. None: any."""
    if file.parts[:2] == ("tests", "unit"):
        return file.parts[2] if file.parts[2] in LAYERS else None
    rooms = [room for room in MAY_INCLUDE if below(str(file), room)]
    return max(rooms, key=len, default=None)


def below(path, place):
    """Whether a path is `place`, lies in it, or is a file of that name with any ending."""
    return path == place or path.startswith((place + "/", place + "."))


def bad_includes(root, file, text):
    room = room_of(file)
    for name in INCLUDE.findall(text):
        if room and name.split("/")[0] in LAYERS and not any(below(name, place) for place in [room, *MAY_INCLUDE[room]]):
            yield f"{file}: {room} must not include {name}"
        elif not (root / name).is_file():
            yield f"{file}: {name} is no path from the root of the repository"
    if file.suffix == ".hpp" and "#pragma once" not in text:
        yield f"{file}: no #pragma once"


def bad_weights(texts):
    """Heavy headers reach as few translation units as can be."""
    users = {}
    for file, text in texts.items():
        for name in dict.fromkeys(INCLUDE.findall(text)):
            users.setdefault(name, []).append(str(file))
    for header, text in texts.items():
        heavy = HEAVY.search(text) if header.suffix == ".hpp" else None
        if heavy and len(reached := users.get(str(header), [])) > 1:
            yield f"{header}: {heavy[0].strip()} reaches {', '.join(reached)}; it belongs into one .cpp file"


def bad_shape(file, text):
    lines = text.count("\n")
    if lines > MOST_LINES:
        yield f"{file}: {lines} lines, more than {MOST_LINES}"
    if "\t" in text:
        yield f"{file}: a tab in line {text[:text.index(chr(9))].count(chr(10)) + 1}"


def bad_mirror(root, file):
    """A unit test is found by the path of its topic; lines_flood_test.cpp is a second one for lines.cpp."""
    if file.parts[:2] == ("tests", "unit") and file.suffix == ".cpp":
        folder, words = Path(*file.parts[2:-1]), file.stem.split("_")
        topics = ["_".join(words[:count]) for count in range(1, len(words))]
        if words[-1] != "test":
            yield f"{file}: is not called ..._test.cpp"
        elif not any((root / folder / f"{topic}{ending}").is_file() for topic in topics for ending in (".cpp", ".hpp")):
            yield f"{file}: nothing of that name to test in {folder}/"


def bad_reads(file, text):
    """The launcher puts variables into the plan; the agent reads no environment."""
    if file.parts[0] in ("agent", "rendezvous") and GETENV.search(text):
        yield f"{file}: reads a variable of the environment; the launcher puts it into the plan"


def errors(root):
    texts = {file: (root / file).read_text() for file in sources(root)}
    yield from bad_weights(texts)
    for file, text in texts.items():
        yield from bad_shape(file, text)
        if file.suffix in (".cpp", ".hpp", ".h"):
            yield from bad_includes(root, file, text)
            yield from bad_mirror(root, file)
            yield from bad_reads(file, text)


def main():
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent
    found = list(errors(root))
    print("\n".join(found) if found else f"{len(sources(root))} files, all in order")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
