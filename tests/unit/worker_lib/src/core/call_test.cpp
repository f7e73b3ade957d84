#include "worker_lib/src/core/call.hpp"

#include <gtest/gtest.h>

#include <set>

namespace dlaunch::worker {
namespace {

using std::chrono::milliseconds;

Call call(Op op, ElementType type, std::size_t count, int root = -1, ReduceOp reduce = ReduceOp::sum()) {
    Call made;
    made.op = op;
    made.type = type;
    made.count = count;
    made.root = root;
    made.reduce = reduce;
    made.sequence = 17;
    return made;
}

std::string described(const Call& what) { return describe(Signature(what)); }

TEST(CallTest, calls_are_described_with_their_arguments) {
    EXPECT_EQ(described(call(Op::barrier, DType::uint8, 0)), "barrier");
    EXPECT_EQ(described(call(Op::all_reduce, DType::float32, 20)), "all_reduce(float32, 20, sum)");
    EXPECT_EQ(described(call(Op::broadcast, DType::int64, 3, 1)), "broadcast(int64, 3, root 1)");
    EXPECT_EQ(described(call(Op::reduce, DType::boolean, 1, 0, ReduceOp::max())), "reduce(bool, 1, max, root 0)");
    EXPECT_EQ(described(call(Op::reduce_scatter, DType::float16, 4, -1, ReduceOp::premul_sum(0.5))),
              "reduce_scatter(float16, 4, premul_sum 0.5)");
    EXPECT_EQ(described(call(Op::broadcast, ElementType(DType::bytes, 24), 3, 1)), "broadcast(bytes[24], 3, root 1)");
    EXPECT_EQ(described(call(Op::all_gather, ElementType(DType::float64, 24), 3)), "all_gather(float64[3], 3)");
    Call with_counts = call(Op::all_to_all, DType::int8, 0);
    with_counts.counts = {1, 2};
    EXPECT_EQ(described(with_counts), "all_to_all(int8, counts)");
}

TEST(CallTest, counts_of_a_v_form_are_compared_but_not_those_of_all_to_all) {
    Call one = call(Op::all_gather, DType::int8, 2), other = call(Op::all_gather, DType::int8, 3);
    one.counts = other.counts = {2, 3};
    EXPECT_EQ(Signature(one), Signature(other)) << "each rank's own count differs";
    other.counts = {3, 2};
    EXPECT_NE(Signature(one), Signature(other));
    one.op = other.op = Op::all_to_all;
    EXPECT_EQ(Signature(one), Signature(other));
    other.counts.clear();
    EXPECT_NE(Signature(one), Signature(other)) << "the plain form is another call";
}

TEST(CallTest, elements_of_different_sizes_are_a_mismatch) {
    const auto signature = [](ElementType type) { return Signature(call(Op::broadcast, type, 2, 0)); };
    EXPECT_EQ(signature({DType::bytes, 24}), signature({DType::bytes, 24}));
    EXPECT_NE(signature({DType::bytes, 24}), signature({DType::bytes, 16}));
    EXPECT_NE(signature({DType::float32, 8}), signature(DType::float32));
}

TEST(CallTest, an_announcement_stands_for_a_call_on_device_memory) {
    const Call there = call(Op::all_reduce, DType::float32, 20);
    Call announcement;
    announcement.announced = &there;
    EXPECT_EQ(described(announcement), "all_reduce(float32, 20, sum) in device memory");
    EXPECT_NE(Signature(announcement), Signature(there));
    EXPECT_EQ(where(announcement, "g").op, "all_reduce");
}

TEST(CallTest, the_reduction_is_compared_for_reductions_only) {
    const auto signature = [](Op op, ReduceOp reduce) { return Signature(call(op, DType::int8, 1, -1, reduce)); };
    EXPECT_EQ(signature(Op::all_gather, ReduceOp::sum()), signature(Op::all_gather, ReduceOp::max()));
    EXPECT_NE(signature(Op::all_reduce, ReduceOp::sum()), signature(Op::all_reduce, ReduceOp::max()));
    EXPECT_NE(signature(Op::all_reduce, ReduceOp::premul_sum(2)), signature(Op::all_reduce, ReduceOp::premul_sum(3)));
}

TEST(CallTest, digests_of_different_calls_differ) {
    std::set<std::uint64_t> digests;
    std::size_t made = 0;
    for (const Op op : {Op::barrier, Op::broadcast, Op::reduce, Op::all_reduce})
        for (const DType type : {DType::uint8, DType::float32})
            for (std::size_t count = 0; count < 50; ++count)
                for (int root = -1; root < 3; ++root)
                    for (const ReduceOp reduce : {ReduceOp::sum(), ReduceOp::max()})
                        for (std::uint64_t sequence = 1; sequence < 20; ++sequence) {
                            if (reduce.kind() != ReduceOp::Kind::sum && op != Op::reduce && op != Op::all_reduce)
                                continue;
                            Call one = call(op, type, count, root, reduce);
                            one.sequence = sequence;
                            EXPECT_EQ(Signature(one).digest(), Signature(one).digest());
                            digests.insert(Signature(one).digest());
                            ++made;
                        }
    EXPECT_EQ(digests.size(), made);
}

TEST(CallTest, a_mismatch_names_rank_0_and_the_first_that_differs) {
    const Signature usual(call(Op::all_reduce, DType::float32, 20)), odd(call(Op::broadcast, DType::float32, 10, 0));
    const Signature all[] = {usual, usual, odd, odd};
    EXPECT_FALSE(all_alike(all));
    EXPECT_TRUE(all_alike(std::span(all).first(2)));
    const Error error = mismatch(all, {.name = "world", .size = 4});
    EXPECT_STREQ(error.what(),
                 "mismatch in group world: as call #17 rank 0 called all_reduce(float32, 20, sum), rank 2 called "
                 "broadcast(float32, 10, root 0); all ranks must make the same calls in the same order");
    EXPECT_EQ(error.code(), ErrorCode::mismatch);
    EXPECT_EQ(error.ranks(), (std::vector{0, 2}));
    EXPECT_EQ(error.op(), "all_reduce");
    EXPECT_EQ(error.sequence(), 17U);
    EXPECT_EQ(error.group(), "world");
}

TEST(CallTest, a_mismatch_names_the_call_of_fewer_ranks_last) {
    const Signature usual(call(Op::all_reduce, DType::float32, 20)), odd(call(Op::barrier, DType::uint8, 0));
    const Signature all[] = {odd, usual, usual};
    const Error error = mismatch(all, {.name = "world", .size = 3});
    EXPECT_STREQ(
        error.what(),
        "mismatch in group world: as call #17 rank 1 called all_reduce(float32, 20, sum), rank 0 called barrier; "
        "all ranks must make the same calls in the same order");
    EXPECT_EQ(error.ranks(), (std::vector{1, 0}));
}

TEST(CallTest, a_rank_at_another_sequence_number_is_a_mismatch) {
    Signature ahead(call(Op::all_reduce, DType::float32, 20));
    ++ahead.sequence;
    const Signature all[] = {Signature(call(Op::all_reduce, DType::float32, 20)), ahead};
    EXPECT_NE(std::string(mismatch(all, {.name = "g", .size = 2}).what())
                  .find("rank 1 called all_reduce(float32, 20, sum) as call #18"),
              std::string::npos);
}

TEST(CallTest, a_mismatch_in_a_group_names_ranks_of_the_world) {
    const Signature usual(call(Op::all_reduce, DType::float32, 20)), odd(call(Op::all_reduce, DType::float32, 10));
    const Signature all[] = {usual, odd};
    const Error error = mismatch(all, {.name = "g", .size = 2, .names = RankNames({3, 7})});
    EXPECT_STREQ(error.what(),
                 "mismatch in group g: as call #17 rank 3 called all_reduce(float32, 20, sum), rank 7 called "
                 "all_reduce(float32, 10, sum); all ranks must make the same calls in the same order");
    EXPECT_EQ(error.ranks(), (std::vector{0, 1}));
}

TEST(CallTest, a_failure_names_its_call) {
    EXPECT_STREQ(failure(ErrorCode::timeout, where(call(Op::gather, DType::int8, 1), "g"), {1}, "why").what(),
                 "gather #17 in group g: why");
    EXPECT_STREQ(failure(ErrorCode::timeout, {"send", 0, "g"}, {1}, "why").what(), "send in group g: why");
}

TEST(CallTest, texts_of_others_become_one_line) {
    EXPECT_EQ(one_line("NaN"), "NaN");
    EXPECT_EQ(one_line(""), "");
    EXPECT_EQ(one_line("CUDA error\r\nCompile with DSA.\n\n  frame #0: f\n"),
              "CUDA error; Compile with DSA.; frame #0: f");
    EXPECT_STREQ(aborted({.name = "g", .rank = 1, .names = RankNames({3, 7})}, "a\nb").what(), "rank 7: a; b");
}

TEST(CallTest, lists_of_ranks_are_short) {
    EXPECT_EQ(list_ranks({3}), "rank 3");
    EXPECT_EQ(list_ranks({1, 2}), "ranks 1 and 2");
    EXPECT_EQ(list_ranks({1, 2, 5}), "ranks 1, 2 and 5");
    std::vector<int> many(100);
    EXPECT_TRUE(list_ranks(many).ends_with(" and 84 more")) << list_ranks(many);
}

TEST(CallTest, durations_are_printed_in_seconds_or_milliseconds) {
    EXPECT_EQ(describe(milliseconds(3000)), "3 s");
    EXPECT_EQ(describe(milliseconds(250)), "250 ms");
    EXPECT_EQ(describe(std::chrono::microseconds(1234)), "1.23 ms");
}

TEST(CallTest, an_infinite_duration_does_not_overflow) {
    EXPECT_GT(after(milliseconds::max()), Clock::now() + std::chrono::hours(24 * 365 * 99));
    EXPECT_GT(after(std::chrono::hours::max()) + std::chrono::hours(24 * 365 * 10), Clock::now());
    const Time past = after(milliseconds::min());
    EXPECT_LE(past, Clock::now());
}

}  // namespace
}  // namespace dlaunch::worker
