#!/usr/bin/env python3
"""Proves that check_pages.py can fail, in both directions."""
import unittest

from check_pages import complaints
from small_tree import said_of_tree

HEADER = """/// not_a_function(of this header)
inline constexpr int kMost = 3;
class Thing {
public:
    explicit Thing(int size);
    [[nodiscard]] std::optional<int> size() const { return size_; }

private:
    void hidden();
    int size_;
};
inline void free_one(int x = 0, const Thing& thing = {}) { use(x); }
"""
PAGE = """.SH SYNOPSIS
.B class Thing { size(); };
.B free_one()
.SH DESCRIPTION
kMost
"""


def said_of(header, page):
    return said_of_tree(complaints, {"worker_lib/include/dlaunch/thing.hpp": header, "man/thing.3": page})


class Pages(unittest.TestCase):
    def test_the_same_on_both_sides(self):
        self.assertEqual(said_of(HEADER, PAGE), [])

    def test_what_no_page_names(self):
        for name in ("kMost", "Thing", "size", "free_one"):
            said = said_of(HEADER, PAGE.replace(name, "other"))
            self.assertIn(f"man/*.3: {name} is missing, a public header declares it", said)

    def test_what_no_header_declares(self):
        said = said_of(HEADER, PAGE + ".BR hidden() .\n")
        self.assertEqual(said, ["man/thing.3: no public header declares hidden()"])


if __name__ == "__main__":
    unittest.main()
