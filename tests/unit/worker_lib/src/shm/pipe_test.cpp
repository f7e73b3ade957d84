#include "worker_lib/src/shm/pipe.hpp"

#include <gtest/gtest.h>

#include <new>
#include <string>
#include <thread>

namespace dlaunch::worker::shm {
namespace {

constexpr std::size_t kBytes = 16;

/// A ring of 16 bytes with a writing and a reading Pipe.
struct PipeTest : testing::Test {
    alignas(128) std::byte memory[sizeof(Ring) + 128]{};
    Ring& ring = *new (memory) Ring;
    Pipe in{ring, kBytes}, out{ring, kBytes};

    std::size_t write(const std::string& text) {
        return in.write(reinterpret_cast<const std::byte*>(text.data()), text.size());
    }
    std::string read(std::size_t size) {
        std::string text(size, '?');
        text.resize(out.read(reinterpret_cast<std::byte*>(text.data()), size));
        return text;
    }
};

TEST_F(PipeTest, writes_up_to_its_capacity_and_reads_all_readable_bytes) {
    EXPECT_EQ(read(4), "");
    EXPECT_EQ(write("0123456789"), 10U);
    EXPECT_EQ(out.readable(), 10U);
    EXPECT_EQ(in.writable(), 6U);
    EXPECT_EQ(write("abcdefghij"), 6U);
    EXPECT_EQ(write("x"), 0U);
    EXPECT_EQ(read(100), "0123456789abcdef");
    EXPECT_EQ(in.writable(), kBytes);
}

TEST_F(PipeTest, wraps_around_the_end) {
    for (int i = 0; i < 40; ++i) {
        const std::string text = "item " + std::to_string(1000 + i);
        EXPECT_EQ(write(text), text.size());
        EXPECT_EQ(read(3), text.substr(0, 3));
        EXPECT_EQ(out.skip(2), 2U);
        EXPECT_EQ(read(100), text.substr(5));
    }
}

TEST_F(PipeTest, skips_at_most_the_readable_bytes) {
    write("abc");
    EXPECT_EQ(out.skip(100), 3U);
    EXPECT_EQ(out.skip(1), 0U);
}

TEST_F(PipeTest, carries_a_stream_between_two_threads) {
    constexpr std::size_t kStream = 100000;
    std::thread writer([&] {
        for (std::size_t sent = 0; sent < kStream;) {
            std::byte next[7];
            for (std::size_t i = 0; i < sizeof next; ++i) next[i] = static_cast<std::byte>((sent + i) % 251);
            const std::size_t took = in.write(next, std::min(sizeof next, kStream - sent));
            if (took == 0) std::this_thread::yield();
            sent += took;
        }
    });
    std::size_t got = 0, wrong = 0;
    while (got < kStream) {
        std::byte next[5];
        const std::size_t size = out.read(next, sizeof next);
        if (size == 0) std::this_thread::yield();
        for (std::size_t i = 0; i < size; ++i) wrong += next[i] == static_cast<std::byte>((got + i) % 251) ? 0 : 1;
        got += size;
    }
    writer.join();
    EXPECT_EQ(wrong, 0U);
}

}  // namespace
}  // namespace dlaunch::worker::shm
