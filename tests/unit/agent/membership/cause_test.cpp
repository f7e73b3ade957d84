#include "agent/membership/cause.hpp"

#include <gtest/gtest.h>

#include "agent/errors/failure_record.hpp"

namespace dlaunch::agent {
namespace {

/// A rank whose message names the ranks `lost` as lost.
Failure victim(int rank, std::vector<int> lost, int status = 5) {
    Failure failure;
    failure.rank = rank;
    failure.host = "host";
    failure.code = status;
    failure.strength = Strength::lost_peer;
    failure.lost_ranks = std::move(lost);
    return failure;
}

TEST(Cause, the_names_in_messages_of_two_nodes_lead_to_it) {
    rendezvous::Verdict all;
    all.records = {pack_failures({victim(0, {3}), victim(1, {0})}, 10'000),
                   pack_failures({victim(3, {4}), victim(4, {}, 7)}, 10'000)};
    const auto cause = judge(all, false);
    ASSERT_TRUE(cause);
    EXPECT_TRUE(cause->summary.starts_with("rank 4 (host")) << cause->summary;
    EXPECT_EQ(cause->status, 7);
    EXPECT_EQ(cause->strength, rendezvous::Cause::kUnclear);
}

TEST(Cause, of_no_records_is_none) { EXPECT_FALSE(judge({}, false)); }

}  // namespace
}  // namespace dlaunch::agent
