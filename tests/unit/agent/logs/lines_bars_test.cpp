// Progress bars: lines that '\r' rewrites.

#include <algorithm>
#include <cctype>
#include <random>
#include <vector>

#include "tests/unit/agent/logs/lines_fixture.hpp"

namespace dlaunch::agent {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

using Bars = Lines;

TEST_F(Bars, in_a_pipe_a_carriage_return_in_a_line_is_an_ordinary_byte) {
    mixer();
    a("1%\r2%\r");
    EXPECT_EQ(shown(), "");
    a("3%\n");
    EXPECT_EQ(shown(), "a:1%\r2%\r3%\n");
}

TEST_F(Bars, beside_a_worker_that_writes_to_the_terminal_an_update_is_a_line) {
    mixer({.terminal = true, .others_write = true, .update_every = seconds(1)});
    a("1%\r2%\r3%");
    EXPECT_EQ(shown(), "");
    mixer_->advance(now_ + seconds(1));
    EXPECT_EQ(shown(), "a:3%\n");
    EXPECT_FALSE(mixer_->deadline());
    a("\r4%\r");
    mixer_->advance(now_ + seconds(1));
    EXPECT_EQ(shown(), "a:4%\n");
    a("5%\r");
    a("6%\nend\n");
    EXPECT_EQ(shown(), "a:6%\na:end\n");
}

TEST_F(Bars, in_a_pipe_a_progress_bar_is_shown_at_intervals) {
    mixer({.update_every = seconds(1)});
    a("1%\r2%\r");
    EXPECT_EQ(mixer_->deadline(), now_ + seconds(1));
    a("3%\r");
    b("b\n");
    mixer_->advance(now_ + milliseconds(999));
    EXPECT_EQ(shown(), "b:b\n");
    mixer_->advance(now_ + seconds(1));
    EXPECT_EQ(shown(), "a:1%\ra:2%\ra:3%\r");
    EXPECT_FALSE(mixer_->deadline());
    b("b\n");
    a("done\nnext\r\n");
    EXPECT_EQ(shown(), "\nb:b\na:done\na:next\r\n");
}

TEST_F(Bars, a_bar_that_begins_with_a_return_shows_its_latest_state) {
    mixer();
    a("\r1%");
    mixer_->advance(now_ += seconds(1));
    EXPECT_EQ(shown(), "a:1%");
    a("\r2%");
    mixer_->advance(now_ += seconds(1));
    EXPECT_EQ(shown(), "\ra:2%");
    a(" more\n");
    EXPECT_EQ(shown(), " more\n");
}

TEST_F(Bars, an_interrupted_state_is_shown_again_as_a_whole) {
    mixer();
    a("\rstep 3 ");
    mixer_->advance(now_ += seconds(1));
    b("b\n");
    a("is");
    EXPECT_EQ(shown(), "a:step 3 \nb:b\n");
    mixer_->advance(now_ += seconds(1));
    EXPECT_EQ(shown(), "a:step 3 is");
    mixer_->print("dlaunch: hi\n", now_);
    a(" done\n");
    EXPECT_EQ(shown(), "\ndlaunch: hi\na:step 3 is done\n");
}

TEST_F(Bars, a_state_may_outgrow_the_limit) {
    mixer({.hold_limit = 8});
    a("\r1234");
    mixer_->advance(now_ += seconds(1));
    a("56789");
    b("b\n");
    EXPECT_EQ(shown(), "a:123456789");
    a("0\n\nx\n");
    EXPECT_EQ(shown(), "0\na:\na:x\nb:b\n");
}

TEST_F(Bars, a_bar_waits_for_the_owner_of_the_console) {
    mixer({.hold_limit = 16});
    b("\r1%");
    mixer_->advance(now_ += seconds(1));
    a("12345678901234567");
    b(" of it\r2%");
    mixer_->advance(now_ += seconds(1));
    EXPECT_EQ(shown(), "b:1%\na:12345678901234567");
    a("\n");
    mixer_->advance(now_ += seconds(1));
    EXPECT_EQ(shown(), "\nb:1% of it\rb:2%");
    mixer_->end(b_, now_);
    EXPECT_EQ(shown(), "\n");
}

class Terminal : public Lines {
protected:
    void SetUp() override { mixer({.terminal = true}); }
};

TEST_F(Terminal, a_progress_bar_moves) {
    a("1%\r");
    EXPECT_EQ(shown(), "a:1%\r");
    a("2%\r3");
    EXPECT_EQ(shown(), "a:2%\ra:3");
    a("%\rdone\n");
    EXPECT_EQ(shown(), "%\ra:done\n");
    EXPECT_FALSE(mixer_->deadline());
}

TEST_F(Terminal, bars_of_several_ranks_take_turns) {
    a("\r1%");
    b("\r1%");
    b("\r2%");
    a("\r2%");
    EXPECT_EQ(shown(), "a:1%\ra:2%") << "a moves in its place";
    EXPECT_EQ(mixer_->deadline(), now_ + seconds(1));
    mixer_->advance(now_ += seconds(1));
    EXPECT_EQ(shown(), "\nb:1%\rb:2%");
    a("\r3%");
    b("\r3%");
    EXPECT_EQ(shown(), "\rb:3%");
    mixer_->print("dlaunch: hi\n", now_);
    a("\r4%\n");
    EXPECT_EQ(shown(), "\ndlaunch: hi\na:2%\ra:3%\ra:4%\n");
}

TEST_F(Terminal, another_rank_does_not_overwrite_a_progress_bar) {
    a("1%\r");
    b("hello\n");
    a("2%\r");
    mixer_->print("dlaunch: hi\n", now_);
    EXPECT_EQ(shown(), "a:1%\r\nb:hello\na:2%\r\ndlaunch: hi\n");
}

TEST_F(Terminal, a_bar_that_begins_with_a_return_is_shown_too) {
    a("\r1%\r2%\r");
    EXPECT_EQ(shown(), "a:1%\ra:2%\r");
}

TEST_F(Terminal, carriage_return_and_newline_are_one_end) {
    a("one\r\ntwo");
    EXPECT_EQ(shown(), "a:one\r\n");
    a("\r\nthree\r");
    a("\nfour\n");
    EXPECT_EQ(shown(), "a:two\r\na:three\r\na:four\n");
}

TEST_F(Terminal, the_end_of_a_bars_rank_ends_its_line) {
    a("99%\r");
    mixer_->end(a_, now_);
    EXPECT_EQ(shown(), "a:99%\r\n");
}

/// Pieces of lines and states of bars at any time. Rank a writes a to d, rank b writes e to h; prefixes are A and E.
struct Schedule {
    explicit Schedule(unsigned seed) : random(seed) {
        LineMixer::Rules rules;
        rules.terminal = random() % 2;
        mixer = std::make_unique<LineMixer>(rules, queue);
        for (int rank : {0, 1}) sources.push_back(mixer->add({rank, 0, rank ? "E" : "A"}));
    }

    void run() {
        for (int step = 0; step < 60; ++step) {
            now += milliseconds(random() % 500);
            if (const auto due = mixer->deadline(); due && *due <= now) mixer->advance(now);
            const std::size_t rank = random() % 2;
            std::string bytes;
            for (auto left = random() % 12; left > 0; --left) bytes += "\r\nabcdabcd"[random() % 10];
            for (char& c : bytes)
                if (std::isalpha(c)) c = static_cast<char>(c + 4 * rank);
            written[rank] += bytes;
            mixer->feed(sources[rank], bytes, now);
        }
        for (auto* source : sources) mixer->end(source, now);
    }

    std::mt19937 random;
    ByteQueue queue;
    std::unique_ptr<LineMixer> mixer;
    std::vector<LineMixer::Source*> sources;
    std::string written[2];
    base::Time now{std::chrono::hours(1)};
};

std::vector<std::string> split_at(const std::string& text, const char* ends) {
    std::vector<std::string> parts;
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find_first_of(ends, begin), text.size());
        if (end > begin) parts.push_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    return parts;
}

TEST(AnySchedule, loses_no_state_and_mixes_no_line) {
    for (unsigned seed = 0; seed < 2000; ++seed) {
        Schedule schedule(seed);
        schedule.run();
        const std::string shown(schedule.queue.view());
        for (const auto& line : split_at(shown, "\n")) {
            const auto is_firsts = [](char c) { return std::tolower(c) < 'e'; };
            const auto others = std::ranges::count_if(line, [&](char c) {
                return c != '\r' && is_firsts(c) != is_firsts(line[line.find_first_not_of('\r')]);
            });
            ASSERT_EQ(others, 0) << "seed " << seed << ": " << line;
        }
        for (const std::string& written : schedule.written) {
            std::size_t at = 0;
            for (const auto& state : split_at(written, "\r\n")) {
                at = shown.find(state, at);
                ASSERT_NE(at, std::string::npos) << "seed " << seed << ": " << state;
            }
        }
    }
}

}  // namespace
}  // namespace dlaunch::agent
