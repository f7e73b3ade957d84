#!/usr/bin/env python3
"""Proves that check_variables.py can fail, in both directions."""
import unittest

from check_variables import errors
from small_tree import errors_of_tree

SOURCE = """set(variables, "RANK", 1);
getenv("TMPDIR"); environment.set_variable("PYTHON_EXEC");
for (const char* name : {"SLURM_A", "SLURM_B"}) use(name);
say("SIGTERM");
"""
PAGE = """.SH OF THE WORKERS
.TP
.B RANK
of DLAUNCH_UNKNOWN, in the text
.TP
.BR TMPDIR ", " PYTHON_EXEC
.TP
.BR SLURM_A ", " SLURM_B
.\\" begin variables
.TP
.B DLAUNCH_NNODES
"""


def errors_of(source, page):
    return errors_of_tree(errors, {"agent/environment.cpp": source, "man/dlaunch-env.7": page})


class Variables(unittest.TestCase):
    def test_equal_lists_pass(self):
        self.assertEqual(errors_of(SOURCE, PAGE), [])

    def test_a_variable_missing_in_the_page_is_an_error(self):
        found = errors_of(SOURCE + 'getenv("DLAUNCH_NEW");', PAGE)
        self.assertEqual(found, ["man/dlaunch-env.7: DLAUNCH_NEW is missing, the sources know it"])

    def test_a_variable_missing_in_the_sources_is_an_error(self):
        found = errors_of(SOURCE.replace('"SLURM_B"', '"SLURM_A"'), PAGE)
        self.assertEqual(found, ["man/dlaunch-env.7: the sources do not know SLURM_B"])


if __name__ == "__main__":
    unittest.main()
