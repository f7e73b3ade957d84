/// new_group() on nccl, which splits the parent's communicator: all ranks of the parent take part in that.

#include <thread>

#include "tests/conformance/fake_gpu.hpp"

namespace dlaunch::conformance {
namespace {

using namespace std::chrono_literals;

void run(int ranks, std::chrono::milliseconds timeout, const Body& body) {
    run_world(ranks, {.backend = "nccl", .joins = false}, [&](const ProcessGroup&) {
        const ProcessGroup joined = join_process_group(init_options());
        std::vector<int> all;
        for (int r = 0; r < joined.size(); ++r) all.push_back(r);
        body(joined.new_group(all, {.timeout = timeout}));
    });
}

void expect_sum(const ProcessGroup& group, float sum) {
    OneFloat one;
    group.all_reduce(one.buffer.span(), ReduceOp::sum(), {.timeout = 60s});
    check(one.value() == sum, "the sum");
}

TEST(NcclSplitTest, a_late_rank_that_is_no_member_is_named_and_the_parent_goes_on) {
    run(3, 500ms, [](const ProcessGroup& world) {
        Store store = world.store();
        if (world.rank() == 2)
            for (const char* key : {"gave up 0", "gave up 1"}) (void)store.get(key);
        const Error error = expect_error(ErrorCode::timeout, {2}, [&] { (void)world.new_group({0, 1}); });
        check(error.op() == "new_group", error.what());
        if (world.rank() != 2) store.set("gave up " + std::to_string(world.rank()), "yes");
        expect_sum(world, 3);
        const ProcessGroup pair = world.new_group({0, 1}, {.timeout = 60s});
        if (pair.is_member()) expect_sum(pair, 2);
    });
}

TEST(NcclSplitTest, ranks_that_are_no_members_get_the_members_disagreement) {
    run(3, 30s, [](const ProcessGroup& world) {
        const std::vector<int> forth{0, 1}, back{1, 0};
        expect_error(ErrorCode::mismatch, {0, 1}, [&] { (void)world.new_group(world.rank() == 1 ? back : forth); });
        expect_sum(world, 3);
    });
}

/// NCCL may deadlock when a communicator with outstanding calls is split.
TEST(NcclSplitTest, new_group_waits_for_the_calls_that_are_pending) {
    run(2, 30s, [](const ProcessGroup& world) {
        OneFloat one;
        const auto kernel = [](void*) { std::this_thread::sleep_for(100ms); };
        check(call_fake("cuLaunchHostFunc", one.stream.handle(), static_cast<void (*)(void*)>(kernel),
                        static_cast<void*>(nullptr)) == 0,
              "a kernel of the program");
        Work work = world.all_reduce_async(one.buffer.span());
        const ProcessGroup pair = world.new_group({1, 0});
        check(work.done(), "the call is done");
        work.wait();
        check(one.value() == 2, "its result");
        expect_sum(pair, 2);
    });
}

TEST(NcclSplitTest, calls_that_are_pending_for_too_long_are_a_time_out_and_the_parent_goes_on) {
    run(2, 500ms, [](const ProcessGroup& world) {
        OneFloat one;
        Store store = world.store();
        Work message = world.rank() == 0 ? world.irecv(one.buffer.span(), 1, {.timeout = 60s}) : Work();
        expect_error(ErrorCode::timeout, {0}, [&] { (void)world.new_group({1, 0}); });
        if (world.rank() == 1) world.send(one.buffer.span(), 0, {.timeout = 60s});
        message.wait();
        expect_sum(world, 2);
    });
}

}  // namespace
}  // namespace dlaunch::conformance
