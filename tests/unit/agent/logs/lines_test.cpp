#include "agent/logs/lines.hpp"

#include "tests/unit/agent/logs/lines_fixture.hpp"

namespace dlaunch::agent {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST_F(Lines, every_line_gets_its_prefix) {
    mixer();
    a("one\n\ntwo\n");
    EXPECT_EQ(shown(), "a:one\na:\na:two\n");
}

TEST_F(Lines, without_a_prefix_bytes_stay_as_they_are) {
    LineMixer plain({}, queue_);
    auto* source = plain.add({});
    plain.feed(source, "one\n\ntw", now_);
    EXPECT_EQ(shown(), "one\n\n");
    plain.feed(source, "o\nx", now_);
    EXPECT_EQ(shown(), "two\n");
}

TEST_F(Lines, halves_of_two_ranks_do_not_mix) {
    mixer();
    a("1");
    b("2");
    a("1");
    b("2\n2");
    a("1\n");
    EXPECT_EQ(shown(), "b:22\na:111\n");
}

TEST_F(Lines, the_end_of_a_stream_completes_its_last_line) {
    mixer();
    a("no end");
    EXPECT_EQ(shown(), "");
    mixer_->end(a_, now_);
    EXPECT_EQ(shown(), "a:no end\n");
    mixer_->end(b_, now_);
    EXPECT_EQ(shown(), "");
}

TEST_F(Lines, any_byte_may_be_in_a_line) {
    mixer();
    using namespace std::string_view_literals;
    a("\xff\xfe\0 raw\r\n"sv);
    EXPECT_EQ(shown(), "a:\xff\xfe\0 raw\r\n"sv);
}

TEST_F(Lines, stamps_go_before_prefixes) {
    LineMixer::Rules rules;
    rules.stamp = [] { return std::string("T "); };
    mixer(std::move(rules));
    a("x\ny\n");
    EXPECT_EQ(shown(), "T a:x\nT a:y\n");
}

TEST_F(Lines, raw_bytes_pass_at_once) {
    LineMixer raw({}, queue_);
    auto* source = raw.add({0, 0, "", true});
    raw.feed(source, "name? ", now_);
    EXPECT_EQ(shown(), "name? ");
    raw.end(source, now_);
    EXPECT_EQ(shown(), "") << "nothing is added to them";
}

TEST_F(Lines, our_own_line_starts_on_a_line_of_its_own) {
    LineMixer raw({}, queue_);
    auto* out = raw.add({0, 0, "", true});
    auto* err = raw.add({0, 1, "", true});
    raw.feed(out, "name? ", now_);
    raw.print("dlaunch: bye\n", now_);
    raw.feed(err, "x\n", now_);
    raw.print("dlaunch: unfinished", now_);
    raw.print("dlaunch: again\n", now_);
    EXPECT_EQ(shown(), "name? \ndlaunch: bye\nx\ndlaunch: unfinished\ndlaunch: again\n");
}

TEST_F(Lines, our_own_line_does_not_touch_held_ones) {
    mixer();
    a("half");
    mixer_->print("dlaunch: hello\n", now_);
    a(" and half\n");
    EXPECT_EQ(shown(), "dlaunch: hello\na:half and half\n");
}

TEST_F(Lines, a_line_beyond_the_limit_takes_the_console) {
    mixer({.hold_limit = 8});
    a("12345678");
    EXPECT_EQ(shown(), "");
    EXPECT_FALSE(mixer_->owner());
    a("9");
    EXPECT_EQ(shown(), "a:123456789");
    EXPECT_EQ(mixer_->owner(), a_);
    EXPECT_TRUE(mixer_->blocked(b_));
    b("b1\nb2");
    EXPECT_EQ(shown(), "");
    a("0");
    EXPECT_EQ(shown(), "0");
    a("end\nnext\nrest");
    EXPECT_EQ(shown(), "end\na:next\nb:b1\n");
    EXPECT_FALSE(mixer_->blocked(b_));
    b("!\n");
    a("!\n");
    EXPECT_EQ(shown(), "b:b2!\na:rest!\n");
}

TEST_F(Lines, a_silent_owner_gives_the_console_up_after_its_patience) {
    mixer({.hold_limit = 8, .patience = seconds(5)});
    a("1234567890");
    b("waits\n");
    EXPECT_EQ(shown(), "a:1234567890");
    EXPECT_EQ(mixer_->deadline(), now_ + seconds(5));
    now_ += seconds(4);
    a("x");
    EXPECT_EQ(mixer_->deadline(), now_ + seconds(5));
    mixer_->advance(now_ + milliseconds(4999));
    EXPECT_EQ(shown(), "x");
    mixer_->advance(now_ + seconds(5));
    EXPECT_EQ(shown(), "\nb:waits\n");
    EXPECT_FALSE(mixer_->deadline());
    a("late\n");
    EXPECT_EQ(shown(), "a:late\n");
}

TEST_F(Lines, an_owner_that_was_not_read_is_excused) {
    mixer({.hold_limit = 8, .patience = seconds(5)});
    a("1234567890");
    mixer_->excuse(now_ + seconds(60));
    mixer_->advance(now_ + seconds(60));
    EXPECT_EQ(mixer_->owner(), a_);
}

TEST_F(Lines, an_owner_that_ends_frees_the_console) {
    mixer({.hold_limit = 8});
    a("1234567890");
    b("short\nlast");
    mixer_->end(b_, now_);
    EXPECT_EQ(shown(), "a:1234567890");
    mixer_->end(a_, now_);
    EXPECT_EQ(shown(), "\nb:short\nb:last\n");
}

TEST_F(Lines, two_long_lines_follow_each_other) {
    mixer({.hold_limit = 8});
    a("aaaaaaaaaa");
    b("bbbbbbbbbb");
    a("a\n");
    EXPECT_EQ(shown(), "a:aaaaaaaaaaa\nb:bbbbbbbbbb");
    EXPECT_EQ(mixer_->owner(), b_);
    b("\n");
    EXPECT_EQ(shown(), "\n");
    EXPECT_FALSE(mixer_->owner());
}

TEST_F(Lines, our_own_line_ends_a_long_line) {
    mixer({.hold_limit = 8});
    a("1234567890");
    b("b\n");
    mixer_->print("dlaunch: now\n", now_);
    a("rest\n");
    EXPECT_EQ(shown(), "a:1234567890\ndlaunch: now\nb:b\na:rest\n");
}

class Coalesced : public Lines {
protected:
    void SetUp() override {
        LineMixer::Rules rules;
        rules.coalesced_prefix = [](const std::vector<int>& ranks) {
            std::string text = "[";
            for (int rank : ranks) text += std::to_string(rank);
            return text + "]";
        };
        mixer(std::move(rules));
    }
};

TEST_F(Coalesced, equal_lines_are_shown_once) {
    a("x\ny\n");
    EXPECT_EQ(shown(), "");
    b("x\nz\n");
    EXPECT_EQ(shown(), "[01]x\n");
    mixer_->advance(*mixer_->deadline());
    EXPECT_EQ(shown(), "[0]y\n[1]z\n");
}

TEST_F(Coalesced, lines_wait_for_expected_sources_until_the_round_ends) {
    mixer_->expect(2, 0);
    a("x\n");
    b("x\n");
    mixer_->end(a_, now_);
    mixer_->end(b_, now_);
    EXPECT_EQ(shown(), "");
    auto* late = mixer_->add({2, 0, ""});
    mixer_->feed(late, "x\ny\n", now_);
    mixer_->end(late, now_);
    EXPECT_EQ(shown(), "[012]x\n[2]y\n");
    mixer_->expect(0, 0);
    mixer_->expect(1, 0);
    late = mixer_->add({1, 0, ""});
    mixer_->feed(late, "z\n", now_);
    mixer_->end(late, now_);
    EXPECT_EQ(shown(), "");
    mixer_->end_round(now_);
    EXPECT_EQ(shown(), "[1]z\n");
}

TEST_F(Coalesced, a_source_that_floods_is_ahead_until_the_others_catch_up) {
    std::string flood;
    while (flood.size() < (256 << 10)) flood += "0123456789012345678901234567890123456789\n";
    a(flood);
    EXPECT_TRUE(mixer_->ahead(a_));
    EXPECT_FALSE(mixer_->ahead(b_));
    b(flood);
    EXPECT_FALSE(mixer_->ahead(a_));
    EXPECT_TRUE(mixer_->take_released());
    EXPECT_EQ(shown().size(), flood.size() / 41 * 45);
}

TEST_F(Coalesced, the_latest_state_that_progress_bars_share_is_a_line_once_per_update) {
    a("\r1%\r2%\r3%\r4%");
    b("\r1%\r2%\r");
    mixer_->advance(now_ += seconds(1));
    EXPECT_EQ(shown(), "[01]2%\n");
    EXPECT_FALSE(mixer_->deadline());
    a("\n");
    b("3%\r4%\n");
    EXPECT_EQ(shown(), "[01]4%\n");
}

TEST_F(Coalesced, bars_that_share_no_state_show_the_latest_of_each) {
    for (int step = 0; step < 40; ++step) {
        a("\ra " + std::to_string(step) + "/40");
        b("\rb " + std::to_string(step) + "/40");
    }
    mixer_->advance(now_ += seconds(1));
    mixer_->advance(now_ += seconds(1));
    EXPECT_EQ(shown(), "[0]a 38/40\n[1]b 38/40\n");
    a("\ra 40/40\n");
    b("\rb 40/40\r\n");
    mixer_->advance(now_ += seconds(1));
    EXPECT_EQ(shown(), "[0]a 40/40\n[1]b 40/40\r\n");
}

TEST_F(Coalesced, streams_are_coalesced_apart) {
    auto* error = mixer_->add({0, 1, ""});
    a("x\n");
    mixer_->feed(error, "x\n", now_);
    EXPECT_EQ(shown(), "[0]x\n") << "rank 0 alone has the other stream open";
}

TEST_F(Coalesced, a_source_that_is_apart_neither_waits_nor_makes_others_wait) {
    auto* apart = mixer_->add({-1, 0, "[t]", false, true});
    mixer_->feed(apart, "x\n", now_);
    EXPECT_EQ(shown(), "[t]x\n");
    a("x\n");
    b("x\n");
    EXPECT_EQ(shown(), "[01]x\n");
    EXPECT_FALSE(mixer_->ahead(apart));
    mixer_->feed(apart, "tail", now_);
    mixer_->end(apart, now_);
    EXPECT_EQ(shown(), "[t]tail\n");
}

TEST_F(Coalesced, ended_streams_and_our_own_lines_do_not_wait) {
    a("x\n");
    mixer_->end(b_, now_);
    EXPECT_EQ(shown(), "[0]x\n");
    b_ = mixer_->add({1, 0, ""});
    b("tail");
    a("y\n");
    mixer_->print("dlaunch: hi\n", now_);
    mixer_->end(a_, now_);
    mixer_->end(b_, now_);
    EXPECT_EQ(shown(), "[0]y\ndlaunch: hi\n[1]tail\n");
}

}  // namespace
}  // namespace dlaunch::agent
