#include "rendezvous/discovery/handed_over.hpp"

#include <gtest/gtest.h>

#include "rendezvous/wire/rounds.hpp"

namespace dlaunch::rendezvous {
namespace {

Snapshot snapshot_of(std::int32_t round, std::int32_t nodes) {
    Snapshot snapshot;
    snapshot.round = round;
    snapshot.nodes = nodes;
    snapshot.restart_reason = "node1 was\nlost";
    return snapshot;
}

const std::string kClaim = "10.0.0.1:29400\nhost node1\nepoch 7\n";

TEST(HandedOver, is_the_last_line_of_a_claim) {
    const HandedOver left{1'700'000'000'123, snapshot_of(4, 3)};
    const std::string claim = kClaim + record_line(left.at_ms, wire::encode(left.snapshot));
    EXPECT_EQ(handed_over_in(claim), left);
    EXPECT_EQ(std::count(claim.begin(), claim.end(), '\n'), 4);
}

TEST(HandedOver, is_none_if_the_line_is_incomplete_or_damaged) {
    const std::string line = record_line(5, wire::encode(snapshot_of(4, 3)));
    EXPECT_EQ(handed_over_in(kClaim), std::nullopt);
    for (std::size_t size = 0; size < line.size(); ++size)
        EXPECT_EQ(handed_over_in(kClaim + line.substr(0, size)), std::nullopt) << size;
    for (const char* damaged :
         {"record \n", "record 5\n", "record 5 \n", "record x 00\n", "record 5 0\n", "record 5 zz\n"})
        EXPECT_EQ(handed_over_in(kClaim + damaged), std::nullopt) << damaged;
}

TEST(HandedOver, is_unused_if_no_node_has_joined) {
    EXPECT_TRUE((HandedOver{0, snapshot_of(-1, 0)}.is_unused()));
    EXPECT_FALSE((HandedOver{0, snapshot_of(-1, 1)}.is_unused()));
    EXPECT_FALSE((HandedOver{0, snapshot_of(0, 0)}.is_unused()));
    Snapshot unknown = snapshot_of(-1, 0);
    unknown.complete = false;
    EXPECT_FALSE((HandedOver{0, unknown}.is_unused())) << "an earlier coordinator had members";
}

}  // namespace
}  // namespace dlaunch::rendezvous
