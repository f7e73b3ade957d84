/// split(), wait_all() and wait_any(), batches of constant data, native handles.

#include <numeric>

#include "tests/conformance/world.hpp"

namespace dlaunch::conformance {
namespace {

using GroupsTest = Everywhere;
INSTANTIATE_TEST_SUITE_P(, GroupsTest, testing::ValuesIn(cases({1, 2, 3, 5}, true)), name_of);

TEST_P(GroupsTest, split_by_color_and_key) {
    run([](const ProcessGroup& world) {
        const int rank = world.rank(), size = world.size(), color = rank % 2;
        for (const int repetition : {1, 2}) {
            const ProcessGroup half = world.split(color, -rank, {.name = repetition == 2 ? "half" : ""});
            check(half.name() == (repetition == 2 ? "half" : "world/1." + std::to_string(color)), half.name());
            check(half.size() == (size + 1 - color) / 2, "its size");
            check(half.ranks()[static_cast<std::size_t>(half.rank())] == rank, "the order of ranks");
            check(half.size() < 2 || half.ranks()[0] > half.ranks()[1], "keys order the ranks");
            int sum = rank, expected = 0;
            half.all_reduce(sum);
            for (int r = color; r < size; r += 2) expected += r;
            check(sum == expected, "a sum in the group");
        }
        const ProcessGroup some = world.split(rank == 0 ? kNoColor : 7);
        check(some.is_member() == (rank != 0), "kNoColor");
        int one = 1;
        if (some.is_member()) some.all_reduce(one);
        check(one == (rank == 0 ? 1 : size - 1), "a sum without rank 0");
        const ProcessGroup same = world.split(3);
        check(same.ranks() == world.ranks(), "equal keys keep the order");
        expect_error(ErrorCode::invalid_argument, [&] { (void)world.split(-2); });
        world.barrier();
    });
}

TEST_P(GroupsTest, splits_of_a_group_of_a_split) {
    if (GetParam().ranks < 3) return;
    run([](const ProcessGroup& world) {
        const ProcessGroup some = world.split(world.rank() < 2 ? 0 : 1);
        const ProcessGroup alone = some.split(some.rank());
        check(alone.size() == 1 && alone.ranks() == std::vector{world.rank()}, "a group of one");
        int one = 1;
        some.all_reduce(one);
        check(one == some.size(), "the parent goes on");
    });
}

TEST_P(GroupsTest, wait_all_waits_for_all_and_throws_the_first_error) {
    if (GetParam().backend == "nccl") return;  // it has no tags
    run([](const ProcessGroup& world) {
        std::vector<int> x(100, 1), y(50000, 2);
        Work works[] = {world.all_reduce_async(x), Work(), world.all_reduce_async(y)};
        wait_all(works);
        check(x[0] == world.size() && y.back() == 2 * world.size(), "the sums");
        if (world.size() < 2 || world.rank() > 1) return;
        int in = 0, out = 5;
        const int peer = 1 - world.rank();
        std::vector<Work> pending;
        pending.push_back(world.irecv(in, world.rank(), {.tag = 1, .timeout = std::chrono::milliseconds(1)}));
        pending.push_back(world.isend(out, peer, {.tag = 2}));
        pending.push_back(world.irecv(in, peer, {.tag = 2}));
        expect_error(ErrorCode::timeout, [&] { wait_all(pending); });
        check(in == 5, "calls behind the failed one have ended");
    });
}

TEST_P(GroupsTest, wait_any_returns_calls_as_they_end) {
    if (GetParam().ranks < 3 || GetParam().backend == "nccl") return;
    run([](const ProcessGroup& world) {
        int a = -1, b = -1;
        if (world.rank() == 0) {
            Work works[] = {world.irecv(a, 1), Work(), world.irecv(b, 2)};
            check(wait_any(works) == std::size_t{2} && b == 2, "the first one");  // rank 1 waits for the next message
            world.send(b, 1);
            check(wait_any(works) == std::size_t{0} && a == 1, "the second one");
            check(!wait_any(works) && !wait_any({}), "no other");
        } else if (world.rank() == 1) {
            world.recv(a, 0);
            world.send(1, 0);
        } else if (world.rank() == 2) {
            world.send(2, 0);
        }
    });
}

TEST_P(GroupsTest, wait_any_throws_the_error_of_a_call) {
    if (GetParam().backend == "nccl") return;
    run([](const ProcessGroup& world) {
        int never = 0;
        Work works[] = {world.irecv(never, world.rank(), {.timeout = std::chrono::milliseconds(1)})};
        expect_error(ErrorCode::timeout, [&] { (void)wait_any(works); });
        check(!wait_any(works), "it was taken out");
    });
}

TEST_P(GroupsTest, batches_of_constant_data) {
    if (GetParam().backend == "nccl") return;  // host memory is not sent by it
    run([](const ProcessGroup& world) {
        const int rank = world.rank(), size = world.size();
        const std::vector<int> mine(10, rank);
        std::vector<int> theirs(10, -1);
        const P2POp ops[] = {send_op(mine, (rank + 1) % size, 4), recv_op(theirs, (rank + size - 1) % size)};
        auto works = world.batch_isend_irecv(ops);
        wait_all(works);
        check(theirs[9] == (rank + size - 1) % size, "what was received");
    });
}

TEST_P(GroupsTest, native_handles) {
    run([](const ProcessGroup& world) {
        void* const own = world.native_handle();
        const bool gloo = GetParam().backend == "gloo", nccl = GetParam().backend == "nccl";
        check((own != nullptr) == (gloo || nccl), "of the group's own backend");
        check(world.native_handle("gloo") == (gloo ? own : nullptr), "of gloo");
        check(world.native_handle("nccl") == (nccl ? own : nullptr), "of nccl");
        check(world.native_handle("shm") == nullptr && world.native_handle("other") == nullptr, "of no library");
        world.barrier();
    });
}

}  // namespace
}  // namespace dlaunch::conformance
