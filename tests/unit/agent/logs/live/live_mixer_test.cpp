#include "agent/logs/live/live_mixer.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "rendezvous/base/text.hpp"

namespace dlaunch::agent {
namespace {

using namespace std::chrono_literals;

/// Two ranks with both streams, no colours.
class LiveMixerTest : public testing::Test {
protected:
    LiveMixerTest() {
        LiveMixer::Rules rules;
        rules.prefix = [](const std::vector<int>& ranks) { return "[" + base::number_ranges(ranks) + "] "; };
        rules.ranks = [](const std::vector<int>& ranks) { return "rank " + base::number_ranges(ranks); };
        rules.colours = false;
        rules.began = now_;
        mixer_ = std::make_unique<LiveMixer>(std::move(rules), queue_);
        for (int rank = 0; rank < 2; ++rank)
            for (int stream = 0; stream < 2; ++stream)
                sources_[rank][stream] = mixer_->add({.local_rank = rank, .stream = stream, .since = now_});
        mixer_->show_progress({.workers = 2, .alive = 2, .nodes = 1});
    }

    void out(int rank, std::string_view bytes) { mixer_->feed(sources_[rank][0], bytes, now_); }
    void err(int rank, std::string_view bytes) { mixer_->feed(sources_[rank][1], bytes, now_); }
    void wait(base::Duration time) { mixer_->advance(now_ += time); }
    void end(int rank) {
        for (Mixer::Source*& source : sources_[rank]) mixer_->end(source, now_);
    }
    /// The bytes since the last call, with "|" for ends of lines.
    std::string shown() {
        std::string bytes(queue_.view());
        queue_.clear();
        for (std::size_t at; (at = bytes.find("\r\n")) != std::string::npos;) bytes.replace(at, 2, "|");
        return bytes;
    }
    std::string block() {
        wait(1s);
        static_cast<void>(shown());
        mixer_->pause();
        mixer_->resume();
        static_cast<void>(shown());
        mixer_->compose(now_ += 1s);
        return shown();
    }

    base::Time now_{1h};
    ByteQueue queue_;
    std::unique_ptr<LiveMixer> mixer_;
    Mixer::Source* sources_[2][2]{};
};

TEST_F(LiveMixerTest, FoldsEqualLinesOfRanks) {
    out(0, "epoch 1\n");
    EXPECT_EQ(shown(), "");
    out(1, "epoch 1\n");
    EXPECT_EQ(shown(), "[0-1] epoch 1|");
}

TEST_F(LiveMixerTest, ShowsARankThatRepeatsItselfEachTime) {
    out(0, "again\nagain\n");
    wait(200ms);
    EXPECT_EQ(shown(), "[0] again|[0] again|");
}

TEST_F(LiveMixerTest, HoldsABlockOfStderrTogether) {
    for (int line = 0; line < 3; ++line) {
        err(0, fmt::format("a{}\n", line));
        err(1, fmt::format("b{}\n", line));
        wait(10ms);
    }
    EXPECT_EQ(shown(), "");
    wait(50ms);
    wait(100ms);
    EXPECT_EQ(shown(), "[0] a0|[0] a1|[0] a2|[1] b0|[1] b1|[1] b2|");
}

TEST_F(LiveMixerTest, ShowsABlockOfStderrBelowWhatItsRankHasPrintedBefore) {
    out(0, "mine 0\n");
    out(1, "mine 1\n");
    wait(10ms);
    err(1, "Traceback\nE: x\n");
    for (const int rank : {1, 0}) mixer_->end(sources_[rank][1], now_);  // no rank can print the block any more
    EXPECT_EQ(shown(), "[1] mine 1|[1] Traceback|[1] E: x|");
    wait(100ms);
    EXPECT_EQ(shown(), "[0] mine 0|");
}

TEST_F(LiveMixerTest, FoldsEqualBlocks) {
    err(0, "Traceback\nE: x\n");
    err(1, "Traceback\nE: x\n");
    wait(50ms);
    EXPECT_EQ(shown(), "[0-1] Traceback|[0-1] E: x|");
}

TEST_F(LiveMixerTest, HoldsNoBlockForLong) {
    for (int line = 0; line < 60; ++line) {
        err(0, "x\n");
        wait(10ms);
    }
    wait(100ms);
    EXPECT_NE(shown(), "");
}

TEST_F(LiveMixerTest, ShowsUnfinishedLinesAndTheStatusInABlock) {
    err(0, "\r 10%\r 50%");
    out(1, "continue? ");
    EXPECT_EQ(block(), "[0]  50%|[1] continue? |0:02 | 2 of 2 workers alive | rank 0-1 silent for 2 s");
}

TEST_F(LiveMixerTest, PrintsTheLastStateOfABarOnce) {
    err(0, " 50%\r");
    static_cast<void>(block());
    err(0, "100%\n");
    end(0);
    wait(200ms);
    EXPECT_EQ(shown(), "\x1b[1A\r\x1b[J[0] 100%|") << "its row and the status were erased";
    EXPECT_EQ(block(), "0:04 | 2 of 2 workers alive | rank 1 silent for 4 s");
}

TEST_F(LiveMixerTest, KeepsNestedBarsInPlace) {
    for (int step = 0; step < 100; ++step) {
        for (int rank = 0; rank < 2; ++rank) {
            err(rank, fmt::format("\router {}", step));
            err(rank, "\n");
            err(rank, fmt::format("\rinner {}", step));
            err(rank, "\x1b[A");
        }
        wait(50ms);
    }
    EXPECT_EQ(shown(), "");
    EXPECT_EQ(block(), "[0-1] outer 99|[0-1] inner 99|0:07 | 2 of 2 workers alive | rank 0-1 silent for 2 s");
    err(0, "\n");
    end(0);
    end(1);
    wait(200ms);
    EXPECT_TRUE(shown().ends_with("[0-1] outer 99|[0-1] inner 99|"));
}

TEST_F(LiveMixerTest, PrintsTheLastStateOfABarBeforeTheTextBelow) {
    err(0, "\r 50%");
    err(0, "\r100%\n");
    err(0, "text\n");
    wait(50ms);
    wait(100ms);
    EXPECT_EQ(shown(), "[0] 100%|[0] text|");
}

TEST_F(LiveMixerTest, PrintsTheLastStateOfABarBeforeOwnLines) {
    err(0, "\r100%\n");
    mixer_->print("dlaunch: a\n", now_);
    EXPECT_EQ(shown(), "[0] 100%|dlaunch: a|");
}

TEST_F(LiveMixerTest, ShowsThePromptOfARankWhoseBarMoves) {
    Mixer::Source* const prompt = mixer_->add({.local_rank = 0, .reads_terminal = true, .since = now_});
    mixer_->feed(prompt, "(Pdb) ", now_);
    err(0, "\r50%");
    EXPECT_TRUE(block().starts_with("[0] (Pdb) |"));
}

TEST_F(LiveMixerTest, ShowsAnUnfinishedLineAtTheEndOfItsStream) {
    out(0, "no newline");
    err(0, "50%\r   \r");
    end(0);
    wait(200ms);
    EXPECT_EQ(shown(), "[0] no newline|");
}

TEST_F(LiveMixerTest, ResetsColoursAtEachLine) {
    out(0, "\x1b[31mred\nred too\n");
    wait(200ms);
    EXPECT_EQ(shown(), "[0] \x1b[0;31mred\x1b[0m|[0] \x1b[0;31mred too\x1b[0m|");
}

TEST_F(LiveMixerTest, LetsNoEscapeOfAWorkerPass) {
    out(0, "\x1b[2J\x1b[?25lclear\x1b]0;t\x07\n");
    wait(OpenRows::kHiddenCursorWaits);
    wait(200ms);
    EXPECT_EQ(shown(), "[0] clear|");
}

TEST_F(LiveMixerTest, PrintsOwnLinesAfterAllEarlierOnes) {
    err(0, "words\n");
    mixer_->print("dlaunch: a\ndlaunch: b\n", now_);
    EXPECT_EQ(shown(), "[0] words|dlaunch: a|dlaunch: b|");
}

TEST_F(LiveMixerTest, LeavesNothingWhenPaused) {
    err(0, "50%");
    static_cast<void>(block());
    mixer_->pause();
    EXPECT_EQ(shown(), "\x1b[1A\r\x1b[J");
    mixer_->compose(now_ += 1s);
    EXPECT_EQ(shown(), "");
}

TEST_F(LiveMixerTest, ShowsTheLinesThatWaitWhenSuspended) {
    out(0, "line\n");
    err(0, "Traceback\n");
    err(1, "50%");
    EXPECT_EQ(shown(), "");
    mixer_->suspend(now_);
    EXPECT_EQ(shown(), "[0] line|[0] Traceback|");
}

TEST_F(LiveMixerTest, KeepsTheLinesThatAWriterMayStillChangeWhileItIsSuspended) {
    out(0,
        "\x1b[?25l"
        "first\nsecond\n");
    mixer_->suspend(now_);
    wait(1min);
    EXPECT_EQ(shown(), "");
    mixer_->pause();  // goes on in the background
    wait(1s);
    wait(1s);
    EXPECT_EQ(shown(), "[0] first|[0] second|");
}

TEST_F(LiveMixerTest, LetsThePromptStandWhereTheUserTypes) {
    Mixer::Source* const prompt = mixer_->add({.local_rank = 1, .reads_terminal = true, .since = now_});
    err(0, "50%");
    mixer_->feed(prompt, "(Pdb) ", now_);
    EXPECT_EQ(block(), "[1] (Pdb) |[0] 50%|0:02 | 2 of 2 workers alive | rank 0-1 silent for 2 s\x1b[2A\r\x1b[10C");
    err(0, "\r60%");
    mixer_->compose(now_ += 1s);
    EXPECT_EQ(shown(), "") << "the typed text would disappear";
    out(0, "text\n");
    wait(200ms);
    mixer_->compose(now_ += 1s);
    EXPECT_TRUE(shown().starts_with("\r\x1b[J[0] text|[1] (Pdb) |[0] 60%|"));
}

TEST_F(LiveMixerTest, CutsRowsAtTheWidth) {
    mixer_->resize({.columns = 20, .rows = 24});
    err(0, std::string(100, 'x'));
    EXPECT_EQ(block().substr(0, 20), "[0] xxxxxxxxxxxxxxx|");
}

TEST_F(LiveMixerTest, ErasesNoTextAboveARowThatANarrowerTerminalHasNotWrapped) {
    std::string accented;
    for (int at = 0; at < 12; ++at) accented += "e\xCC\x81";  // with a combining accent: 12 or 24 columns
    err(0, accented);
    EXPECT_TRUE(block().starts_with("[0] " + accented + "|"));
    mixer_->resize({.columns = 27, .rows = 24});
    out(1, "text\n");
    wait(200ms);
    EXPECT_TRUE(shown().starts_with("\x1b[2A\r\x1b[J[1] text|")) << "the row has one line, the status line two";
}

TEST_F(LiveMixerTest, NeedsNoBlockInAShortJob) {
    out(0, "text\n");
    end(0);
    end(1);
    EXPECT_EQ(shown(), "[0] text|");
    mixer_->compose(now_ + 100ms);
    EXPECT_EQ(shown(), "");
}

TEST_F(LiveMixerTest, TextThatFollowsADrawWaitsForTheBlockBelowIt) {
    mixer_->print("text\n", now_);
    EXPECT_FALSE(mixer_->waits_for_view(now_)) << "there is no block yet";
    mixer_->compose(now_ += 1s);
    mixer_->print("text\n", now_);
    EXPECT_TRUE(mixer_->waits_for_view(now_ + 9ms));
    EXPECT_FALSE(mixer_->waits_for_view(now_ + 10ms));
    EXPECT_TRUE(mixer_->must_compose(now_ + 10ms));
    mixer_->print(std::string(LiveMixer::kMuchText, 'x') + "\n", now_);
    EXPECT_FALSE(mixer_->waits_for_view(now_)) << "much text is not held up";
    mixer_->pause();
    mixer_->print("text\n", now_);
    EXPECT_FALSE(mixer_->waits_for_view(now_));
}

}  // namespace
}  // namespace dlaunch::agent
