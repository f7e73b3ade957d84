#!/usr/bin/env python3
"""Proves that check_pages.py can fail, in both directions."""
import unittest

from check_pages import errors
from small_tree import errors_of_tree

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
namespace detail {
struct Inner {
    int size;
};
inline int inner() {
    return 3;
}
struct Last {};
}  // namespace detail
"""
PAGE = """.SH SYNOPSIS
.B class Thing { size(); };
.B free_one()
.SH DESCRIPTION
kMost
"""


def errors_of(header, page):
    return errors_of_tree(errors, {"worker_lib/include/dlaunch/thing.hpp": header, "man/thing.3": page})


class Pages(unittest.TestCase):
    def test_equal_lists_pass(self):
        self.assertEqual(errors_of(HEADER, PAGE), [])

    def test_a_name_without_a_page_is_an_error(self):
        for name in ("kMost", "Thing", "size", "free_one"):
            found = errors_of(HEADER, PAGE.replace(name, "other"))
            self.assertIn(f"man/*.3: {name} is missing, a public header declares it", found)

    def test_a_name_without_a_declaration_is_an_error(self):
        found = errors_of(HEADER, PAGE + ".BR hidden() .\n")
        self.assertEqual(found, ["man/thing.3: no public header declares hidden()"])


if __name__ == "__main__":
    unittest.main()
