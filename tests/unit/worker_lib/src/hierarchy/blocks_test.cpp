#include "worker_lib/src/hierarchy/blocks.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "tests/support/worker_lib/layout.hpp"

namespace dlaunch::worker::hierarchy {
namespace {

/// A call on letters, with one block per rank.
Call letters(Counts counts) {
    Call call;
    call.type = DType::uint8;
    call.counts = std::move(counts);
    return call;
}

const std::byte* bytes(const std::string& text) { return reinterpret_cast<const std::byte*>(text.data()); }
std::byte* bytes(std::string& text) { return reinterpret_cast<std::byte*>(text.data()); }

TEST(ShareTest, parts_differ_by_one_at_most_and_leave_nothing_out) {
    for (const std::size_t count : {0, 1, 7, 8, 9}) {
        std::size_t next = 0;
        for (int part = 0; part < 4; ++part) {
            const Range range = share(count, 4, part);
            EXPECT_EQ(range.begin, next);
            EXPECT_TRUE(range.size == count / 4 || range.size == count / 4 + 1) << range.size;
            next += range.size;
        }
        EXPECT_EQ(next, count);
    }
}

TEST(BlocksTest, of_a_host_are_divided_among_the_planes) {
    const Layout hosts = layout("aaabb");  // two planes
    const Blocks blocks(hosts, letters({1, 2, 4, 3, 3}));
    EXPECT_EQ(blocks.of_host(0), 7U);
    EXPECT_EQ(blocks.of_host(1), 6U);
    EXPECT_EQ(blocks.on_plane(0, 0), 4U);
    EXPECT_EQ(blocks.on_plane(1, 0), 3U);
    EXPECT_EQ(blocks.by_plane(3), (Counts{7, 6, 0})) << "the third rank of the larger host has no plane";
}

TEST(BlocksTest, of_alternating_ranks_are_packed_as_one_and_come_back) {
    const Layout hosts = layout("abab");
    const Blocks blocks(hosts, letters({2, 3, 4, 1}));  // AA bbb CCCC d
    const std::string whole = "AAbbbCCCCd";
    std::string packed(6, '.'), back(whole.size(), '.');
    blocks.pack(bytes(whole), 0, 0, bytes(packed));
    EXPECT_EQ(packed, "AAC...") << "the first half of host a's AACCCC";
    blocks.pack(bytes(whole), 1, 1, bytes(packed));
    EXPECT_EQ(packed, "bdC...") << "the second half of host b's bbbd";

    for (int plane = 0; plane < 2; ++plane)
        for (int host = 0; host < 2; ++host) {
            blocks.pack(bytes(whole), plane, host, bytes(packed));
            blocks.unpack(bytes(packed), plane, host, bytes(back));
        }
    EXPECT_EQ(back, whole);
}

TEST(BlocksTest, of_wider_elements_count_in_elements) {
    const Layout hosts = layout("ab");
    Call call;
    call.type = DType::int32;
    call.count = 2;
    const Blocks blocks(hosts, call);
    const std::int32_t whole[] = {1, 2, 3, 4};
    std::int32_t packed[2] = {};
    blocks.pack(reinterpret_cast<const std::byte*>(whole), 0, 1, reinterpret_cast<std::byte*>(packed));
    EXPECT_EQ(packed[0], 3);
    EXPECT_EQ(packed[1], 4);
}

}  // namespace
}  // namespace dlaunch::worker::hierarchy
