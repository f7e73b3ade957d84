/// A rank that finds no memory, or no thread, for a call: the others do not wait for it.

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <optional>

#include "tests/conformance/limited.hpp"
#include "tests/conformance/world.hpp"

namespace dlaunch::conformance {
namespace {

class MemoryFaultsTest : public Everywhere {
    void SetUp() override {
        if (std::getenv("DLAUNCH_SANITIZE")) GTEST_SKIP() << "sanitizers end the process where memory ends";
    }
};
INSTANTIATE_TEST_SUITE_P(, MemoryFaultsTest, testing::ValuesIn(cases({3})), name_of);

/// So much more than now.
rlim_t memory(std::size_t more) {
    std::size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    return pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) + more;
}

TEST_P(MemoryFaultsTest, a_message_before_the_one_that_is_wanted) {
    run([](const ProcessGroup& world) {
        world.barrier();
        std::vector<char> large(world.rank() == 0 ? 256 << 20 : 0);
        int small = 0;
        if (world.rank() == 2) {
            world.send(small, 0), world.recv(small, 0);  // its connections are there
            world.barrier();
            const Limited limited(RLIMIT_AS, memory(64 << 20));
            expect_error(ErrorCode::backend, {2}, [&] { world.recv(small, 0, {.tag = 2}); });
        } else {
            if (world.rank() == 0) world.recv(small, 2), world.send(small, 2);
            world.barrier();
            if (world.rank() == 0) expect_error(ErrorCode::backend, {2}, [&] { world.send(large, 2); });
        }
        const ProcessGroup again = world.new_group({0, 1, 2});
        again.barrier();
    });
}

TEST_P(MemoryFaultsTest, room_of_our_own_in_a_call) {
    if (GetParam().backend != kTwoHosts) return;  // the others need little
    run([](const ProcessGroup& world) {
        std::vector<Float16> halves(64 << 20);
        world.barrier();
        std::optional<Limited> limited;
        if (world.rank() == 1) limited.emplace(RLIMIT_AS, memory(64 << 20));
        const Error error = expect_error(ErrorCode::backend, {1}, [&] { world.all_reduce(halves); });
        check(error.op() == "all_reduce", error.op());
    });
}

TEST_P(MemoryFaultsTest, no_room_for_a_thread) {
    run([](const ProcessGroup& world) {
        world.barrier();
        std::optional<Limited> limited;
        if (world.rank() == 1) limited.emplace(RLIMIT_AS, memory(0));
        expect_error(ErrorCode::backend, {1}, [&] { world.barrier_async().wait(); });
    });
}

}  // namespace
}  // namespace dlaunch::conformance
