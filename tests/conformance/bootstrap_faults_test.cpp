/// Failures while a group is created: lost, late and missing ranks, different arguments. All ranks get an Error that
/// names the rank at fault.

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <numeric>
#include <optional>

#include "tests/conformance/limited.hpp"
#include "tests/conformance/world.hpp"

namespace dlaunch::conformance {
namespace {

using namespace std::chrono_literals;

using BootstrapFaultsTest = Everywhere;
INSTANTIATE_TEST_SUITE_P(, BootstrapFaultsTest, testing::ValuesIn(cases({2, 3, 5})), name_of);

std::vector<int> all_of(const ProcessGroup& world) {
    std::vector<int> ranks(static_cast<std::size_t>(world.size()));
    std::iota(ranks.begin(), ranks.end(), 0);
    return ranks;
}

TEST_P(BootstrapFaultsTest, a_rank_that_dies_before_a_group_is_made) {
    for (const int lost : {0, 1}) {
        SCOPED_TRACE(lost);
        run_world(GetParam().ranks, WorldOptions{.backend = GetParam().backend, .dead = {lost}},
                  [&](const ProcessGroup& world) {
                      world.barrier();
                      await_all(world);
                      if (world.rank() == lost) raise(SIGKILL);
                      const auto begin = std::chrono::steady_clock::now();
                      expect_error(ErrorCode::peer_lost, {lost}, [&] { (void)world.new_group(all_of(world)); });
                      check(std::chrono::steady_clock::now() - begin < 20s, "it took the time-out");
                  });
    }
}

TEST_P(BootstrapFaultsTest, ranks_with_different_group_arguments) {
    run([](const ProcessGroup& world) {
        const int odd = world.size() - 1;
        std::vector<int> ranks = all_of(world);
        if (world.rank() == odd) std::reverse(ranks.begin(), ranks.end());
        const Error error =
            expect_error(ErrorCode::mismatch, {0, odd}, [&] { (void)world.new_group(ranks, {.timeout = 60s}); });
        check(error.op() == "new_group", error.what());
        const ProcessGroup again = world.new_group(all_of(world));
        float one = 1;
        again.all_reduce(one);
        check(one == static_cast<float>(world.size()), "the group made afterwards");
    });
}

TEST_P(BootstrapFaultsTest, a_missing_rank_is_named) {
    run([](const ProcessGroup& world) {
        const int late = world.size() - 1;
        const ProcessGroup parent = world.new_group(all_of(world), {.timeout = world.rank() == late ? 60s : 1s});
        const auto make = [&] { (void)parent.new_group(all_of(world)); };
        Store store = world.store();
        if (world.rank() == late) {
            for (int r = 0; r < late; ++r) (void)store.get("gave up " + std::to_string(r));
            const auto begin = std::chrono::steady_clock::now();
            const Error error = expect_error(ErrorCode::timeout, {late}, make);
            check(std::chrono::steady_clock::now() - begin < 20s, "it took the time-out");
            check(error.op() == "new_group", error.what());
        } else {
            expect_error(ErrorCode::timeout, {late}, make);
            store.set("gave up " + std::to_string(world.rank()), "yes");
        }
    });
}

TEST_P(BootstrapFaultsTest, a_rank_out_of_descriptors) {
    for (const int lost : {0, GetParam().ranks - 1}) {
        SCOPED_TRACE(lost);
        run([&](const ProcessGroup& world) {
            world.barrier();
            const int next = dup(0);
            std::optional<Limited> limited;
            if (world.rank() == lost) limited.emplace(RLIMIT_NOFILE, static_cast<rlim_t>(next));
            close(next);
            const auto begin = std::chrono::steady_clock::now();
            expect_error(ErrorCode::backend, {lost}, [&] { (void)world.new_group(all_of(world)); });
            check(std::chrono::steady_clock::now() - begin < 20s, "it took the time-out");
            limited.reset();
            const ProcessGroup again = world.new_group(all_of(world));
            again.barrier();
        });
    }
}

TEST(ShmBootstrapTest, a_file_size_limit_below_the_segment_size) {
    run_world(3, WorldOptions{}, [](const ProcessGroup& world) {
        std::optional<Limited> limited;
        if (world.rank() == 0) limited.emplace(RLIMIT_FSIZE, 1 << 20);
        const Error error = expect_error(ErrorCode::backend, {0}, [&] { (void)world.new_group(all_of(world)); });
        check(std::string(error.what()).find("MiB") != std::string::npos, error.what());
    });
}

TEST_P(BootstrapFaultsTest, a_rank_that_joins_too_late) {
    run_world(GetParam().ranks, WorldOptions{.backend = GetParam().backend, .joins = false}, [&](const ProcessGroup&) {
        InitOptions before = init_options(), impatient = init_options();
        before.group_name = "before";
        impatient.timeout = *impatient.rank == *impatient.world_size - 1 ? 60s : 1s;
        const int late = *impatient.world_size - 1;
        Store store = join_process_group(before).store();
        const auto join = [&] { init_process_group(impatient); };
        if (*impatient.rank == late) {
            for (int r = 0; r < late; ++r) (void)store.get("gave up " + std::to_string(r));
            const auto begin = std::chrono::steady_clock::now();
            expect_error(ErrorCode::timeout, {late}, join);
            check(std::chrono::steady_clock::now() - begin < 20s, "it took the time-out");
        } else {
            expect_error(ErrorCode::timeout, {late}, join);
            store.set("gave up " + std::to_string(*impatient.rank), "yes");
        }
    });
}

/// The other ranks may still check whether this rank has joined.
TEST(ShmBootstrapFaultsTest, a_rank_leaves_as_soon_as_it_has_passed_a_barrier) {
    run_world(3, {.backend = "shm"}, [](const ProcessGroup& world) {
        for (int times = 0; times < 300; ++times) world.new_group(all_of(world)).barrier();
    });
}

/// Afterwards the ranks may try again.
TEST(BackendsTest, ranks_that_name_different_backends_are_told_at_once) {
    run_world(3, WorldOptions{.joins = false}, [](const ProcessGroup&) {
        InitOptions options = init_options();
        const bool odd = *options.rank == 1;
        options.backend = odd ? "gloo" : "shm";
        for (int attempt = 0; attempt < 2; ++attempt) {
            const Error error = expect_error(ErrorCode::mismatch, {0, 1}, [&] { (void)init_process_group(options); });
            check(std::string(error.what()).find("gloo") != std::string::npos, error.what());
        }
        options.backend = "shm";
        init_process_group(options);
        int one = 1;
        all_reduce(one);
        check(one == 3, "the sum");
    });
}

}  // namespace
}  // namespace dlaunch::conformance
