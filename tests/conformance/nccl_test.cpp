/// The nccl backend and device memory, with fake NCCL and CUDA libraries: streams, messages, subgroups, `auto`.

#include <dlaunch/backends.hpp>
#include <dlaunch/device.hpp>
#include <numeric>
#include <thread>

#include "tests/conformance/world.hpp"

namespace dlaunch::conformance {
namespace {

constexpr auto kNotHere = "must not wait for the other ranks";

/// A device buffer filled with the rank's number, on a stream.
struct Numbers {
    explicit Numbers(int rank, std::size_t count = 100)
        : buffer(std::vector<float>(count, static_cast<float>(rank)), stream.handle()) {}
    DeviceStream stream;
    DeviceBuffer<float> buffer;
    void check_all(float expected, const char* what) const {
        for (const float value : buffer.to_host()) check(value == expected, what);
    }
};

float sum_of(const ProcessGroup& world) { return static_cast<float>(world.size() * (world.size() - 1)) / 2; }

void run(int ranks, const Body& body, const std::string& backend = "nccl") {
    run_world(ranks, {.backend = backend, .gpus = true}, body);
}

TEST(NcclTest, device_memory_is_refused_by_cpu_backends) {
    run_world(2, {.backend = "shm"}, [](const ProcessGroup& world) {
        float value = 0;
        const DeviceSpan<float> span{&value, 1};
        const std::string text = expect_error(ErrorCode::invalid_argument, [&] { world.all_reduce(span); }).what();
        check(text.find("device memory") != std::string::npos && text.find("nccl") != std::string::npos, text);
        expect_error(ErrorCode::invalid_argument, [&] { (void)world.all_reduce_async(span); });
        expect_error(ErrorCode::invalid_argument, [&] { world.send(span, 0); });
        expect_error(ErrorCode::invalid_argument, [&] { world.all_gather(1.0F, span); });
        world.barrier();
    });
}

TEST(NcclTest, every_call_on_device_memory) {
    for (const char* backend : {"nccl", "auto"})
        for (const int ranks : {1, 2, 3})
            run(
                ranks,
                [](const ProcessGroup& world) {
                    const auto rank = static_cast<float>(world.rank());
                    const auto n = static_cast<std::size_t>(world.size());
                    const DeviceStream stream;
                    const auto make = [&](const std::vector<float>& values) {
                        return std::make_unique<DeviceBuffer<float>>(values, stream.handle());
                    };
                    const int last = world.size() - 1;
                    std::vector<float> ranks_in_order(n), ramp(n);
                    std::iota(ranks_in_order.begin(), ranks_in_order.end(), 0.0F);
                    for (std::size_t r = 0; r < n; ++r) ramp[r] = 10 * rank + static_cast<float>(r);
                    const auto own = make({rank}), all = make(ranks_in_order), many = make(ramp), out = make({-1});
                    const auto whole = make(std::vector<float>(n, -1));

                    world.broadcast(own->span(), last);
                    check(own->to_host()[0] == static_cast<float>(last), "broadcast");
                    const auto mine = make({rank});
                    world.all_gather(mine->span(), whole->span());
                    check(whole->to_host() == ranks_in_order, "all_gather");
                    world.all_reduce(mine->span(), out->span());
                    check(out->to_host()[0] == sum_of(world), "all_reduce");
                    world.all_reduce(mine->span(), out->span(), ReduceOp::premul_sum(0.5));
                    check(out->to_host()[0] == sum_of(world) / 2, "premul_sum");
                    world.reduce(mine->span(), out->span(), last, ReduceOp::max());
                    check(world.rank() != last || out->to_host()[0] == static_cast<float>(last), "reduce");
                    world.reduce_scatter(all->span(), out->span());
                    check(out->to_host()[0] == rank * static_cast<float>(n), "reduce_scatter");
                    world.gather(mine->span(), whole->span(), last);
                    check(whole->to_host() == ranks_in_order, "gather");
                    world.scatter(all->span(), out->span(), last);
                    check(out->to_host()[0] == rank, "scatter");
                    world.all_to_all(many->span(), whole->span());
                    for (std::size_t r = 0; r < n; ++r)
                        check(whole->to_host()[r] == 10 * static_cast<float>(r) + rank, "all_to_all");
                    DeviceBuffer<int> bits(std::vector<int>{1 << world.rank()}, stream.handle());
                    world.all_reduce(bits.span(), ReduceOp::bor());
                    check(bits.to_host()[0] == (1 << world.size()) - 1, "bor, which NCCL has not");
                    Work last_call = world.all_reduce_async(bits.span(), ReduceOp::bxor());
                    last_call.wait();
                    check(bits.to_host()[0] == (n % 2 == 1 ? (1 << world.size()) - 1 : 0), "bxor, started");
                },
                backend);
}

TEST(NcclTest, the_host_waits_neither_for_the_call_nor_for_its_work) {
    run(2, [](const ProcessGroup& world) {
        Numbers numbers(world.rank() + 1);
        Store store = world.store();
        if (world.rank() == 1) (void)store.get("rank 0 has gone on");
        world.all_reduce(numbers.buffer.span());
        Work work = world.all_reduce_async(numbers.buffer.span());
        work.wait();
        if (world.rank() == 0) {
            check(!work.done(), kNotHere);
            check(!work.wait_for(std::chrono::milliseconds(1)), kNotHere);
            store.set("rank 0 has gone on", "yes");
        }
        numbers.check_all(6, "what the stream finds");
        check(work.wait_for(std::chrono::seconds(10)) && work.done(), "the end of the work");
    });
}

TEST(NcclTest, calls_are_ordered_with_the_work_of_their_streams) {
    run(2, [](const ProcessGroup& world) {
        // Two streams: only wait() orders the second call after the first one's result.
        Numbers first(1);
        const DeviceStream other;
        const auto data = first.buffer.span();
        for (int i = 0; i < 20; ++i) {
            world.all_reduce(data);
            world.all_reduce(data, ReduceOp::avg());
        }
        first.check_all(static_cast<float>(1 << 20), "calls on one stream");
        Work work = world.broadcast_async({data.data, data.count, DType::float32, Device::cuda, other.handle()});
        work.wait();
        other.synchronize();
        check(work.done(), "the caller's stream has waited");
    });
}

TEST(NcclTest, a_work_may_be_dropped_without_waiting) {
    run(2, [](const ProcessGroup& world) {
        Numbers numbers(1);
        (void)world.all_reduce_async(numbers.buffer.span());
        numbers.check_all(2, "the stream waits all the same");
    });
}

TEST(NcclTest, messages_between_devices) {
    run(3, [](const ProcessGroup& world) {
        const int next = (world.rank() + 1) % 3, before = (world.rank() + 2) % 3;
        Numbers mine(world.rank()), theirs(-1), large(world.rank(), 300000), larger(-1, 300000);
        const std::vector<P2POp> ring{
            {P2POp::Kind::send, {mine.buffer.span()}, next},
            {P2POp::Kind::recv, {theirs.buffer.span()}, before},
            {P2POp::Kind::send, {large.buffer.span()}, next},
            {P2POp::Kind::recv, {larger.buffer.span()}, before},
        };
        for (Work& work : world.batch_isend_irecv(ring)) work.wait();
        theirs.check_all(static_cast<float>(before), "what came from before");
        larger.check_all(static_cast<float>(before), "the larger one");
        if (world.rank() == 0) world.send(mine.buffer.span(), 2);
        if (world.rank() == 2) {
            const Received received = world.recv(theirs.buffer.span(), 0);
            check(received.source == 0 && received.count == 100, "result of recv");
            theirs.check_all(0, "what 0 sent");
        }
        int host = 0;
        const auto refused = [&](const std::function<void()>& call) {
            expect_error(ErrorCode::invalid_argument, call);
        };
        refused([&] { world.recv(theirs.buffer.span()); });
        refused([&] { world.send(mine.buffer.span(), 1, {.tag = 3}); });
        refused([&] { world.recv(theirs.buffer.span(), 1, {.up_to = true}); });
        refused([&] { world.send(host, 1); });
    });
}

TEST(NcclTest, under_auto_the_first_device_call_is_a_collective) {
    run(
        2,
        [](const ProcessGroup& world) {
            Numbers numbers(world.rank());
            const int other = 1 - world.rank();
            expect_error(ErrorCode::invalid_argument, [&] { world.send(numbers.buffer.span(), other); });
            int host = world.rank();
            world.all_reduce(host);
            check(host == 1 && world.backend() == "shm", "host memory goes by shm");
            world.all_reduce(numbers.buffer.span());
            Numbers theirs(-1);
            const std::vector<P2POp> both{{P2POp::Kind::send, {numbers.buffer.span()}, other},
                                          {P2POp::Kind::send, {host}, other},
                                          {P2POp::Kind::recv, {host}, other},
                                          {P2POp::Kind::recv, {theirs.buffer.span()}, other}};
            for (Work& work : world.batch_isend_irecv(both)) work.wait();
            theirs.check_all(1, "device and host in one batch");
        },
        "auto");
}

TEST(NcclTest, device_memory_may_be_used_by_any_thread) {
    run(1, [](const ProcessGroup&) {
        auto numbers = std::make_unique<Numbers>(5);
        std::exception_ptr failed;
        std::thread other([&] {  // without a current GPU
            try {
                numbers->check_all(5, "what another thread reads");
                numbers->stream.synchronize();
            } catch (...) {
                failed = std::current_exception();
            }
        });
        other.join();
        if (failed) std::rethrow_exception(failed);
        std::thread([&] { numbers.reset(); }).join();
    });
}

TEST(NcclTest, subgroups) {
    for (const char* library : {DLAUNCH_FAKE_NCCL, DLAUNCH_OLD_FAKE_NCCL})
        run_world(3, {.backend = "nccl", .joins = false}, [&](const ProcessGroup&) {
            setenv("DLAUNCH_NCCL_LIBRARY", library, 1);
            setenv("DLAUNCH_CUDA_LIBRARY", library, 1);
            const ProcessGroup world = join_process_group(init_options());
            const std::vector<int> backwards{2, 0}, one{1};
            const ProcessGroup pair = world.new_group(backwards), single = world.new_group(one);
            check(single.is_member() == (world.rank() == 1), "membership");
            Numbers numbers(world.rank()), all(world.rank() + 1);
            if (pair.is_member()) pair.broadcast(numbers.buffer.span(), 0);
            numbers.check_all(world.rank() == 1 ? 1 : 2, "its first rank is the world's last");
            if (single.is_member()) single.all_reduce(all.buffer.span());
            world.all_reduce(all.buffer.span());
            all.check_all(6, "the parent can be used on");
        });
}

TEST(NcclTest, one_group_per_thread) {
    run(3, [](const ProcessGroup& world) {
        const ProcessGroup groups[] = {world.new_group({0, 1, 2}), world.new_group({2, 0, 1})};
        const auto reduce = [](const ProcessGroup& group) {
            for (std::size_t i = 0; i < 30; ++i) {
                std::vector<std::int16_t> combined(1 + 37 * i, 1);  // on the host
                std::vector<float> data(1 + 37 * i, 1);
                group.all_reduce(data);
                group.all_reduce(combined);
                check(data.back() == 3 && combined.back() == 3, "a sum is wrong");
            }
        };
        std::exception_ptr failed;
        std::thread other([&] {
            try {
                reduce(groups[0]);
            } catch (...) {
                failed = std::current_exception();
            }
        });
        reduce(groups[1]);
        other.join();
        if (failed) std::rethrow_exception(failed);
    });
}

TEST(NcclTest, strings_and_barriers_are_staged_through_the_device) {
    run(3, [](const ProcessGroup& world) {
        const auto all = world.all_gather_object(std::to_string(world.rank() * 7));
        check(all == std::vector<std::string>{"0", "7", "14"}, "all_gather_object");
        world.barrier();
        world.barrier_async().wait();
        world.monitored_barrier();
    });
}

TEST(BackendsTest, calls_are_refused_by_the_capability_table) {
    for (const Capabilities& row : capabilities())
        for (int feature = 0; feature < kFeatures; ++feature)
            EXPECT_EQ(supports(row.backend, static_cast<Feature>(feature), row.device), row.support[feature]);
    EXPECT_EQ(supports("shm", Feature::all_reduce, Device::cuda), Support::no);
    EXPECT_EQ(supports("xccl", Feature::all_reduce, Device::cpu), Support::no);
    EXPECT_EQ(why_unusable("shm"), "");
    EXPECT_NE(why_unusable("mpi"), "");
}

}  // namespace
}  // namespace dlaunch::conformance
