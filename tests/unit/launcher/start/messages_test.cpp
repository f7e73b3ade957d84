#include "launcher/start/messages.hpp"

#include <gtest/gtest.h>

namespace dlaunch::launcher {
namespace {

/// Passes a frame through the decoder that both sides use.
std::pair<FrameKind, std::string> passed(const std::string& frame) {
    wire::Decoder decoder(wire::Decoder::Takes::frames);
    wire::Request request;
    decoder.feed(frame);
    EXPECT_EQ(decoder.next(request), wire::Decoder::Outcome::request);
    return {static_cast<FrameKind>(request.number), std::string(request.value)};
}

const NodeOrder kOrder{.name = "nb",
                       .order_key = "1",
                       .folder = "/home/\xff it's",
                       .words = {"dlaunch", "", "line\nbreak", "\xff\xfe"},
                       .variables = {"A=", "B=x=y\n"},
                       .keeps_own_variables = true,
                       .coordinator_port = 65535,
                       .prints = true,
                       .has_input = true,
                       .relays_output = true,
                       .terminals = 3,
                       .collects_logs = true};

TEST(Messages, an_order_arrives_byte_for_byte) {
    const auto [kind, payload] = passed(encode(kOrder));
    EXPECT_EQ(kind, FrameKind::begin);
    EXPECT_EQ(decode_order(payload), kOrder);
}

TEST(Messages, the_others_arrive) {
    const NodeHello hello{"0.1", "key", "na"};
    const Taken taken{FrameKind::errors, 70'000};
    const NodeEnd end{-1, "chdir /gone: No such file or directory"};
    const agent::FrontNotice input{agent::FrontNotice::Kind::input, 7, 3, 1};
    const agent::FrontNotice worker{
        agent::FrontNotice::Kind::worker, 7, 1, 0, {5, 1, 4711, 137, 9'000, 1.25, 0.5, {"trainer"}}};
    EXPECT_EQ(decode_hello(passed(encode(hello)).second), hello);
    for (const auto& notice : {input, worker}) EXPECT_EQ(decode_notice(passed(encode(notice)).second), notice);
    EXPECT_EQ(decode_taken(passed(encode(taken)).second), taken);
    EXPECT_EQ(decode_end(passed(encode(end)).second), end);
    EXPECT_EQ(passed(encode(FrameKind::output, "text\n")), (std::pair{FrameKind::output, std::string("text\n")}));
}

TEST(Messages, an_incomplete_payload_is_refused_wherever_it_ends) {
    const std::string payload = passed(encode(kOrder)).second;
    for (std::size_t size = 0; size < payload.size(); ++size)
        EXPECT_EQ(decode_order(payload.substr(0, size)), std::nullopt) << size;
    EXPECT_EQ(decode_order(payload + "x"), std::nullopt);
}

TEST(Messages, a_claimed_length_takes_no_memory) {
    std::string payload;
    wire::put_u64(payload, UINT64_MAX);
    EXPECT_EQ(decode_hello(payload), std::nullopt);
    EXPECT_EQ(decode_order(payload), std::nullopt);
}

TEST(Messages, only_streams_are_taken) {
    EXPECT_EQ(decode_taken(passed(encode(Taken{FrameKind::beat, 1})).second), std::nullopt);
}

}  // namespace
}  // namespace dlaunch::launcher
