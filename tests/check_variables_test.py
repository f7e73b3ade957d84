#!/usr/bin/env python3
"""Proves that check_variables.py can fail, in both directions."""
import unittest

from check_variables import complaints
from small_tree import said_of_tree

SOURCE = """set(variables, "RANK", 1);
getenv("TMPDIR"); surroundings.set_variable("PYTHON_EXEC");
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


def said_of(source, page):
    return said_of_tree(complaints, {"agent/environment.cpp": source, "man/dlaunch-env.7": page})


class Variables(unittest.TestCase):
    def test_the_same_on_both_sides(self):
        self.assertEqual(said_of(SOURCE, PAGE), [])

    def test_one_that_the_page_lacks(self):
        said = said_of(SOURCE + 'getenv("DLAUNCH_NEW");', PAGE)
        self.assertEqual(said, ["man/dlaunch-env.7: DLAUNCH_NEW is missing, the sources know it"])

    def test_one_that_the_sources_lack(self):
        said = said_of(SOURCE.replace('"SLURM_B"', '"SLURM_A"'), PAGE)
        self.assertEqual(said, ["man/dlaunch-env.7: the sources do not know SLURM_B"])


if __name__ == "__main__":
    unittest.main()
