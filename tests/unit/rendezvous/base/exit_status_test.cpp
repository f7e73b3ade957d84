#include "rendezvous/base/exit_status.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace dlaunch::exit_status {
namespace {

TEST(SignalOfAStatus, IsThatOfARequestToEnd) {
    EXPECT_EQ(signal_of(128 + SIGTERM), SIGTERM);
    EXPECT_EQ(signal_of(128 + 64), 64);
    EXPECT_EQ(signal_of(128 + SIGKILL), 0);  // no request: nothing handles it
}

TEST(SignalOfAStatus, IsNoneForAnyOtherNumber) {
    for (const int status : {std::numeric_limits<int>::min(), -1, 0, 128, 193, std::numeric_limits<int>::max()})
        EXPECT_EQ(signal_of(status), 0) << status;
}

}  // namespace
}  // namespace dlaunch::exit_status
