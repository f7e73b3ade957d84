#include "agent/logs/byte_queue.hpp"

#include <gtest/gtest.h>

#include <string>

namespace dlaunch::agent {
namespace {

TEST(ByteQueue, bytes_leave_in_order_for_all_sizes) {
    ByteQueue queue;
    std::string in, out;
    unsigned random = 7;
    const auto next = [&] { return (random = random * 1664525 + 1013904223) / 65536; };
    for (int i = 0; i < 3000; ++i) {
        const std::string piece(next() % 40'000, static_cast<char>('a' + i % 26));
        queue.append(piece);
        in += piece;
        const std::size_t taken = std::min<std::size_t>(queue.size(), next() % 45'000);
        out += queue.view().substr(0, taken);
        queue.consume(taken);
    }
    out += queue.view();
    EXPECT_TRUE(in == out);
}

TEST(ByteQueue, reserve_and_commit) {
    ByteQueue queue;
    std::memcpy(queue.reserve(5), "hello", 5);
    queue.commit(4);
    EXPECT_EQ(queue.view(), "hell");
    queue.clear();
    EXPECT_TRUE(queue.empty());
    EXPECT_EQ(queue.size(), 0u);
}

}  // namespace
}  // namespace dlaunch::agent
