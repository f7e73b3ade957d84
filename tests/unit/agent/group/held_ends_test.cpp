#include "agent/group/held_ends.hpp"

#include <gtest/gtest.h>

namespace dlaunch::agent {
namespace {

struct Held {
    Held() {
        workers[0].rank = 0;
        workers[1].rank = 1;
        for (Worker& worker : workers) ends.add(worker);
    }
    base::Loop loop;
    Worker workers[2];
    std::vector<int> judged;
    HeldEnds ends{loop, [this](Worker& worker) {
                      judged.push_back(worker.rank);
                      if (judged.size() == 2) loop.stop();
                  }};
};

TEST(HeldEnds, they_are_judged_in_their_order_when_no_request_comes) {
    Held held;
    EXPECT_FALSE(held.ends.empty());
    held.loop.run();
    EXPECT_EQ(held.judged, (std::vector<int>{0, 1}));
    EXPECT_TRUE(held.ends.empty());
    EXPECT_FALSE(held.workers[0].asked_to_stop);
}

TEST(HeldEnds, a_request_excuses_them) {
    Held held;
    held.ends.excuse();
    held.ends.release();
    EXPECT_EQ(held.judged, (std::vector<int>{0, 1}));
    EXPECT_TRUE(held.workers[0].asked_to_stop && held.workers[1].asked_to_stop);
}

}  // namespace
}  // namespace dlaunch::agent
