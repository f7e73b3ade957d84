#include "rendezvous/discovery/claim_text.hpp"

#include <gtest/gtest.h>

#include "rendezvous/discovery/claim.hpp"

namespace dlaunch::rendezvous {
namespace {

TEST(ClaimText, HasPlaceAndEpoch) {
    const std::string text = claim_text({"10.0.0.1", 4711}, "node1", 77);
    EXPECT_EQ(place_in(text), (Endpoint{"10.0.0.1", 4711}));
    EXPECT_EQ(epoch_in(text), 77U);
    EXPECT_NE(text, claim_text({"10.0.0.1", 4711}, "node1", 77)) << "each has a random number";
    EXPECT_EQ(place_in(claim_text({"fe80::1", 4711}, "node1", 1)), (Endpoint{"fe80::1", 4711}));
}

TEST(ClaimText, AnotherTextHasNeither) {
    for (const char* text : {"", "x y", "10.0.0.1", "\n\n\n"}) {
        EXPECT_EQ(place_in(text).port, 0) << text;
        EXPECT_EQ(epoch_in(text), 0U) << text;
    }
}

TEST(ClaimText, AnEpochIsAboveAllAndAtLeastTheTime) {
    constexpr std::int64_t kNow = 1'800'000'000'000;
    const std::uint64_t now = epoch_after(0, kNow);
    EXPECT_GT(epoch_after(now, kNow), now);
    EXPECT_GT(epoch_after(now + 5, kNow), now + 5) << "a successor in the same seat counts up from the claim's";
    EXPECT_GT(epoch_after(0, kNow + 1), now);
    EXPECT_GT(epoch_after(7, 0), 7U) << "a clock that is wrong";
}

TEST(ClaimText, JobsHaveNamesOfTheirOwn) {
    EXPECT_EQ(file_name_of_job("night7"), "night7");
    EXPECT_EQ(file_name_of_job("a/b"), "a-2fb");
    EXPECT_EQ(file_name_of_job("a-2fb"), "a-2d2fb");
    EXPECT_LT(file_name_of_job(std::string(5000, 'x')).size(), 130U);
    EXPECT_NE(file_name_of_job(std::string(5000, 'x')), file_name_of_job(std::string(5001, 'x')));
}

}  // namespace
}  // namespace dlaunch::rendezvous
