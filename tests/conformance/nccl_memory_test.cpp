/// Which memory calls on nccl accept: NCCL itself does not look at pointers, and a wrong one ends the GPU's context.

#include <cstdlib>

#include "tests/conformance/fake_gpu.hpp"

namespace dlaunch::conformance {
namespace {

/// Memory of another GPU than the rank's.
DeviceSpan<float> memory_of_another_gpu(const OneFloat& one) {
    void *own = nullptr, *other = nullptr;
    check(call_fake("cuCtxGetCurrent", &own) == 0, "the current context");
    check(call_fake("cuDevicePrimaryCtxRetain", &other, 7) == 0 && call_fake("cuCtxSetCurrent", other) == 0, "GPU 7");
    std::uintptr_t address = 0;
    check(call_fake("cuMemAlloc_v2", &address, std::size_t{64}) == 0, "memory of GPU 7");
    check(call_fake("cuCtxSetCurrent", own) == 0, "the rank's own GPU");
    return {reinterpret_cast<float*>(address), 1, one.stream.handle()};
}

void expect_refused(const char* part, const std::function<void()>& call) {
    const Error error = expect_error(ErrorCode::invalid_argument, call);
    check(std::string(error.what()).find(part) != std::string::npos, error.what());
    check(error.sequence() == 0, "a refused call has a number");
}

/// A refused call was never made: sequence numbers remain equal on all ranks, and no mismatch follows.
TEST(NcclMemoryTest, memory_that_the_gpu_cannot_use_is_refused_on_that_rank_and_the_group_goes_on) {
    run_world(2, {.backend = "nccl", .timeout = std::chrono::seconds(5)}, [](const ProcessGroup& world) {
        OneFloat one;
        float on_host = 0;
        const DeviceSpan<float> pageable{&on_host, 1, one.stream.handle()}, foreign = memory_of_another_gpu(one);
        if (world.rank() == 0) {
            expect_refused("`in` of rank 0 is host memory that CUDA does not know", [&] { world.broadcast(pageable); });
            expect_refused("`in` of rank 0 is host memory", [&] { (void)world.broadcast_async(pageable); });
            expect_refused("`out` of rank 0 is host memory", [&] { world.all_reduce(one.buffer.span(), pageable); });
            int bits = 0;
            expect_refused("`in` of rank 0 is host memory", [&] {
                world.all_reduce(DeviceSpan<int>{&bits, 1}, ReduceOp::bor());
            });
            expect_refused("`in` of rank 0 is memory of GPU 7, but the group uses GPU 0",
                           [&] { world.all_reduce(foreign); });
            expect_refused("send in group world: `in` of rank 0 is host memory", [&] { world.send(pageable, 1); });
            expect_refused("recv in group world: `out` of rank 0 is host memory", [&] { world.recv(pageable, 1); });
            const std::vector<P2POp> both{send_op(one.buffer.span(), 1), recv_op(pageable, 1)};
            expect_refused("`out` of rank 0 is host memory", [&] { (void)world.batch_isend_irecv(both); });
        }
        world.all_reduce(one.buffer.span());
        check(one.value() == 2, "the group goes on");
        Work late = world.rank() == 0 ? world.all_reduce_async(one.buffer.span(), ReduceOp::sum(),
                                                               {.timeout = std::chrono::seconds(1)})
                                      : Work();
        if (world.rank() == 1) return (void)world.store().get("gave up");
        const Error error = expect_error(ErrorCode::timeout, {1}, [&] { late.wait_for(std::chrono::seconds(30)); });
        check(error.sequence() == 2, error.what());
        world.store().set("gave up", "yes");
    });
}

TEST(NcclMemoryTest, ranks_without_a_part_in_a_buffer_may_pass_anything) {
    run_world(2, {.backend = "nccl"}, [](const ProcessGroup& world) {
        OneFloat one;
        float on_host = 0;
        const DeviceSpan<float> anything{&on_host, 1, one.stream.handle()};
        world.reduce(one.buffer.span(), world.rank() == 0 ? one.buffer.span() : anything, 0);
        check(one.value() == (world.rank() == 0 ? 2 : 1) && on_host == 0, "reduce");
        world.broadcast(DeviceSpan<float>{&on_host, 0, one.stream.handle()});
    });
}

TEST(NcclMemoryTest, pinned_and_managed_memory_are_accepted) {
    run_world(2, {.backend = "nccl"}, [](const ProcessGroup& world) {
        const OneFloat one;  // makes the GPU current
        void* pinned = nullptr;
        std::uintptr_t managed = 0;
        check(call_fake("cuMemAllocHost_v2", &pinned, std::size_t{64}) == 0, "pinned memory");
        check(call_fake("cuMemAllocManaged", &managed, std::size_t{64}, 1U) == 0, "managed memory");
        const DeviceSpan<float> in{static_cast<float*>(pinned), 1, one.stream.handle()};
        const DeviceSpan<float> out{reinterpret_cast<float*>(managed), 1, one.stream.handle()};
        *in.data = static_cast<float>(world.rank() + 1);
        world.all_reduce(in, out);
        one.stream.synchronize();
        check(*out.data == 3, "the sum in managed memory");
        if (world.rank() == 0) world.send(out, 1);
        if (world.rank() == 1) world.recv(in, 0);
        one.stream.synchronize();
        check(world.rank() == 0 || *in.data == 3, "a message into pinned memory");
        for (const auto address : {reinterpret_cast<std::uintptr_t>(pinned), managed})
            check(call_fake("cuMemFree_v2", address) == 0, "free");
    });
}

TEST(NcclMemoryTest, gpus_that_reach_all_memory_of_the_host_accept_it) {
    run_world(2, {.backend = "nccl", .joins = false}, [](const ProcessGroup&) {
        setenv("FAKE_CUDA_PAGEABLE", "1", 1);
        const ProcessGroup world = join_process_group(init_options());
        const DeviceStream stream;
        float on_host = 1;
        world.all_reduce(DeviceSpan<float>{&on_host, 1, stream.handle()});
        stream.synchronize();
        check(on_host == 2, "the sum");
    });
}

/// Nothing is sent, neither on the host nor between the devices.
TEST(NcclMemoryTest, a_batch_under_auto_is_refused_as_a_whole) {
    run_world(2, {.backend = "auto", .gpus = true}, [](const ProcessGroup& world) {
        OneFloat one;
        float on_host = 0, sent = 0, received = 0;
        const int other = 1 - world.rank();
        world.all_reduce(one.buffer.span());
        const std::vector<P2POp> both{send_op(sent, other), send_op(DeviceSpan<float>{&on_host, 1}, other)};
        expect_refused("host memory", [&] { (void)world.batch_isend_irecv(both); });
        sent = 5;
        Work work = world.isend(sent, other);
        world.recv(received, other);
        work.wait();
        check(received == 5, "the first message is another one");
    });
}

}  // namespace
}  // namespace dlaunch::conformance
