#include "worker_lib/src/core/message_matcher.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <string>

#include <dlaunch/options.hpp>

namespace dlaunch::worker {
namespace {

using Fate = Incoming::Fate;

/// Rank 0 of four ranks.
class MessageMatcherTest : public testing::Test {
protected:
    using Numbers = std::array<std::int32_t, 4>;

    /// Posts a receive into `into`.
    std::shared_ptr<MessageCall> receive(Numbers& into, int source, int tag = 0, std::size_t count = 1) {
        const auto call = std::make_shared<MessageCall>(
            Transfer{.data = into.data(), .count = count, .type = DType::int32, .peer = source, .tag = tag});
        matcher_.post(call);
        return call;
    }
    static Incoming message(int tag, std::size_t count = 1, ElementType type = DType::int32) {
        return {.envelope = {count * size_of(type), tag, type}, .head = sizeof(Envelope)};
    }
    /// The payload comes in, and every number of it is `value`.
    void come_in(int source, Incoming& message, std::int32_t value) {
        const std::span<std::byte> place = message.place();
        for (std::size_t at = 0; at + sizeof value <= place.size(); at += sizeof value)
            std::memcpy(&place[at], &value, sizeof value);
        message.body = message.envelope.bytes;
        matcher_.arrived(source, message);
    }
    /// A whole message.
    Fate arrive(int source, int tag, std::int32_t value) {
        Incoming one = message(tag);
        matcher_.decide(source, one);
        const Fate fate = one.fate;
        if (fate != Fate::undecided) come_in(source, one, value);
        return fate;
    }
    static std::string error_of(MessageCall& call) {
        try {
            call.rethrow();
        } catch (const Error& error) {
            return error.what();
        }
        return "";
    }

    MessageMatcher matcher_{{"world", 0, 4}};
    Numbers a_{}, b_{};
};

TEST_F(MessageMatcherTest, a_message_goes_to_the_first_receive_of_its_source_and_tag) {
    const auto other_tag = receive(b_, 1, 8);
    const auto other_source = receive(b_, 2, 7);
    const auto first = receive(a_, 1, 7);
    const auto second = receive(b_, 1, 7);
    EXPECT_EQ(arrive(1, 7, 42), Fate::received);
    EXPECT_TRUE(first->done());
    EXPECT_EQ(a_[0], 42);
    EXPECT_EQ(first->received().source, 1);
    EXPECT_EQ(first->received().tag, 7);
    EXPECT_EQ(first->received().count, 1U);
    EXPECT_FALSE(other_tag->done() || other_source->done() || second->done());
    EXPECT_EQ(matcher_.receives().size(), 3U);
}

TEST_F(MessageMatcherTest, any_source_and_any_tag_say_whose_message_came) {
    const auto any = receive(a_, kAnySource, kAnyTag);
    EXPECT_EQ(arrive(3, -7, 5), Fate::received);
    EXPECT_EQ(any->received().source, 3);
    EXPECT_EQ(any->received().tag, -7);
}

TEST_F(MessageMatcherTest, a_message_stays_until_a_receive_is_posted_for_one_behind_it) {
    Incoming early = message(7);
    matcher_.decide(1, early);
    EXPECT_EQ(early.fate, Fate::undecided);
    const auto of_another = receive(b_, 2, 7);
    matcher_.decide(1, early);
    EXPECT_EQ(early.fate, Fate::undecided);
    const auto behind = receive(b_, 1, 8);
    matcher_.decide(1, early);
    EXPECT_EQ(early.fate, Fate::held);
    EXPECT_EQ(early.place().size(), sizeof(std::int32_t));
}

TEST_F(MessageMatcherTest, a_receive_gets_the_oldest_message_that_is_held_for_it) {
    const auto behind = receive(b_, 1, 9);
    EXPECT_EQ(arrive(1, 7, 10), Fate::held);
    EXPECT_EQ(arrive(1, 8, 20), Fate::held);
    EXPECT_EQ(arrive(1, 7, 30), Fate::held);
    for (const auto& [tag, value] : {std::pair(8, 20), {7, 10}, {7, 30}}) {
        EXPECT_TRUE(receive(a_, 1, tag)->done());
        EXPECT_EQ(a_[0], value);
    }
    EXPECT_FALSE(receive(a_, 1, 7)->done());
    EXPECT_FALSE(behind->done());
}

TEST_F(MessageMatcherTest, a_receive_posted_while_a_held_message_comes_in_gets_it_at_its_end) {
    const auto behind = receive(b_, 1, 9);
    Incoming held = message(7);
    matcher_.decide(1, held);
    ASSERT_EQ(held.fate, Fate::held);
    const auto late = receive(a_, kAnySource, 7);
    EXPECT_FALSE(late->done());
    come_in(1, held, 6);
    EXPECT_TRUE(late->done());
    EXPECT_EQ(a_[0], 6);
    EXPECT_EQ(held.fate, Fate::undecided) << "ready for the next message";
    EXPECT_EQ(held.head, 0U);
}

TEST_F(MessageMatcherTest, a_message_of_another_count_or_type_fails_its_receive_and_is_discarded) {
    const auto two = receive(a_, 1, 7, 2);
    Incoming one = message(7);
    matcher_.decide(1, one);
    EXPECT_EQ(one.fate, Fate::discarded);
    EXPECT_TRUE(one.place().empty());
    EXPECT_EQ(error_of(*two), "recv in group world: rank 1 sent 1 int32 with tag 7, rank 0 receives 2 int32");
    const auto number = receive(a_, 1, 7);
    Incoming real = message(7, 1, DType::float32);
    matcher_.decide(1, real);
    EXPECT_EQ(real.fate, Fate::discarded);
    EXPECT_EQ(error_of(*number), "recv in group world: rank 1 sent 1 float32 with tag 7, rank 0 receives 1 int32");
    come_in(1, one, 1);
    EXPECT_EQ(one.fate, Fate::undecided);
}

TEST_F(MessageMatcherTest, a_held_message_of_another_count_fails_the_receive_that_it_matches) {
    const auto behind = receive(b_, 1, 9);
    EXPECT_EQ(arrive(1, 7, 10), Fate::held);
    EXPECT_NE(error_of(*receive(a_, 1, 7, 3)), "");
    EXPECT_FALSE(receive(a_, 1, 7)->done()) << "the message is gone";
}

TEST_F(MessageMatcherTest, a_receive_of_up_to_a_count_takes_fewer_but_not_more) {
    const auto up_to = [&](std::size_t count) {
        const auto call = std::make_shared<MessageCall>(
            Transfer{.data = a_.data(), .count = count, .type = DType::int32, .peer = 1, .up_to = true});
        matcher_.post(call);
        return call;
    };
    const auto enough = up_to(4), short_of = up_to(2);
    Incoming three = message(0, 3);
    matcher_.decide(1, three);
    come_in(1, three, 8);
    EXPECT_EQ(enough->received().count, 3U);
    EXPECT_EQ(a_, (Numbers{8, 8, 8, 0}));
    three = message(0, 3);
    matcher_.decide(1, three);
    EXPECT_EQ(error_of(*short_of),
              "recv in group world: rank 1 sent 3 int32 with tag 0, rank 0 receives up to 2 int32");
}

TEST_F(MessageMatcherTest, an_empty_message_matches_as_any_other) {
    const auto behind = receive(b_, 1, 9);
    Incoming empty = message(7, 0);
    matcher_.decide(1, empty);
    EXPECT_EQ(empty.fate, Fate::held);
    EXPECT_TRUE(empty.is_whole());
    matcher_.arrived(1, empty);
    EXPECT_TRUE(receive(a_, 1, 7, 0)->done());
}

TEST_F(MessageMatcherTest, a_receive_that_was_withdrawn_or_failed_gets_nothing) {
    const auto withdrawn = receive(a_, 1, 7), failed = receive(a_, 2, 7), kept = receive(b_, 1, 7);
    EXPECT_TRUE(matcher_.withdraw(*withdrawn));
    EXPECT_FALSE(matcher_.withdraw(*withdrawn));
    matcher_.fail([](const Transfer& transfer) {
        return transfer.peer == 2 ? std::optional(Error(ErrorCode::peer_lost, "rank 2 is gone")) : std::nullopt;
    });
    EXPECT_EQ(error_of(*failed), "rank 2 is gone");
    EXPECT_EQ(arrive(1, 7, 3), Fate::received);
    EXPECT_TRUE(kept->done());
    EXPECT_EQ(a_[0], 0);
    EXPECT_FALSE(matcher_.has_receives());
}

TEST_F(MessageMatcherTest, the_rest_of_a_message_is_discarded_if_its_receive_fails) {
    const auto overdue = receive(a_, 1, 7);
    Incoming cut = message(7);
    matcher_.decide(1, cut);
    ASSERT_EQ(cut.fate, Fate::received);
    overdue->fail({ErrorCode::timeout, "late"});
    cut.discard();
    EXPECT_TRUE(cut.place().empty());
    come_in(1, cut, 4);
    EXPECT_EQ(a_[0], 0);
    EXPECT_EQ(error_of(*overdue), "late");
}

TEST_F(MessageMatcherTest, an_overdue_call_names_its_peer_and_the_time) {
    const Time began = Clock::now();
    const auto text = [&](const Transfer& transfer) {
        return std::string(overdue(transfer, {"world", 0, 4}, began + std::chrono::milliseconds(250)).what());
    };
    EXPECT_EQ(text({.peer = 2, .began = began}), "recv in group world: rank 0 waited 250 ms for rank 2 to send");
    EXPECT_EQ(text({.sends = true, .peer = 1, .began = began}),
              "send in group world: rank 0 waited 250 ms for rank 1 to receive");
    EXPECT_EQ(text({.peer = kAnySource, .began = began}),
              "recv in group world: rank 0 waited 250 ms for any rank to send");
}

}  // namespace
}  // namespace dlaunch::worker
