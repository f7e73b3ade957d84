/// Asynchronous calls, several groups, several threads, and long random sequences.

#include <numeric>
#include <random>
#include <thread>

#include "tests/conformance/reference.hpp"
#include "tests/conformance/world.hpp"

namespace dlaunch::conformance {
namespace {

using OrderTest = Everywhere;
INSTANTIATE_TEST_SUITE_P(, OrderTest, testing::ValuesIn(cases({2, 3, 5})), name_of);

TEST_P(OrderTest, asynchronous_calls_between_blocking_ones) {
    run([](const ProcessGroup& world) {
        std::vector<std::vector<float>> buffers(40, std::vector<float>(3000, 1));
        std::vector<Work> works;
        for (auto& buffer : buffers) {
            works.push_back(world.all_reduce_async(buffer));
            if (works.size() % 7 == 0) world.barrier();
        }
        float one = 1;
        world.all_reduce(one);
        check(one == static_cast<float>(world.size()), "the call after them");
        for (const Work& work : works) check(work.done(), "a call was overtaken");
        for (const auto& buffer : buffers) check(buffer[2999] == static_cast<float>(world.size()), "a sum is wrong");
    });
}

TEST_P(OrderTest, wait_for_returns_false_while_a_call_is_pending) {
    run([](const ProcessGroup& world) {
        float data = 1;
        if (world.rank() == 0) {
            Work work = world.all_reduce_async(data);
            check(!work.wait_for(std::chrono::milliseconds(20)), "done before the others began");
            world.send(1, 1);
            work.wait();
        } else {
            int go = 0;
            if (world.rank() == 1) world.recv(go, 0);
            world.all_reduce(data);
        }
        check(data == static_cast<float>(world.size()), "the sum is wrong");
    });
}

TEST_P(OrderTest, subgroups) {
    run([](const ProcessGroup& world) {
        std::vector<int> even, reversed;
        for (int r = 0; r < world.size(); ++r) {
            if (r % 2 == 0) even.push_back(r);
            reversed.insert(reversed.begin(), r);
        }
        const ProcessGroup evens = world.new_group(even), backwards = world.new_group(reversed);
        float data = 1;
        if (evens.is_member()) evens.all_reduce(data);
        check(data == (world.rank() % 2 == 0 ? static_cast<float>(even.size()) : 1.0F), "the even ones");
        check(evens.is_member() == (world.rank() % 2 == 0) && evens.size() == static_cast<int>(even.size()),
              "membership");
        check(backwards.rank() == world.size() - 1 - world.rank() && backwards.ranks() == reversed,
              "the order is the list's");
        std::vector<int> all(reversed.size());
        backwards.all_gather(world.rank(), all);
        check(all == reversed, "gathered by rank in the group");
        const ProcessGroup of_group = backwards.new_group(std::vector<int>{0});
        check(of_group.is_member() == (world.rank() == world.size() - 1), "a group of a group");
        expect_error(ErrorCode::invalid_argument, [&] { (void)world.new_group(std::vector<int>{0, 0}); });
        expect_error(ErrorCode::invalid_argument, [&] { (void)world.new_group(std::vector<int>{world.size()}); });
    });
}

TEST_P(OrderTest, one_group_per_thread) {
    run([](const ProcessGroup& world) {
        std::vector<int> all(static_cast<std::size_t>(world.size()));
        std::iota(all.begin(), all.end(), 0);
        std::vector<ProcessGroup> groups;
        for (int i = 0; i < 3; ++i) groups.push_back(world.new_group(all));
        std::vector<std::thread> threads;
        std::vector<double> sums(groups.size());
        for (std::size_t g = 0; g < groups.size(); ++g)
            threads.emplace_back([&, g] {
                for (int i = 0; i < 200; ++i) {
                    double one = 1;
                    groups[g].all_reduce(one);
                    sums[g] += one;
                }
            });
        for (std::thread& thread : threads) thread.join();
        for (const double sum : sums) check(sum == 200.0 * world.size(), "a sum is wrong");
    });
}

TEST_P(OrderTest, two_worlds_one_after_the_other) {
    run_world(GetParam().ranks, WorldOptions{.backend = GetParam().backend, .joins = false}, [](const ProcessGroup&) {
        for (int i = 0; i < 3; ++i) {
            init_process_group(init_options());
            float one = 1;
            all_reduce(one);
            check(one == static_cast<float>(get_world_size()), "the sum is wrong");
            barrier();
            destroy_process_group();
        }
    });
}

/// Random calls, roots, sizes and operations, with the same seed on all ranks.
TEST_P(OrderTest, a_thousand_random_calls) {
    run([](const ProcessGroup& world) {
        std::mt19937 random(20);
        const auto ranks = static_cast<std::size_t>(world.size()), rank = static_cast<std::size_t>(world.rank());
        // Calls of other backends, and those with sanitizers, take many times as long.
        const int calls = world.backend() == "shm" && !DLAUNCH_SANITIZED ? 1000 : 200;
        for (int call = 0; call < calls; ++call) {
            const std::size_t count = random() % 20 == 0 ? random() % 90000 : random() % 300, salt = random() % 50;
            const int root = static_cast<int>(random() % ranks);
            const ReduceOp op = random() % 2 == 0 ? ReduceOp::sum() : ReduceOp::max();
            const std::string what = "call " + std::to_string(call);
            const auto reduced = [&](std::size_t i) {
                std::vector<int> column;
                for (std::size_t r = 0; r < ranks; ++r) column.push_back(element<int>(static_cast<int>(r), i, salt));
                return combined(op, world.size(), column);
            };
            const Buffer<int> in = input<int>(world.rank(), count * ranks, salt), out(count * ranks);
            const auto part = in.span().first(count), result = out.span().first(count);
            switch (random() % 6) {
                case 0:
                    world.all_reduce(part, result, op);
                    for (std::size_t i = 0; i < count; ++i) check(result[i] == reduced(i), what);
                    break;
                case 1:
                    world.reduce(part, result, root, op);
                    for (std::size_t i = 0; world.rank() == root && i < count; ++i)
                        check(result[i] == reduced(i), what);
                    break;
                case 2:
                    world.reduce_scatter(in.span(), result, op);
                    for (std::size_t i = 0; i < count; ++i) check(result[i] == reduced(rank * count + i), what);
                    break;
                case 3:
                    world.all_gather(part, out.span());
                    for (std::size_t r = 0; r < ranks; ++r)
                        for (std::size_t i = 0; i < count; ++i)
                            check(out[r * count + i] == element<int>(static_cast<int>(r), i, salt), what);
                    break;
                case 4:
                    world.broadcast(part, root);
                    for (std::size_t i = 0; i < count; ++i) check(part[i] == element<int>(root, i, salt), what);
                    break;
                default:
                    world.all_to_all(in.span(), out.span());
                    for (std::size_t r = 0; r < ranks; ++r)
                        for (std::size_t i = 0; i < count; ++i)
                            check(out[r * count + i] == element<int>(static_cast<int>(r), rank * count + i, salt),
                                  what);
            }
        }
    });
}

}  // namespace
}  // namespace dlaunch::conformance
