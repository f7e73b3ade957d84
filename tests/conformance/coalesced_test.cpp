/// Many arrays in one call: all_reduce_coalesced(), broadcast_coalesced().

#include <numeric>

#include "tests/conformance/fake_gpu.hpp"
#include "tests/conformance/world.hpp"

namespace dlaunch::conformance {
namespace {

using CoalescedTest = Everywhere;
INSTANTIATE_TEST_SUITE_P(, CoalescedTest, testing::ValuesIn(cases({1, 2, 3, 5}, true)), name_of);

/// Arrays of these lengths, each of whose elements is `value` plus its array's number.
std::vector<std::vector<float>> filled(std::initializer_list<std::size_t> lengths, int value) {
    std::vector<std::vector<float>> arrays;
    for (const std::size_t length : lengths)
        arrays.emplace_back(length, static_cast<float>(value + static_cast<int>(arrays.size())));
    return arrays;
}

void check_filled(const std::vector<std::vector<float>>& arrays, int value, int step) {
    for (std::size_t i = 0; i < arrays.size(); ++i)
        for (const float element : arrays[i])
            check(element == static_cast<float>(value + step * static_cast<int>(i)), "an element");
}

// Short ones, none, and longer ones than are copied together.
constexpr std::initializer_list<std::size_t> kLengths{1, 3, 0, 1000, 0, 300000, 7, 200000, 200000, 1, 0};

TEST_P(CoalescedTest, sums_and_broadcasts_of_every_length) {
    run([](const ProcessGroup& world) {
        const int rank = world.rank(), size = world.size();
        auto arrays = filled(kLengths, rank);
        const std::vector<MutableBuffer> list(arrays.begin(), arrays.end());
        world.all_reduce_coalesced(list);
        check_filled(arrays, size * (size - 1) / 2, size);
        world.broadcast_coalesced(list, size - 1);
        check_filled(arrays, size * (size - 1) / 2, size);
        auto other = filled({5, 0, 6}, 100 * rank);
        world.broadcast_coalesced(std::vector<MutableBuffer>(other.begin(), other.end()), size - 1);
        check_filled(other, 100 * (size - 1), 1);
        world.all_reduce_coalesced({});
        world.all_reduce_coalesced(std::vector<MutableBuffer>(other.begin(), other.begin() + 1), ReduceOp::max());
        check_filled(other, 100 * (size - 1), 1);
    });
}

TEST_P(CoalescedTest, later_ones_keep_the_order_of_calls) {
    run([](const ProcessGroup& world) {
        auto arrays = filled({8, 9}, world.rank());
        int one = 1;
        Work works[3];
        {
            const std::vector<MutableBuffer> list(arrays.begin(), arrays.end());  // is copied
            works[0] = world.all_reduce_coalesced_async(list, ReduceOp::premul_sum(2));
            works[1] = world.all_reduce_async(one);
            works[2] = world.broadcast_coalesced_async(list);
        }
        wait_all(works);
        check_filled(arrays, world.size() * (world.size() - 1), 2 * world.size());
        check(one == world.size(), "the call between");
    });
}

TEST_P(CoalescedTest, other_lengths_are_a_mismatch) {
    if (GetParam().ranks < 2 || GetParam().backend == "nccl") return;  // NCCL's calls are compared after a time-out
    run([](const ProcessGroup& world) {
        std::vector<float> data(10, 1);
        const std::span all(data);
        const std::size_t first = world.rank() == 0 ? 4 : 6;
        const std::vector<MutableBuffer> list{all.first(first), all.subspan(first)};
        expect_error(ErrorCode::mismatch, [&] { world.all_reduce_coalesced(list); });
        expect_error(ErrorCode::mismatch,
                     [&] { world.rank() == 0 ? world.all_reduce(data) : world.all_reduce_coalesced(list); });
        check(data == std::vector<float>(10, 1), "nothing was written");
        world.all_reduce(data);
    });
}

TEST_P(CoalescedTest, what_does_not_fit_is_refused) {
    run([](const ProcessGroup& world) {
        float x = 0;
        int i = 0;
        struct {
            char bytes[3];
        } own{};
        const auto refuses = [](const std::function<void()>& call) { expect_error(ErrorCode::invalid_argument, call); };
        refuses([&] { world.all_reduce_coalesced(std::vector<MutableBuffer>{x, i}); });
        refuses([&] { world.all_reduce_coalesced(std::vector<MutableBuffer>{own, own}); });
        refuses([&] { world.broadcast_coalesced(std::vector<MutableBuffer>{x}, world.size()); });
        refuses([&] { world.broadcast_coalesced(std::vector<MutableBuffer>{{nullptr, 1, DType::int8}}); });
        refuses([&] { world.all_reduce_coalesced(std::vector<MutableBuffer>{x, DeviceSpan<float>{&x, 1, nullptr}}); });
        world.broadcast_coalesced(std::vector<MutableBuffer>{own});
    });
}

void on_device(const ProcessGroup& world) {
    const DeviceStream stream;
    const int rank = world.rank();
    std::vector<DeviceBuffer<float>> buffers;
    for (const std::size_t length : {3U, 1000U, 40000U})
        buffers.emplace_back(std::vector<float>(length, static_cast<float>(rank)), stream.handle());
    std::vector<MutableBuffer> list;
    for (auto& buffer : buffers) list.emplace_back(buffer.span());
    const auto expect = [&](float value) {
        for (const auto& buffer : buffers)
            check(buffer.to_host() == std::vector<float>(buffer.size(), value), "an element");
    };
    world.all_reduce_coalesced(list);
    expect(3);
    world.all_reduce_coalesced(list, ReduceOp::premul_sum(0.5));
    expect(4.5F);
    world.all_reduce_coalesced_async(list, ReduceOp::avg()).wait();
    expect(4.5F);
    DeviceBuffer<std::int16_t> bits(std::vector<std::int16_t>(5, static_cast<std::int16_t>(1 << rank)),
                                    stream.handle());  // combined on the host
    world
        .all_reduce_coalesced_async(
            std::vector<MutableBuffer>{bits.span(), DeviceSpan<std::int16_t>{nullptr, 0, stream.handle()}},
            ReduceOp::bor())
        .wait();
    check(bits.to_host() == std::vector<std::int16_t>(5, 7), "bits");
    if (rank == 1) buffers[1] = DeviceBuffer<float>(std::vector<float>(1000, 8), stream.handle());
    list[1] = buffers[1].span();
    world.broadcast_coalesced(std::span(list).subspan(1, 1), 1);
    check(buffers[1].to_host() == std::vector<float>(1000, 8), "broadcast");
}

TEST(CoalescedOnGpusTest, nccl) { run_world(3, {.backend = "nccl"}, on_device); }
TEST(CoalescedOnGpusTest, automatic) { run_world(3, {.backend = "auto", .gpus = true}, on_device); }

}  // namespace
}  // namespace dlaunch::conformance
