#include "agent/process/guard_lease.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace dlaunch::agent {
namespace {

using namespace std::chrono_literals;
using Grant = Lease::Grant;

constexpr base::Time kStart{1h};

TEST(Lease, is_due_when_it_expires) {
    Lease lease;
    EXPECT_EQ(lease.due(), Lease::kNever);
    EXPECT_EQ(lease.grant(kStart + 4s), Grant::begun);
    EXPECT_EQ(lease.due(), kStart + 4s);
    EXPECT_EQ(lease.grant(kStart + 5s), Grant::renewed);
    EXPECT_EQ(lease.due(), kStart + 5s);
    lease.lift(0s);
    EXPECT_EQ(lease.due(), Lease::kNever);
    EXPECT_EQ(lease.grant(kStart + 9s), Grant::begun);
}

TEST(Lease, does_not_expire_early) {
    Lease lease;
    EXPECT_FALSE(lease.expire(kStart)) << "nothing is granted";
    EXPECT_EQ(lease.grant(kStart + 4s), Grant::begun);
    EXPECT_FALSE(lease.expire(kStart + 3999ms));
    EXPECT_FALSE(lease.fenced());
    EXPECT_EQ(lease.grant(kStart + 8s), Grant::renewed);
    EXPECT_FALSE(lease.expire(kStart + 5s)) << "it was renewed";
}

TEST(Lease, a_grant_after_the_end_is_too_late) {
    Lease lease;
    EXPECT_EQ(lease.grant(kStart), Grant::begun);
    EXPECT_TRUE(lease.expire(kStart));
    EXPECT_TRUE(lease.is_ending());
    EXPECT_EQ(lease.grant(kStart + 4s), Grant::fenced);
    EXPECT_FALSE(lease.expire(kStart + 1s)) << "once is enough";
    lease.ended();
    EXPECT_TRUE(lease.fenced());
    EXPECT_EQ(lease.due(), Lease::kNever);
    EXPECT_EQ(lease.grant(kStart + 4s), Grant::fenced);
    lease.lift(0s);
    EXPECT_FALSE(lease.fenced());
    EXPECT_EQ(lease.grant(kStart + 4s), Grant::begun);
}

TEST(Lease, lifting_waits_for_the_guard) {
    Lease lease;
    EXPECT_EQ(lease.grant(kStart), Grant::begun);
    ASSERT_TRUE(lease.expire(kStart));
    std::thread guard([&] { lease.ended(); });
    lease.lift(1min);
    guard.join();
    EXPECT_FALSE(lease.fenced());
}

TEST(Lease, a_new_lease_ignores_the_late_end_of_the_old_one) {
    Lease lease;
    EXPECT_EQ(lease.grant(kStart), Grant::begun);
    ASSERT_TRUE(lease.expire(kStart));
    lease.lift(0s);
    EXPECT_FALSE(lease.is_ending());
    EXPECT_EQ(lease.grant(kStart + 4s), Grant::begun);
    lease.ended();
    EXPECT_FALSE(lease.fenced());
    EXPECT_EQ(lease.due(), kStart + 4s);
}

}  // namespace
}  // namespace dlaunch::agent
