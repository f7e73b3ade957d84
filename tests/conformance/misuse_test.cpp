/// Misuse: invalid arguments, infinite time-outs, groups destroyed during calls. The result is an Error or success,
/// never a crash or a hang.

#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <thread>

#include "tests/conformance/reference.hpp"
#include "tests/conformance/world.hpp"

namespace dlaunch::conformance {
namespace {

using MisuseTest = Everywhere;
INSTANTIATE_TEST_SUITE_P(, MisuseTest, testing::ValuesIn(cases({2})), name_of);

constexpr auto kForEver = std::chrono::milliseconds::max();

void refuses(const ProcessGroup& world, const std::function<void()>& call) {
    expect_error(ErrorCode::invalid_argument, call);
    float one = 1;  // nothing was sent, so the group remains usable
    world.all_reduce(one);
    check(one == static_cast<float>(world.size()), "the call after a refusal");
}

TEST_P(MisuseTest, elements_at_a_null_address) {
    run([](const ProcessGroup& world) {
        const MutableBuffer nowhere(nullptr, 10, DType::float32);
        std::vector<float> ten(10), all(20);
        refuses(world, [&] { world.all_reduce(nowhere); });
        refuses(world, [&] { world.broadcast(nowhere); });
        refuses(world, [&] { world.all_gather(nowhere, all); });
        refuses(world, [&] { world.reduce_scatter(all, nowhere); });
        refuses(world, [&] { world.send(nowhere, 1); });
        refuses(world, [&] { world.recv(nowhere, 1); });
        world.rank() == 0 ? world.reduce(ten, ten, 0)
                          : world.reduce(ten, nowhere, 0);  // `out` is used at the root only
    });
}

TEST_P(MisuseTest, more_elements_than_memory) {
    run([](const ProcessGroup& world) {
        constexpr std::size_t kMost = std::numeric_limits<std::size_t>::max();
        int one = 1;
        const MutableBuffer huge(&one, kMost / 2 + 1, DType::int32), none(&one, 0, DType::int32);
        refuses(world, [&] { world.all_reduce(huge); });
        refuses(world, [&] { world.all_gather(huge, none); });  // twice the count overflows to 0
        refuses(world, [&] { world.send(huge, 1 - world.rank()); });
        const std::size_t wrapping[] = {kMost, 2}, fitting[] = {1, 0};
        refuses(world, [&] { world.all_to_allv(one, wrapping, one, fitting); });
        refuses(world, [&] { world.all_to_allv(one, fitting, one, wrapping); });
    });
}

TEST_P(MisuseTest, a_wrong_number_of_counts) {
    run([](const ProcessGroup& world) {
        std::vector<int> one(1), all(2);
        refuses(world, [&] { world.all_gatherv(one, all, {}); });
        refuses(world, [&] { world.scatterv(all, one, {}); });
        refuses(world, [&] { world.all_to_allv(all, {}, all, {}); });
    });
}

TEST_P(MisuseTest, buffers_that_overlap) {
    run([](const ProcessGroup& world) {
        const std::size_t rank = static_cast<std::size_t>(world.rank());
        for (const std::size_t n : {std::size_t{1}, std::size_t{40000}}) {
            std::vector<int> data(2 * n + 1);
            const std::size_t counts[] = {n, n};
            const auto all = std::span(data).first(2 * n), next = std::span(data).last(2 * n);
            const auto peers = all.subspan((1 - rank) * n, n);
            refuses(world, [&] { world.all_to_all(all, all); });
            refuses(world, [&] { world.all_to_allv(all, counts, all, counts); });
            refuses(world, [&] { world.all_reduce(all, next); });
            refuses(world, [&] { world.all_gather(peers, all); });
            refuses(world, [&] { world.all_gatherv(peers, all, counts); });
            refuses(world, [&] { world.reduce_scatter(all, peers); });
            refuses(world, [&] { world.reduce_scatterv(all, peers, counts); });
            refuses(world, [&] { world.all_reduce_async(all, next).wait(); });
            const int root = world.rank();  // every rank calls as a root
            refuses(world, [&] { world.reduce(all, next, root); });
            refuses(world, [&] { world.gather(peers, all, root); });
            refuses(world, [&] { world.scatter(all, peers, root); });
        }
    });
}

TEST_P(MisuseTest, infinite_time_outs) {
    run_world(2, WorldOptions{.backend = GetParam().backend, .timeout = kForEver}, [](const ProcessGroup& world) {
        float one = 1;
        world.all_reduce(one, ReduceOp::sum(), {.timeout = kForEver});
        Work work = world.all_reduce_async(one, ReduceOp::sum(), {.timeout = kForEver});
        check(work.wait_for(std::chrono::nanoseconds::max()), "wait_for() did not wait");
        Work sent = world.isend(one, 1 - world.rank(), {.timeout = kForEver});
        world.recv(one, 1 - world.rank(), {.timeout = kForEver});
        sent.wait();
        Store store = world.store();
        if (world.rank() == 0) store.set("key", "value");
        check(store.get("key", kForEver) == "value", "a key");
        check(one == 4, "the sum is wrong");
    });
}

TEST_P(MisuseTest, a_batch_is_refused_as_a_whole) {
    run([](const ProcessGroup& world) {
        int in = 0, out = 1;
        const P2POp ops[] = {{P2POp::Kind::recv, in, 1 - world.rank()}, {P2POp::Kind::send, out, 7}};
        refuses(world, [&] { (void)world.batch_isend_irecv(ops); });
    });
}

TEST_P(MisuseTest, a_receive_destroyed_by_an_exception_does_not_wait) {
    run([](const ProcessGroup& world) {
        if (world.rank() == 1) return (void)Store(world.store()).get("thrown");
        const auto begin = std::chrono::steady_clock::now();
        try {
            int data = 0;
            Work receiving = world.irecv(data, 1);
            throw std::runtime_error("something else");
        } catch (const std::runtime_error&) {}
        check(std::chrono::steady_clock::now() - begin < std::chrono::seconds(20), "it waited for its time-out");
        Store(world.store()).set("thrown", "yes");
    });
}

TEST_P(MisuseTest, a_group_outlives_its_handle_until_its_calls_are_done) {
    run_world(2, WorldOptions{.backend = GetParam().backend, .joins = false}, [](const ProcessGroup&) {
        Store store = init_process_group(init_options()).store();
        if (get_rank() == 1) {
            (void)store.get("destroyed");
            float two = 2;
            all_reduce(two);
            return send(5.0F, 0);
        }
        float sum = 1, message = 0;
        Work reducing = all_reduce_async(sum), receiving = irecv(message, 1);
        destroy_process_group();
        check(!is_initialized() && !reducing.done() && !receiving.done(), "it waited");
        store.set("destroyed", "yes");
        reducing.wait();
        receiving.wait();
        check(sum == 3 && message == 5, "what the calls brought");
    });
}

TEST_P(MisuseTest, a_barrier_names_the_first_missing_rank_or_all) {
    run_world(4, WorldOptions{.backend = GetParam().backend}, [](const ProcessGroup& world) {
        Store store = world.store();
        const ProcessGroup patient = world.new_group({0, 1, 2, 3});
        if (world.rank() == 1 || world.rank() == 2) {  // leaves when ranks 0 and 3 have got their errors
            for (const int rank : {0, 3}) (void)store.get("named/" + std::to_string(rank));
            return;
        }
        const auto impatient = [&](bool all) {
            return BarrierOptions{.timeout = std::chrono::milliseconds(50), .wait_all_ranks = all};
        };
        expect_error(ErrorCode::timeout, {1}, [&] { world.monitored_barrier(impatient(false)); });
        const Error error =
            expect_error(ErrorCode::timeout, {1, 2}, [&] { patient.monitored_barrier(impatient(true)); });
        check(error.op() == "monitored_barrier", error.op());
        store.set("named/" + std::to_string(world.rank()), "yes");
    });
}

/// Programs fork through popen() and libraries: the child must not act as its parent's rank.
TEST_P(MisuseTest, a_fork_of_a_rank_does_not_affect_the_group) {
    run([](const ProcessGroup& world) {
        float one = 1, later = 0;
        Work receiving = world.irecv(later, 1 - world.rank());
        spawn(
            [&](int) {
                expect_error(ErrorCode::invalid_argument, [&] { receiving.wait(); });
                receiving = Work();  // must not wait
                expect_error(ErrorCode::invalid_argument, [&] { world.all_reduce(one); });
                expect_error(ErrorCode::invalid_argument, [&] { world.all_reduce_async(one).wait(); });
                expect_error(ErrorCode::invalid_argument, [&] { world.send(one, 1); });
                expect_error(ErrorCode::invalid_argument, [&] { (void)world.irecv(one, 1); });
                const P2POp ops[] = {{P2POp::Kind::recv, one, 1}};
                expect_error(ErrorCode::invalid_argument, [&] { (void)world.batch_isend_irecv(ops); });
                expect_error(ErrorCode::invalid_argument, [&] { (void)world.new_group(std::vector{0, 1}); });
                ProcessGroup(world).abort();
                destroy_process_group();
            },
            1);
        world.all_reduce(one);
        check(one == 2, "the sum is wrong");
        world.send(one, 1 - world.rank());
        receiving.wait();
        check(later == 2, "what the parent received");
    });
}

}  // namespace
}  // namespace dlaunch::conformance
