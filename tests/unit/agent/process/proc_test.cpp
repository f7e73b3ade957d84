#include "agent/process/proc.hpp"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <unistd.h>

namespace dlaunch::agent {
namespace {

TEST(StatOf, reads_behind_a_name_that_holds_anything) {
    char before[16];
    prctl(PR_GET_NAME, before);
    prctl(PR_SET_NAME, ") Z 1 (");
    const auto self = stat_of(getpid());
    prctl(PR_SET_NAME, before);
    ASSERT_TRUE(self);
    EXPECT_EQ(self->parent, getppid());
    EXPECT_EQ(self->state, 'R');
    EXPECT_GT(self->started, stat_of(1)->started);
    EXPECT_LE(self->started, since_boot());
}

TEST(StatOf, has_none_of_a_missing_process) { EXPECT_FALSE(stat_of(1 << 30)); }

TEST(NameOf, is_the_command_name) {
    char name[16];
    prctl(PR_GET_NAME, name);
    EXPECT_EQ(name_of(getpid()), name);
    EXPECT_EQ(name_of(1 << 30), "");
}

TEST(ProcIsOurs, where_it_shows_this_process) { EXPECT_TRUE(proc_is_ours()); }

}  // namespace
}  // namespace dlaunch::agent
