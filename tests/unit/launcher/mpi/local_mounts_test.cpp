#include "launcher/mpi/local_mounts.hpp"

#include <gtest/gtest.h>

namespace dlaunch::launcher {
namespace {

using Place = std::optional<std::string>;

LocalMounts mounts(const std::string& more = "") {
    return LocalMounts(
        "21 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
        "22 21 0:20 / /proc rw - proc proc rw\n"
        "23 21 0:30 / /home rw shared:5 master:2 - nfs4 server:/home rw,hard\n"
        "24 23 8:3 / /home/scratch rw - xfs /dev/sdb1 rw\n"
        "25 21 8:4 / /data\\040sets rw - btrfs /dev/sdc1 rw\n" +
        more);
}

TEST(LocalMounts, TheDeepestMountCounts) {
    EXPECT_EQ(mounts().local_place_of("/usr/bin/true"), Place("/"));
    EXPECT_EQ(mounts().local_place_of("/data sets/a"), Place("/data sets"));
    EXPECT_EQ(mounts().local_place_of("/data sets"), Place("/data sets"));
    EXPECT_EQ(mounts().local_place_of("/homework/a"), Place("/"));
}

TEST(LocalMounts, AServersFilesAreNotLocal) {
    EXPECT_EQ(mounts().local_place_of("/home/ann/solver"), std::nullopt);
    EXPECT_EQ(mounts().local_place_of("/home"), std::nullopt);
    EXPECT_EQ(mounts().local_place_of("/proc/self/exe"), std::nullopt);
}

TEST(LocalMounts, TheWayToALocalDiskMayLeadOverAServer) {
    EXPECT_EQ(mounts().local_place_of("/home/scratch/solver"), std::nullopt);
}

TEST(LocalMounts, TheLastMountAtAPlaceCounts) {
    EXPECT_EQ(mounts("30 21 0:50 / / rw - fuse.sshfs host:/ rw\n").local_place_of("/usr/bin/true"), std::nullopt);
    EXPECT_EQ(mounts("30 23 8:9 / /home rw - ext4 /dev/sdd1 rw\n").local_place_of("/home/ann/solver"), Place("/home"));
}

TEST(LocalMounts, OddTextIsNoMount) {
    for (const char* text : {"", "\n\n", "a b c", "1 2 3 / / rw -", "1 2 3 / / rw - ", "1 2 3 / \\04 rw - ext4 a rw"})
        EXPECT_EQ(LocalMounts(text).local_place_of("/usr/bin/true"), std::nullopt) << text;
}

}  // namespace
}  // namespace dlaunch::launcher
