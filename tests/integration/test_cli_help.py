"""--help, version, and the man page beside them."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "man" / "dlaunch.1"


@pytest.mark.parametrize("columns", ["40", "200"])
def test_help_fits_in_100_columns(dlaunch, columns):
    result = dlaunch("--help", env={"COLUMNS": columns})
    assert result.rc == 0 and result.err == "" and max(map(len, result.out.splitlines())) <= 100


@pytest.mark.parametrize("words", [["version"], ["--version"], ["-V"]])
def test_version(dlaunch, words):
    result = dlaunch(*words)
    assert result.rc == 0 and result.err == "" and re.match(r"dlaunch \d+\.\d+\.\d+ ", result.out)


@pytest.mark.skipif(not shutil.which("mandoc"), reason="mandoc is not installed")
def test_the_man_page_is_clean():
    lint = subprocess.run(["mandoc", "-T", "lint", PAGE], capture_output=True, text=True)
    assert lint.stdout == ""


@pytest.mark.skipif(not shutil.which("mandoc"), reason="mandoc is not installed")
def test_the_man_page_has_every_option_of_help_and_no_other(dlaunch):
    page = subprocess.run(["mandoc", "-T", "utf8", PAGE], capture_output=True, text=True, check=True).stdout
    page = re.sub(".\b", "", page).split("\nOPTIONS\n")[1].split("\nCONFIGURATION FILE\n")[0]
    shown = re.findall(r"^ {2,6}(?:-\w, )?(--[a-z-]+)", dlaunch("--help").out, re.M)
    assert sorted(re.findall(r"^ {7}(?:-\w, )?(--[a-z-]+)", page, re.M)) == sorted(shown)
