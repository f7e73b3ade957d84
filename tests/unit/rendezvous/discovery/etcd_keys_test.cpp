#include "rendezvous/discovery/etcd_keys.hpp"

#include <gtest/gtest.h>

#include "rendezvous/discovery/claim.hpp"

#include <chrono>

namespace dlaunch::rendezvous {
namespace {

using namespace std::chrono_literals;
using What = etcd::Compare::What;

TEST(EtcdKeys, AJobHasKeysOfItsOwn) {
    EXPECT_EQ(etcd_prefix("/dlaunch", "night7"), "/dlaunch/night7/");
    EXPECT_EQ(etcd_prefix("", "a/b"), "/a-2fb/") << "another job's keys would begin with /a/ as well";
}

TEST(EtcdKeys, AreToldApart) {
    const EtcdKeys keys = keys_in("/p/j/", {{"/p/j/claim", "c"}, {"/p/j/record", "r"}, {"/p/j/other", "o"}});
    EXPECT_EQ(keys.claim->value, "c");
    EXPECT_EQ(keys.record->value, "r");
    EXPECT_FALSE(keys.handed);
    EXPECT_FALSE(keys.are_missing());
    EXPECT_TRUE(keys_in("/p/j/", {{"/p/j/handed", "h"}}).are_missing());
}

TEST(EtcdKeys, LeasesFollowTheNodeTimeout) {
    EXPECT_EQ(claim_seconds(10s), 5);
    EXPECT_EQ(claim_seconds(5s), 3);
    EXPECT_EQ(claim_seconds(2s), 2) << "etcd has none shorter";
    EXPECT_EQ(handed_seconds(10s), 10);
}

TEST(EtcdKeys, AClaimHoldsOnlyWhereThereIsNoneAndNothingHasChanged) {
    EtcdKeys seen;
    auto claim = to_claim("/j/", seen, "mine", 1, 2);
    ASSERT_EQ(claim.compares.size(), 2U);
    EXPECT_EQ(claim.compares[0].what, What::create_revision);
    EXPECT_EQ(claim.compares[0].key, "/j/claim");
    EXPECT_EQ(claim.compares[0].revision, 0);
    EXPECT_EQ(claim.compares[1].key, "/j/record");
    EXPECT_EQ(claim.compares[1].revision, 0);
    EXPECT_EQ(claim.puts[0].lease, 1);
    EXPECT_EQ(claim.puts[1].lease, 2);
    seen.record = {"/j/record", "theirs", 4, 9};
    EXPECT_EQ(to_claim("/j/", seen, "mine", 1, 2).compares[1].revision, 9) << "the epoch is above this record's";
}

TEST(EtcdKeys, OnlyTheOwnClaimIsRemovedOrReleased) {
    for (const auto& end : {to_remove("/j/", "mine"), to_release("/j/", "mine", "", 0)}) {
        ASSERT_EQ(end.compares.size(), 1U);
        EXPECT_EQ(end.compares[0].what, What::value);
        EXPECT_EQ(end.compares[0].key, "/j/claim");
        EXPECT_EQ(end.compares[0].value, "mine");
    }
    EXPECT_EQ(to_remove("/j/", "mine").deletes.size(), 3U);
    EXPECT_TRUE(to_release("/j/", "mine", "", 0).puts.empty());
    const auto release = to_release("/j/", "mine", "snapshot", 7);
    EXPECT_EQ(release.deletes, std::vector<std::string>{"/j/claim"}) << "the record says that there was a coordinator";
    EXPECT_EQ(release.puts[0].key, "/j/handed");
    EXPECT_EQ(release.puts[0].lease, 7);
}

EtcdKeys with(const char* claim, const char* record) {
    EtcdKeys keys;
    if (claim) keys.claim = {"/j/claim", claim};
    if (record) keys.record = {"/j/record", record};
    return keys;
}

TEST(EtcdKeys, AnOwnerKeepsItsOwnClaimAlive) {
    EXPECT_EQ(owners_step(with("mine", "mine"), "mine", Milliseconds(60'000)), OwnersStep::keep_alive);
    EXPECT_EQ(owners_step(with("theirs", "theirs"), "mine", Milliseconds(0)), OwnersStep::give_up);
}

TEST(EtcdKeys, AnOwnerClaimsAgainOnlySoonAndIfNobodyDidInBetween) {
    EXPECT_EQ(owners_step(with(nullptr, "mine"), "mine", kMayClaimAgain), OwnersStep::claim_again);
    EXPECT_EQ(owners_step(with(nullptr, nullptr), "mine", kMayClaimAgain), OwnersStep::claim_again);
    EXPECT_EQ(owners_step(with(nullptr, "theirs"), "mine", Milliseconds(0)), OwnersStep::give_up);
    EXPECT_EQ(owners_step(with(nullptr, "mine"), "mine", kMayClaimAgain + Milliseconds(1)), OwnersStep::give_up);
    EXPECT_EQ(owners_step(with(nullptr, nullptr), "mine", kMayClaimAgain + Milliseconds(1)), OwnersStep::give_up);
}

}  // namespace
}  // namespace dlaunch::rendezvous
