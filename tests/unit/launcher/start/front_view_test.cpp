#include "launcher/start/front_view.hpp"

#include <gtest/gtest.h>

namespace dlaunch::launcher {
namespace {

using agent::JobProgress;

JobProgress host(int workers, int alive, int nodes) {
    return {.workers = workers, .alive = alive, .max_restarts = 2, .nodes = nodes, .wanted_nodes = 2};
}

TEST(ProgressOfAll, CountsTheWorkersOfAllHosts) {
    JobProgress expected{.workers = 5, .alive = 4, .max_restarts = 2, .nodes = 2, .wanted_nodes = 2};
    EXPECT_EQ(progress_of_all({host(2, 2, 2), host(3, 2, 2)}, {}), expected);
    EXPECT_EQ(progress_of_all({}, {}), JobProgress());
}

TEST(ProgressOfAll, CountsAnEndedHostWhileItsRoundLasts) {
    EXPECT_EQ(progress_of_all({host(2, 2, 2)}, {host(3, 0, 2)}).workers, 5);
    EXPECT_EQ(progress_of_all({host(2, 2, 2)}, {host(3, 3, 2)}).alive, 2);
    EXPECT_EQ(progress_of_all({host(2, 2, 1)}, {host(3, 0, 2)}).workers, 2) << "the job goes on without it";
    EXPECT_EQ(progress_of_all({}, {host(2, 0, 2), host(2, 0, 2)}).workers, 4);
    EXPECT_EQ(progress_of_all({host(2, 0, 2)}, {host(3, 0, 2)}).nodes, 1);
}

}  // namespace
}  // namespace dlaunch::launcher
