#!/usr/bin/env python3
"""Proves that check_control_loop.py can fail."""
import unittest

from check_control_loop import errors
from small_tree import errors_of_tree


def errors_of(source, elsewhere=(), harmless=None, name="agent/group/a.cpp"):
    return errors_of_tree(lambda root: errors(root, elsewhere, harmless or {}), {name: source})


class ControlLoop(unittest.TestCase):
    def test_a_call_that_may_block_is_named_with_its_file(self):
        for call in ["open(path)", "::waitpid(pid, 0, 0)", "getaddrinfo(name)", "base::text_of(path)"]:
            (found,) = errors_of(f"void f() {{ {call}; }}")
            self.assertIn("agent/group/a.cpp", found)
        (found,) = errors_of("std::ofstream file(path);")
        self.assertIn("a file stream", found)

    def test_members_comments_and_texts_do_not_count(self):
        self.assertEqual(errors_of('door.open(1); link->open(2); reopen(3); // open(4)\nsay("open(5)"); /* stat(6) */'), [])

    def test_code_that_runs_elsewhere_may_block(self):
        self.assertEqual(errors_of("open(path);", elsewhere=["agent/group"]), [])
        self.assertEqual(errors_of("open(path);", elsewhere=["agent/group/a"]), [])
        self.assertEqual(len(errors_of("open(path);", elsewhere=["agent/gr"])), 1)

    def test_a_harmless_call_is_listed_as_long_as_it_is_there(self):
        listed = {("agent/group/a.cpp", "open"): "/dev/null"}
        self.assertEqual(errors_of("open(path);", harmless=listed), [])
        self.assertEqual(len(errors_of("close(fd);", harmless=listed)), 1)


if __name__ == "__main__":
    unittest.main()
