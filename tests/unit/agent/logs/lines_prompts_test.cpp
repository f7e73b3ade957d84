// Prompts: unfinished lines behind which a user types.

#include "tests/unit/agent/logs/lines_fixture.hpp"

namespace dlaunch::agent {
namespace {

using std::chrono::milliseconds;

class Prompts : public Lines {
protected:
    /// The user types for source a.
    void prepare(bool terminal) {
        mixer({.terminal = terminal});
        mixer_->end(a_, now_);
        a_ = mixer_->add({.local_rank = 0, .stream = 0, .prefix = "a:", .reads_terminal = true});
    }
    void pass(int ms) { mixer_->advance(now_ += milliseconds(ms)); }
};

TEST_F(Prompts, a_prompt_is_shown_after_a_moment_and_the_rest_of_the_line_behind_it) {
    for (const bool terminal : {true, false}) {
        prepare(terminal);
        a("hello\nname? ");
        EXPECT_EQ(shown(), "a:hello\n");
        EXPECT_EQ(mixer_->deadline(), now_ + milliseconds(50));
        pass(50);
        EXPECT_EQ(shown(), "a:name? ");
        EXPECT_FALSE(mixer_->deadline());
        a("(or none) ");
        EXPECT_EQ(shown(), "(or none) ");
        a("thanks\nnext\n");
        EXPECT_EQ(shown(), "thanks\na:next\n");
    }
}

TEST_F(Prompts, a_line_in_two_pieces_is_no_prompt) {
    prepare(true);
    a("na");
    pass(20);
    a("me\n");
    EXPECT_EQ(shown(), "a:name\n");
    pass(50);
    EXPECT_EQ(shown(), "");
}

TEST_F(Prompts, a_prompt_is_repeated_behind_a_line_that_came_between) {
    prepare(true);
    a("name? ");
    pass(50);
    b("epoch 1\n");
    EXPECT_EQ(shown(), "a:name? \nb:epoch 1\n");
    a("bob\n");
    EXPECT_EQ(shown(), "a:name? bob\n");
}

TEST_F(Prompts, an_unfinished_line_of_a_source_that_reads_nothing_waits) {
    prepare(true);
    b("epoch");
    pass(5000);
    EXPECT_EQ(shown(), "");
}

}  // namespace
}  // namespace dlaunch::agent
