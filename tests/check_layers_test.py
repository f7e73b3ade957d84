#!/usr/bin/env python3
"""Proves that check_layers.py can fail: each rule on a small tree of its own."""
import unittest

from check_layers import LAYERS, MAY_INCLUDE, MOST_LINES, below, errors
from small_tree import errors_of_tree

GOOD = {
    "rendezvous/base/fd.hpp": "#pragma once\n",
    "rendezvous/wire/codec.hpp": "#pragma once\n",
    "rendezvous/store/client.hpp": '#pragma once\n#include "rendezvous/wire/codec.hpp"\n',
    "rendezvous/store/server/server.hpp": '#pragma once\n#include "rendezvous/base/fd.hpp"\n',
    "agent/plan.hpp": '#pragma once\n#include "rendezvous/base/fd.hpp"\n',
    "agent/logs/lines.cpp": '#include <CLI/CLI.hpp>\n#include "agent/plan.hpp"\n',
    "launcher/main.cpp": '#include "agent/plan.hpp"\n',
    "worker_lib/src/store.cpp": '#include "rendezvous/store/client.hpp"\n#include "rendezvous/wire/codec.hpp"\n',
    "examples/hello.cpp": "#include <dlaunch/worker.hpp>\n",
    "tests/unit/agent/logs/lines_test.cpp": '#include "agent/plan.hpp"\n',
    "dev": "#!/bin/bash\n",
    "CMakeLists.txt": "project(x)\n",
}


def errors_of(files):
    """The errors of the good tree with some files replaced or added."""
    return errors_of_tree(errors, {**GOOD, **files})


class Rules(unittest.TestCase):
    def refused(self, name, text, part):
        found = errors_of({name: text})
        self.assertEqual(len(found), 1, found)
        self.assertIn(name, found[0])
        self.assertIn(part, found[0])

    def test_a_good_tree_passes(self):
        self.assertEqual(errors_of({}), [])

    def test_nothing_points_upwards(self):
        self.refused("rendezvous/base/up.cpp", '#include "agent/plan.hpp"\n', "must not include agent/plan.hpp")
        self.refused("agent/up.cpp", '#  include "launcher/main.cpp"\n', "must not include launcher/main.cpp")

    def test_rooms_of_a_layer_point_one_way(self):
        self.refused("rendezvous/wire/up.cpp", '#include "rendezvous/store/client.hpp"\n', "must not include")
        self.refused("rendezvous/rounds/socket.cpp", '#include "rendezvous/store/server.hpp"\n', "must not include")
        self.assertEqual(errors_of({"agent/services/a.hpp": "#pragma once\n", "agent/group/a.cpp": '#include "agent/services/a.hpp"\n'}), [])
        self.refused("agent/process/guard.cpp", '#include "agent/plan.hpp"\n', "agent/process must not include")

    def test_the_rules_themselves_have_no_cycle(self):
        """The rule of a room must not lead back to that room through the rules of other rooms."""
        def uses(room):
            return [other for other in MAY_INCLUDE if other != room and other not in LAYERS
                    and any(below(other, place) for place in MAY_INCLUDE[room])]

        for start in MAY_INCLUDE:
            reached, todo = set(), uses(start)
            while todo:
                room = todo.pop()
                if room not in reached:
                    reached.add(room)
                    todo += uses(room)
            self.assertNotIn(start, reached)

    def test_worker_lib_sees_only_the_store_and_the_wire(self):
        self.refused("worker_lib/src/a.cpp", '#include "rendezvous/rounds/member.hpp"\n', "must not include")
        self.refused("worker_lib/src/a.cpp", '#include "rendezvous/net/addresses.hpp"\n', "must not include")
        self.refused("worker_lib/src/a.cpp", '#include "agent/plan.hpp"\n', "must not include")

    def test_examples_use_the_library_as_users_do(self):
        self.refused("examples/a.cpp", '#include "rendezvous/wire/codec.hpp"\n', "must not include")

    def test_a_unit_test_follows_the_rules_of_its_layer(self):
        self.refused("tests/unit/rendezvous/base/fd_test.cpp", '#include "agent/plan.hpp"\n', "must not include")

    def test_includes_are_paths_from_the_root(self):
        self.refused("agent/logs/near.cpp", '#include "lines.hpp"\n', "no path from the root")
        self.refused("agent/logs/near.cpp", '#include "agent/logs/missing.hpp"\n', "no path from the root")

    def test_heavy_headers_reach_one_file(self):
        user = '#include "agent/some.hpp"\n'
        light = {"nlohmann/json_fwd.hpp": 2, "vector": 2}
        for name, users_allowed in {**light, "CLI/CLI.hpp": 1, "nlohmann/json.hpp": 1, "boost/asio/ip/tcp.hpp": 1}.items():
            some = {"agent/some.hpp": f"#pragma once\n#include <{name}>\n"}
            self.assertEqual(errors_of({**some, "agent/a.cpp": user}), [])
            self.assertEqual(len(errors_of({**some, "agent/a.cpp": user, "agent/b.cpp": user})), 2 - users_allowed)

    def test_variables_reach_the_agent_in_its_plan(self):
        self.refused("agent/logs/a.cpp", 'std::getenv("TMPDIR");\n', "the plan")
        self.refused("rendezvous/base/a.cpp", 'getenv("TMPDIR");\n', "the plan")
        self.assertEqual(errors_of({"launcher/a.cpp": 'getenv("TMPDIR");\n'}), [])

    def test_headers_are_read_once(self):
        self.refused("agent/twice.hpp", "int x;\n", "#pragma once")

    def test_files_stay_small(self):
        self.assertEqual(errors_of({"agent/long.cpp": "\n" * MOST_LINES}), [])
        self.refused("agent/long.cpp", "\n" * (MOST_LINES + 1), "lines")

    def test_no_tabs(self):
        self.refused("dev", "a\nb\tc\n", "tab in line 2")
        self.refused("agent/CMakeLists.txt", "\tx\n", "tab in line 1")

    def test_unit_tests_mirror_the_sources(self):
        self.assertEqual(errors_of({"tests/unit/agent/logs/lines_flood_test.cpp": ""}), [])
        self.refused("tests/unit/agent/logs/line_test.cpp", "", "nothing of that name")
        self.refused("tests/unit/agent/lines_test.cpp", "", "nothing of that name")
        self.refused("tests/unit/agent/logs/lines.cpp", "", "is not called")


if __name__ == "__main__":
    unittest.main()
