/// A rank without memory or threads for a call: the other ranks do not wait for it.

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
        if (std::getenv("DLAUNCH_SANITIZE")) GTEST_SKIP() << "sanitizers end the process when memory is exhausted";
    }
};
INSTANTIATE_TEST_SUITE_P(, MemoryFaultsTest, testing::ValuesIn(cases({3})), name_of);

/// The present size of the address space plus `more`, in bytes.
rlim_t memory(std::size_t more) {
    std::size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    return pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) + more;
}

TEST_P(MemoryFaultsTest, an_unexpected_message) {
    run([](const ProcessGroup& world) {
        world.barrier();
        std::vector<char> large(world.rank() == 0 ? 256 << 20 : 0);
        int small = 0;
        if (world.rank() == 2) {
            world.send(small, 0), world.recv(small, 0);  // establishes the connections
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

TEST_P(MemoryFaultsTest, temporary_memory_of_a_call) {
    if (GetParam().backend != kTwoHosts) return;  // other backends need little memory
    run([](const ProcessGroup& world) {
        std::vector<Float16> halves(64 << 20);
        world.barrier();
        std::optional<Limited> limited;
        if (world.rank() == 1) limited.emplace(RLIMIT_AS, memory(64 << 20));
        const Error error = expect_error(ErrorCode::backend, {1}, [&] { world.all_reduce(halves); });
        check(error.op() == "all_reduce", error.op());
    });
}

TEST_P(MemoryFaultsTest, no_memory_for_a_thread) {
    run([](const ProcessGroup& world) {
        world.barrier();
        std::optional<Limited> limited;
        if (world.rank() == 1) limited.emplace(RLIMIT_AS, memory(0));
        expect_error(ErrorCode::backend, {1}, [&] { world.barrier_async().wait(); });
    });
}

}  // namespace
}  // namespace dlaunch::conformance
