#include "rendezvous/base/utc.hpp"

#include <gtest/gtest.h>

namespace dlaunch::base {
namespace {

using std::chrono::milliseconds;
using std::chrono::system_clock;

TEST(UtcText, HasMillisecondsAndNoZoneOfThisMachine) {
    EXPECT_EQ(utc_text(system_clock::time_point(milliseconds(1'700'000'000'042))), "2023-11-14T22:13:20.042Z");
    EXPECT_EQ(utc_text({}), "1970-01-01T00:00:00.000Z");
}

TEST(UtcText, RoundsDownBefore1970Too) {
    EXPECT_EQ(utc_text(system_clock::time_point(milliseconds(-1))), "1969-12-31T23:59:59.999Z");
}

TEST(UtcText, fits_into_a_file_name) {
    EXPECT_EQ(utc_file_name(system_clock::time_point(milliseconds(1'700'000'000'042))), "20231114-221320");
}

}  // namespace
}  // namespace dlaunch::base
