#include <gtest/gtest.h>

#include "worker_lib/src/core/group.hpp"

namespace dlaunch::worker {
namespace {

GroupParts three_ranks() {
    GroupParts parts{.name = "world", .rank = 0, .store = {nullptr, ""}};
    parts.ranks = {0, 1, 2};
    return parts;
}

/// The text of the refusal; "": not refused.
template <class What>
std::string refusal(const What& what) {
    try {
        check(what, three_ranks());
        return "";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
        EXPECT_EQ(error.group(), "world");
        return error.what();
    }
}

Call reducing(DType type, ReduceOp op) {
    Call call;
    call.op = Op::all_reduce;
    call.type = type;
    call.reduce = op;
    return call;
}

TEST(CheckTest, roots_are_ranks_of_the_group) {
    Call call;
    call.op = Op::broadcast;
    call.root = 2;
    EXPECT_EQ(refusal(call), "");
    call.root = 3;
    EXPECT_EQ(refusal(call), "broadcast in group world: root 3 is not in a group of 3");
    call.root = -1;
    EXPECT_EQ(refusal(call), "broadcast in group world: root -1 is not in a group of 3");
    call.op = Op::all_gather;
    EXPECT_EQ(refusal(call), "") << "it has no root";
}

TEST(CheckTest, there_is_one_count_for_each_rank) {
    Call call;
    call.op = Op::all_to_all;
    call.counts = {1, 2, 3};
    call.out_counts = {1, 2};
    EXPECT_EQ(refusal(call), "all_to_all in group world: 2 counts for a group of 3");
}

TEST(CheckTest, the_operation_exists_for_the_type) {
    EXPECT_EQ(refusal(reducing(DType::float32, ReduceOp::bxor())),
              "all_reduce in group world: bxor does not exist for float32");
    EXPECT_EQ(refusal(reducing(DType::boolean, ReduceOp::avg())),
              "all_reduce in group world: avg does not exist for bool");
    EXPECT_EQ(refusal(reducing(DType::int32, ReduceOp::premul_sum(0.5))),
              "all_reduce in group world: premul_sum 0.5 on int32: the factor must be a whole number");
    EXPECT_EQ(refusal(reducing(DType::float16, ReduceOp::premul_sum(0.5))), "");
    EXPECT_NE(refusal(reducing(DType::int64, ReduceOp::premul_sum(1e300))), "");
}

/// A call of rank 0 among three ranks, with blocks of two elements.
Call moving(Op op, const std::int32_t* in, std::int32_t* out) {
    Call call;
    call.op = op;
    call.type = DType::int32;
    call.root = op == Op::gather || op == Op::scatter || op == Op::reduce ? 0 : -1;
    call.in = reinterpret_cast<const std::byte*>(in);
    call.out = reinterpret_cast<std::byte*>(out);
    call.count = 2;
    return call;
}

TEST(CheckTest, buffers_overlap_in_the_documented_forms_only) {
    std::int32_t place[20] = {};
    std::int32_t* const at = place + 8;
    for (const Op op : {Op::all_reduce, Op::reduce}) {
        EXPECT_EQ(refusal(moving(op, at, at)), "");
        EXPECT_EQ(refusal(moving(op, at, at + 2)), "") << "adjacent";
        EXPECT_NE(refusal(moving(op, at, at + 1)), "");
        EXPECT_NE(refusal(moving(op, at, at - 1)), "");
    }
    for (const Op op : {Op::gather, Op::all_gather}) {  // 2 elements to 6
        EXPECT_EQ(refusal(moving(op, at, at)), "");
        EXPECT_EQ(refusal(moving(op, at, at + 2)), "") << "adjacent";
        EXPECT_NE(refusal(moving(op, at + 2, at)), "") << "the block of rank 1";
        EXPECT_NE(refusal(moving(op, at, at + 1)), "");
    }
    for (const Op op : {Op::scatter, Op::reduce_scatter}) {  // 6 elements to 2
        EXPECT_EQ(refusal(moving(op, at, at)), "");
        EXPECT_EQ(refusal(moving(op, at, at + 6)), "") << "adjacent";
        EXPECT_NE(refusal(moving(op, at, at + 4)), "") << "the block of rank 2";
        EXPECT_NE(refusal(moving(op, at, at - 1)), "");
    }
    EXPECT_EQ(refusal(moving(Op::all_to_all, at, at + 6)), "") << "adjacent";
    EXPECT_EQ(
        refusal(moving(Op::all_to_all, at, at)),
        "all_to_all in group world: in and out overlap, but not as in the call's in-place form: pass memory of its "
        "own for out");
    Call empty = moving(Op::all_to_all, at, at);
    empty.count = 0;
    EXPECT_EQ(refusal(empty), "");
    Call one_buffer = moving(Op::broadcast, at, at);
    one_buffer.root = 1;
    EXPECT_EQ(refusal(one_buffer), "");
}

TEST(CheckTest, in_place_blocks_follow_the_counts) {
    std::int32_t place[20] = {};
    GroupParts last = three_ranks();
    last.rank = 2;
    Call call = moving(Op::all_gather, place + 5, place);
    call.counts = {4, 1, 3};
    call.count = 3;
    EXPECT_NO_THROW(check(call, last));
    call.in += 4;
    EXPECT_THROW(check(call, last), Error);
}

TEST(CheckTest, messages_have_a_peer_and_a_tag) {
    int place = 0;
    Transfer transfer{.sends = true, .data = &place, .count = 1, .type = DType::int32, .peer = 1, .tag = 5};
    EXPECT_EQ(refusal(transfer), "");
    transfer.peer = kAnySource;
    EXPECT_EQ(refusal(transfer), "send in group world: rank -1 is not in a group of 3");
    transfer.sends = false;
    transfer.tag = kAnyTag;
    EXPECT_EQ(refusal(transfer), "");
    transfer.tag = -2;
    EXPECT_EQ(refusal(transfer), "recv in group world: tag -2 is negative");
    transfer.tag = 0;
    transfer.data = nullptr;
    EXPECT_EQ(refusal(transfer), "recv in group world: 1 elements of int32 at no address");
}

TEST(CheckTest, buffers_have_an_address_and_a_possible_size) {
    int place = 0;
    EXPECT_EQ(why_invalid({nullptr, 0, DType::int32}), "");
    EXPECT_EQ(why_invalid({&place, 1, DType::int32}), "");
    EXPECT_EQ(why_invalid({nullptr, 3, DType::int8}), "3 elements of int8 at no address");
    EXPECT_EQ(why_invalid({&place, SIZE_MAX, DType::int8}),
              "18446744073709551615 elements of int8 are more than there can be");
}

}  // namespace
}  // namespace dlaunch::worker
