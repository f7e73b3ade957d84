/// sendrecv(): rings and pairs in which every rank sends and receives at once.

#include <functional>

#include "tests/conformance/fake_gpu.hpp"
#include "tests/conformance/reference.hpp"
#include "tests/conformance/world.hpp"

namespace dlaunch::conformance {
namespace {

using SendRecvTest = Everywhere;
INSTANTIATE_TEST_SUITE_P(, SendRecvTest, testing::ValuesIn(cases({1, 2, 3, 5})), name_of);

TEST_P(SendRecvTest, a_ring_of_every_size) {
    run([](const ProcessGroup& world) {
        const int to = (world.rank() + 1) % world.size(), from = (world.rank() + world.size() - 1) % world.size();
        for (const std::size_t count :
             {0U, 1U, 7U, 65000U, 66000U, 1000001U, 5000001U}) {  // more than a ring or a socket holds
            const Buffer<float> out = input<float>(world.rank(), count), in(count);
            const Received received = world.sendrecv(out.span(), to, in.span(), from);
            check(received.source == from && received.tag == 0 && received.count == count, "what it returns");
            for (std::size_t i = 0; i < count; ++i) check(in[i] == element<float>(from, i), "an element is wrong");
        }
        world.barrier();  // a rank that leaves may end sends to it that it has received already
    });
}

TEST_P(SendRecvTest, tags_lengths_and_types_differ) {
    run([](const ProcessGroup& world) {
        const int rank = world.rank(), to = (rank + 1) % world.size(), from = (rank + world.size() - 1) % world.size();
        const std::vector<int> out(3, rank);
        std::vector<int> in(10);
        const Received received =
            world.sendrecv(out, to, in, kAnySource, {.send_tag = rank + 7, .recv_tag = from + 7, .up_to = true});
        check(received.source == from && received.tag == from + 7 && received.count == 3, "what it returns");
        check(in[2] == from, "the message");
        float small = -1;  // the other direction has another type and length
        if (rank % 2 == 0 && to != rank && to % 2 == 1) world.sendrecv(out, to, small, to);
        if (rank % 2 == 1) world.sendrecv(static_cast<float>(rank), from, in, from, {.up_to = true});
        check(small == -1 || small == static_cast<float>(to), "a number for a vector");
        world.barrier();
    });
}

TEST_P(SendRecvTest, an_error_of_one_part_does_not_stop_the_other) {
    if (GetParam().ranks < 2) return;
    run([](const ProcessGroup& world) {
        if (world.rank() > 1) return world.barrier();
        const int peer = 1 - world.rank();
        const std::vector<double> out(100'000, world.rank());  // more than the buffers between two ranks hold
        std::vector<double> in(100'000, -1);
        if (world.rank() == 0)
            expect_error(ErrorCode::mismatch, {0, 1},
                         [&] { world.sendrecv(out, peer, std::span(in).first(50'000), peer); });
        else
            world.sendrecv(out, peer, in, peer);
        check(world.rank() == 0 || (in[0] == 0 && in.back() == 0), "the message of the failed call");
        world.sendrecv(out, peer, in, peer);
        check(in.back() == peer, "the next one");
        world.barrier();
    });
}

TEST_P(SendRecvTest, what_is_wrong_is_refused_before_anything_is_sent) {
    run([](const ProcessGroup& world) {
        std::vector<int> data(10), other(10);
        const int rank = world.rank();
        const auto refuses = [](const std::function<void()>& call) { expect_error(ErrorCode::invalid_argument, call); };
        refuses([&] { world.sendrecv(data, rank, data, rank); });
        refuses([&] { world.sendrecv(std::span(data).first(6), rank, std::span(data).last(5), rank); });
        refuses([&] { world.sendrecv(data, rank, other, world.size()); });
        refuses([&] { world.sendrecv(data, world.size(), other, rank); });
        refuses([&] { world.sendrecv(data, rank, other, rank, {.send_tag = -1}); });
        const Received received = world.sendrecv(std::span(data).first(5), rank, std::span(data).last(5), rank);
        check(received.source == rank && received.count == 5, "parts that only touch");
        world.barrier();
    });
}

TEST(SendRecvOnNcclTest, a_ring_of_device_memory) {
    run_world(3, {.backend = "nccl"}, [](const ProcessGroup& world) {
        const DeviceStream stream;
        const std::vector<float> mine(1000, static_cast<float>(world.rank()));
        const DeviceBuffer<float> out(mine, stream.handle());
        DeviceBuffer<float> in(1000, stream.handle());
        const int to = (world.rank() + 1) % 3, from = (world.rank() + 2) % 3;
        const Received received = world.sendrecv(out.span(), to, in.span(), from);
        check(received.source == from && received.count == 1000, "what it returns");
        check(in.to_host() == std::vector<float>(1000, static_cast<float>(from)), "the message");
    });
}

}  // namespace
}  // namespace dlaunch::conformance
