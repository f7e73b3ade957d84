#include <gtest/gtest.h>

#include "rendezvous/rounds/coordinator.hpp"
#include "tests/support/rendezvous/coordinator_job.hpp"

namespace dlaunch::rendezvous {
namespace {

TEST(CoordinatorJudge, unclear_causes_of_several_nodes_are_judged_together) {
    const auto restart_after = [](std::uint8_t strength) {
        auto options = Job::options(2, 2, 1);
        options.judge = [](const Verdict& of, bool) -> std::optional<Cause> {
            EXPECT_EQ(of.records, (std::vector<std::string>{"of node 0", "of node 1"}));
            return Cause{.status = 5, .kind = "judged", .summary = "rank 1 exited with 5", .strength = Cause::kUnclear};
        };
        Job job(options);
        job.join(0), job.join(1);
        const auto cause = [&](std::uint8_t by, const char* record) {
            return Cause{.status = 3, .kind = "own", .summary = record, .record = record, .strength = by};
        };
        job.over(0, false, cause(strength, "of node 0")), job.over(1, false, cause(Cause::kUnclear + 3, "of node 1"));
        return *job.received<Notice>(0);
    };
    EXPECT_EQ(restart_after(Cause::kUnclear).cause, "rank 1 exited with 5");
    EXPECT_EQ(restart_after(Cause::kUnclear + 2).cause, "rank 1 exited with 5");
    EXPECT_EQ(restart_after(Cause::kUnclear - 1).cause, "of node 0") << "a clear one";
}

}  // namespace
}  // namespace dlaunch::rendezvous
