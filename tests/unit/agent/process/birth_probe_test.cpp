#include "agent/process/birth_probe.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include "agent/process/cgroup.hpp"

namespace dlaunch::agent {
namespace {

TEST(BirthProbe, fails_without_a_cgroup) { EXPECT_FALSE(BirthProbe(-1).succeeded()); }

TEST(BirthProbe, fails_where_the_descriptor_is_no_cgroup) {
    const base::UniqueFd folder(open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    EXPECT_FALSE(BirthProbe(folder.get()).succeeded());
}

TEST(BirthProbe, leaves_no_child_with_or_without_a_question_for_the_result) {
    { const BirthProbe unread(-1); }
    EXPECT_FALSE(BirthProbe(-1).succeeded());
    EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "a child is left";
}

TEST(BirthProbe, succeeds_in_a_new_cgroup_that_can_be_made) {
    WorkerCgroups groups;
    groups.make();
    groups.finish_making();
    if (groups.folder().empty()) GTEST_SKIP() << "no cgroup v2 folder can be made here";
    EXPECT_TRUE(BirthProbe(groups.open_worker(0, 0).get()).succeeded());
    groups.remove();
}

}  // namespace
}  // namespace dlaunch::agent
