"""How the Python module takes an interpreter's command line and a parser's values apart."""

import argparse
import sys

import pytest

from packages import MODULE

sys.path.insert(0, str(MODULE))
from dlaunch._arguments import program_of, words_of  # noqa: E402


@pytest.mark.parametrize("line, expected", [
    ("python -m x.run a -m b", ("-m", "x.run", ["a", "-m", "b"])),
    ("python -um x.run a", ("-m", "x.run", ["a"])),
    ("python -Xdev -W ignore -mx.run", ("-m", "x.run", [])),
    ("python -X dev -IOO -Wignore -m x.run", ("-m", "x.run", [])),
    ("python --check-hash-based-pycs always -m x.run", ("-m", "x.run", [])),
    ("python s.py -m x.run", ("", "s.py", ["-m", "x.run"])),
    ("python - -m x.run", ("", "-", ["-m", "x.run"])),
    ("python -c text -m x.run", ("", "", [])),
    ("python -Bc text", ("", "", [])),
    ("python -m", ("-m", "", [])),
    ("python", ("", "", [])),
    ("", ("", "", [])),
])
def test_the_program_of_a_command_line(line, expected):
    assert program_of(line.split()) == expected


def words(values):
    parser = argparse.ArgumentParser()
    parser.add_argument("-x", "--long-name", "--long_name", default="1")
    parser.add_argument("--flag", action="store_true")
    parser.add_argument("--on", action="store_true", default=True)
    parser.add_argument("--many", default=[])
    return words_of(argparse.Namespace(training_script="s", **values), parser._actions)


@pytest.mark.parametrize("values, expected", [
    ({}, ["s"]),
    ({"long_name": "1", "flag": False, "on": True, "many": [], "other": 5}, ["s"]),
    ({"long_name": 1, "flag": 0, "on": 1, "many": None}, ["s"]),
    ({"long_name": 2, "flag": 1}, ["--long-name=2", "--flag=1", "s"]),
    ({"long_name": "", "on": False}, ["--long-name=", "--on=0", "s"]),
    ({"many": ["a,b", "c"]}, ["--many=a,,b,c", "s"]),
    ({"training_script_args": ["-x", 1.5]}, ["s", "-x", "1.5"]),
    ({"use_env": False, "training_script_args": ["x"]}, ["s", "--local-rank=${local_rank}", "x"]),
    ({"use_env": True}, ["s"]),
])
def test_the_words_of_values(values, expected):
    assert words(values) == expected
