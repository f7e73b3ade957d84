"""The unit of examples/systemd: systemd accepts it, dlaunch accepts its command line, and the page shows its lines."""

import re
import subprocess

import pytest

from conftest import ROOT

UNIT = ROOT / "examples/systemd/dlaunch-train.service"


@pytest.mark.needs("systemd-analyze")
def test_systemd_accepts_it(binary, tmp_path):
    unit = tmp_path / UNIT.name
    unit.write_text(UNIT.read_text().replace("/usr/bin/dlaunch", str(binary)))
    done = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and unit.name not in done.stderr, done.stderr


def test_dlaunch_accepts_its_command_line(dlaunch, script):
    line = re.search(r"^ExecStart=(.*(?:\\\n.*)*)", UNIT.read_text(), re.M)[1].replace("\\\n", "")
    *options, program = line.split()[1:]
    result = dlaunch("--dry-run", *options, script(program, ""))
    assert result.rc == 0, result.err


def test_the_page_shows_its_lines():
    page = (ROOT / "man/dlaunch-systemd.7").read_text().replace("\\-", "-")
    shown = re.search(r"^\.EX\n\[Service\]\n(.*?)^\.EE", page, re.M | re.S)[1].splitlines()
    lines = UNIT.read_text().splitlines()
    assert len(shown) > 5 and all(line in lines for line in shown if not line.startswith("ExecStart=")), shown
