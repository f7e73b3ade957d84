#!/usr/bin/env python3
"""Makes the wheel: the module dlaunch, the program as a script of the environment, and their man pages.

    make_wheel.py --program FILE --version X.Y.Z --out FOLDER     prints the path of the wheel

The tag names the newest glibc of which the program needs a symbol. Equal inputs give equal bytes.
"""
import argparse
import base64
import hashlib
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PAGES = ["dlaunch.1", "dlaunch-env.7", "dlaunch-python.7", "dlaunch-store.1", "dlaunch-systemd.7", "dlaunch-torchrun.7", "dlaunch-upgrade.7"]
OF_GLIBC = re.compile(r"(libc|libm|libdl|librt|libpthread|libresolv|ld-linux[-\w]*)\.so\.\d+$")
MACHINES = {"Advanced Micro Devices X86-64": "x86_64", "AArch64": "aarch64"}


def fail(text):
    sys.exit(f"make_wheel.py: {text}")


def readelf(option, program):
    done = subprocess.run(["readelf", "-W", option, str(program)], capture_output=True, text=True, env={"LC_ALL": "C", "PATH": "/usr/bin:/bin"})
    if done.returncode != 0:
        fail(f"{program}: {done.stderr.strip() or 'readelf failed'}, expected a program")
    return done.stdout


def platform_tag(program):
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", readelf("-d", program))
    others = [library for library in needed if not OF_GLIBC.match(library)]
    if others:
        fail(f"{program} needs {', '.join(others)}, expected no library but glibc; build the preset release")
    machine = re.search(r"Machine:\s+(.*)", readelf("-h", program))[1]
    if machine not in MACHINES:
        fail(f"{program} is for {machine}, expected one of {', '.join(MACHINES.values())}")
    newest = max(int(minor) for minor in re.findall(r"\bGLIBC_2\.(\d+)", readelf("-V", program)))
    return f"manylinux_2_{newest}_{MACHINES[machine]}"


def stripped(program, folder):
    copy = folder / "dlaunch"
    shutil.copyfile(program, copy)
    subprocess.run(["strip", str(copy)], check=True)
    return copy.read_bytes()


def metadata(version):
    described = (HERE / "DESCRIPTION.md").read_text()
    return f"""Metadata-Version: 2.1
Name: dlaunch
Version: {version}
Summary: Launcher for distributed programs, a replacement for torchrun
License: Apache-2.0
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: C++
Classifier: Programming Language :: Python :: 3
Requires-Python: >=3.8
Description-Content-Type: text/markdown

{described}"""


def contents(program, version, tag, folder):
    """(name in the wheel, bytes, is it executable) of each file but RECORD."""
    info, data = f"dlaunch-{version}.dist-info", f"dlaunch-{version}.data"
    for file in sorted([*(HERE / "dlaunch").glob("*.py"), HERE / "dlaunch" / "py.typed"]):
        yield f"dlaunch/{file.name}", file.read_bytes(), False
    yield "dlaunch_replace_torchrun.pth", (HERE / "dlaunch_replace_torchrun.pth").read_bytes(), False
    yield f"{data}/scripts/dlaunch", stripped(program, folder), True
    for page in PAGES:
        yield f"{data}/data/share/man/man{page[-1]}/{page}", (ROOT / "man" / page).read_bytes(), False
    yield f"{info}/LICENSE", (ROOT / "LICENSE").read_bytes(), False
    yield f"{info}/METADATA", metadata(version).encode(), False
    wheel = f"Wheel-Version: 1.0\nGenerator: make_wheel.py\nRoot-Is-Purelib: false\nTag: py3-none-{tag}\n"
    yield f"{info}/WHEEL", wheel.encode(), False


def write(archive, name, content, executable=False):
    entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    entry.external_attr = (0o100755 if executable else 0o100644) << 16
    entry.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(entry, content)


def make(program, version, out):
    tag = platform_tag(program)
    path = out / f"dlaunch-{version}-py3-none-{tag}.whl"
    record = f"dlaunch-{version}.dist-info/RECORD"
    lines = []
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(path, "w") as archive:
        for name, content, executable in contents(program, version, tag, Path(folder)):
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            lines.append(f"{name},sha256={digest},{len(content)}\n")
            write(archive, name, content, executable)
        write(archive, record, "".join([*lines, f"{record},,\n"]))
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=Path, required=True)
    parser.add_argument("--version", required=True)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    if not options.program.is_file():
        fail(f"{options.program} is not there, expected the built program dlaunch; build it with ./dev build")
    print(make(options.program, options.version, options.out))


if __name__ == "__main__":
    main()
