#include "launcher/start/status_line.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace dlaunch::launcher {
namespace {

using namespace std::chrono_literals;
using Names = std::vector<std::string_view>;

TEST(StatusLine, names_the_awaited_hosts) {
    EXPECT_EQ(status_line("starting", 4, Names{"n3", "n7"}, 12s), "starting: 2 of 4 hosts, waiting for n3, n7 (12 s)");
}

TEST(StatusLine, fits_a_terminal_of_80_columns_with_any_number_of_names) {
    const Names names(1000, "node-with-a-long-name");
    for (std::size_t count = 1; count <= names.size(); ++count) {
        const std::string line =
            status_line("starting", 1000, Names(names.begin(), names.begin() + static_cast<long>(count)), 59s);
        EXPECT_LE(line.size(), 79U) << line;
    }
    EXPECT_EQ(status_line("starting", 1000, names, 1s),
              "starting: 0 of 1000 hosts, waiting for node-with-a-long-name, ... (1 s)");
}

TEST(StatusLine, is_cut_where_the_terminal_is_narrow) {
    EXPECT_EQ(status_line("starting", 2, Names{"n1", "n2"}, 3s, 39), "starting: 0 of 2 hosts, waiting for n1,");
    EXPECT_EQ(status_line("starting", 2, Names{"n1", "n2"}, 3s, 10), "starting: ");
}

TEST(StoppingLine, has_the_reason_and_the_time) {
    EXPECT_EQ(stopping_line("the job outlived --timeout=2", 4s),
              "stopping all workers: the job outlived --timeout=2 (4 s)");
    EXPECT_EQ(stopping_line("", 4s), "stopping all workers (4 s)");
    EXPECT_EQ(stopping_line("a\x1b[2Jb", 4s).find('\x1b'), std::string::npos);
}

TEST(StoppingLine, keeps_the_time_where_the_reason_is_cut) {
    EXPECT_EQ(stopping_line("rank 3 exited with status 1", 12s, 40), "stopping all workers: rank 3  ... (12 s)");
    for (std::size_t columns = 1; columns < 40; ++columns)
        EXPECT_LE(stopping_line("rank 3 exited", 1s, columns).size(), columns);
}

}  // namespace
}  // namespace dlaunch::launcher
