#include "agent/group/earlier_errors.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <utility>
#include <vector>

namespace dlaunch::agent {
namespace {

using namespace std::chrono_literals;
using Event = EarlierErrors::Event;

const base::Time kStart = base::Time{} + 100s;

/// Looks answer, and limits pass, when the test says so.
class EarlierErrorsTest : public testing::Test {
protected:
    void exits(int rank, base::Duration after) {
        ends_[rank] = {rank, kStart + after};
        living_.erase(rank);
        errors_.find(ends_[rank], [this, rank] { judged_.push_back(rank); });
    }
    void fails(int rank, base::Duration after, const std::string& message) {
        ends_[rank] = {rank, kStart + after, message};
        living_.erase(rank);
        errors_.find(ends_[rank], [this, rank] { judged_.push_back(rank); });
    }
    int before(int rank) { return errors_.rank_before(ends_[rank]); }
    void answer(const std::vector<Event>& shown) { std::exchange(answer_, nullptr)(shown); }
    void pass_limit() { std::exchange(limit_, nullptr)(); }

    int looks_ = 0;
    std::set<int> living_ = {0, 1, 2, 3, 4};
    std::map<int, Event> ends_;
    std::function<void(const std::vector<Event>&)> answer_;
    std::function<void()> limit_;
    std::vector<int> judged_;
    EarlierErrors errors_{{.look =
                               [this](auto done) {
                                   EXPECT_FALSE(answer_) << "two looks at a time";
                                   ++looks_;
                                   answer_ = std::move(done);
                               },
                           .lives = [this](int rank) { return living_.contains(rank); },
                           .after =
                               [this](base::Duration limit, auto callback) {
                                   EXPECT_EQ(limit, EarlierErrors::kMayStillExit);
                                   limit_ = std::move(callback);
                                   return base::Timer();
                               }}};
};

TEST_F(EarlierErrorsTest, a_silent_exit_waits_for_that_of_a_rank_that_had_shown_an_error) {
    exits(0, 300ms);
    EXPECT_TRUE(judged_.empty());
    answer({{2, kStart, "KeyError: 17"}});
    EXPECT_TRUE(judged_.empty());
    errors_.has_failed({2, kStart + 50ms});
    EXPECT_EQ(judged_, std::vector{0});
    EXPECT_EQ(before(0), 2);
}

TEST_F(EarlierErrorsTest, a_silent_exit_waits_no_longer_than_its_limit) {
    exits(0, 300ms);
    answer({{2, kStart, "KeyError: 17"}});
    errors_.has_failed({3, kStart + 50ms});
    EXPECT_TRUE(judged_.empty()) << "rank 3 had shown nothing";
    pass_limit();
    EXPECT_EQ(judged_, std::vector{0});
    EXPECT_EQ(before(0), -1);
}

TEST_F(EarlierErrorsTest, a_silent_exit_waits_for_no_rank_that_is_gone_or_has_survived) {
    living_.erase(2);
    exits(0, 300ms);
    answer({{2, kStart, "KeyError: 17"}, {3, kStart, "OSError: x"}});
    EXPECT_TRUE(judged_.empty());
    errors_.has_survived(3);
    EXPECT_EQ(judged_, std::vector{0});
}

TEST_F(EarlierErrorsTest, a_second_silent_exit_decides_the_first) {
    exits(0, 700ms);
    answer({{2, kStart, "KeyError: 17"}});
    exits(1, 750ms);
    EXPECT_EQ(judged_, (std::vector{0, 1}));
    EXPECT_EQ(before(0), 2);
}

TEST_F(EarlierErrorsTest, an_exit_that_waits_at_the_round_s_end_gets_no_answer) {
    exits(0, 300ms);
    answer({{2, kStart, "KeyError: 17"}});
    errors_.end();
    errors_.has_failed({2, kStart + 50ms});
    EXPECT_TRUE(judged_.empty());
}

TEST_F(EarlierErrorsTest, two_silent_exits_follow_from_the_error_of_a_living_rank) {
    exits(0, 700ms);
    answer({{2, kStart, "KeyError: 17"}});
    EXPECT_EQ(before(0), -1);
    exits(1, 750ms);
    EXPECT_EQ(before(0), 2);
    EXPECT_EQ(before(1), 2);
}

TEST_F(EarlierErrorsTest, two_silent_exits_do_not_follow_from_an_error_that_ranks_survive) {
    exits(0, 50ms);
    answer({{2, kStart, "error: no cache", true}, {3, kStart, "OSError: a"}, {4, kStart, "OSError: a"}});
    exits(1, 51ms);
    EXPECT_EQ(before(0), -1) << "one was logged, two ranks have the other one";
    EXPECT_TRUE(judged_.empty()) << "they may fail yet";
}

TEST_F(EarlierErrorsTest, takes_no_error_of_longer_ago_or_of_the_rank_itself) {
    exits(0, 3001ms);
    answer({{0, kStart + 1s}, {2, kStart}});
    errors_.has_failed({0, kStart + 50ms});
    errors_.has_failed({2, kStart + 50ms});
    EXPECT_EQ(judged_, std::vector{0});
    EXPECT_EQ(before(0), -1);
}

TEST_F(EarlierErrorsTest, one_look_serves_all_exits_that_came_during_the_one_before) {
    for (int rank = 0; rank < 64; ++rank) exits(rank, 10ms);
    EXPECT_EQ(looks_, 1);
    answer({});
    EXPECT_EQ(judged_, std::vector{0});
    EXPECT_EQ(looks_, 2);
    answer({});
    EXPECT_EQ(judged_.size(), 64);
    EXPECT_EQ(looks_, 2);
}

TEST_F(EarlierErrorsTest, a_look_does_not_serve_an_exit_that_came_while_it_read) {
    exits(0, 10ms);
    exits(1, 20ms);
    answer({});
    EXPECT_EQ(judged_, std::vector{0});
    answer({{2, kStart}});
    EXPECT_EQ(judged_, (std::vector{0, 1}));
    EXPECT_EQ(before(1), 2);
}

TEST_F(EarlierErrorsTest, a_known_error_needs_no_further_look) {
    exits(0, 10ms);
    answer({{2, kStart}});
    exits(1, 20ms);
    EXPECT_EQ(judged_, (std::vector{0, 1}));
    EXPECT_EQ(before(1), 2);
    EXPECT_EQ(looks_, 1);
}

TEST_F(EarlierErrorsTest, an_error_that_follows_another_rank_s_is_no_first_one) {
    fails(0, 10ms, "EOFError: feeder closed the pipe");
    answer(
        {{0, kStart + 10ms, "EOFError: feeder closed the pipe"}, {2, kStart + 5ms, "E"}, {3, kStart, "KeyError: 17"}});
    EXPECT_EQ(before(0), 3) << "the earliest";
}

TEST_F(EarlierErrorsTest, two_errors_at_the_same_time_or_alike_do_not_follow_each_other) {
    fails(0, 10ms, "ValueError: rank 0, 0x7fa0: no data\nfatal: no shard");
    answer({{1, kStart + 10ms, "KeyError: 17"}, {2, kStart, "ValueError: rank 2, 0x7fb1: no data"}});
    EXPECT_EQ(before(0), -1);
}

TEST_F(EarlierErrorsTest, an_error_does_not_follow_from_one_that_ranks_survive) {
    fails(0, 90ms, "EOFError: feeder closed the pipe");
    answer({{2, kStart, "KeyError: 17", true}, {3, kStart, "OSError: 3"}, {4, kStart, "OSError: 4"}});
    EXPECT_EQ(before(0), -1) << "one was logged, two ranks have the other one";
    errors_.has_failed({2, kStart + 50ms});
    EXPECT_EQ(before(0), 2) << "it has not survived it";
}

TEST_F(EarlierErrorsTest, a_rank_that_fails_long_after_an_error_that_it_logged_had_survived_it) {
    fails(0, 300ms, "ValueError: shard 1 is empty");
    exits(1, 320ms);
    answer({{2, kStart, "ERROR no metrics", true}, {3, kStart + 100ms, "ERROR no shard", true}});
    answer({});
    errors_.has_failed({2, kStart + 310ms});
    EXPECT_EQ(before(0), -1);
    EXPECT_EQ(before(1), -1);
    errors_.has_failed({3, kStart + 290ms});
    EXPECT_EQ(before(0), 3);
    EXPECT_EQ(before(1), 3);
}

TEST_F(EarlierErrorsTest, a_rank_that_ends_unlike_its_silent_peers_had_not_survived_what_it_logged) {
    exits(0, 500ms);
    answer({{2, kStart, "ERROR no shard", true}});
    exits(1, 510ms);
    answer({});
    errors_.has_failed({.rank = 2, .at = kStart + 520ms, .status = 2});
    EXPECT_EQ(judged_, (std::vector{0, 1}));
    EXPECT_EQ(before(0), 2);
}

TEST_F(EarlierErrorsTest, a_silent_exit_waits_for_another_that_shows_which_rank_ends_unlike_its_peers) {
    exits(0, 500ms);
    answer({{2, kStart, "ERROR no shard", true}});
    living_.erase(2);
    errors_.has_failed({.rank = 2, .at = kStart + 520ms, .status = 2});
    EXPECT_TRUE(judged_.empty());
    exits(1, 530ms);
    EXPECT_EQ(judged_, (std::vector{0, 1}));
    EXPECT_EQ(before(0), 2);
}

TEST_F(EarlierErrorsTest, a_rank_that_ends_like_a_silent_peer_had_survived_what_it_logged) {
    exits(0, 500ms);
    answer({{2, kStart, "ERROR no metrics", true}});
    exits(1, 510ms);
    errors_.has_failed({.rank = 2, .at = kStart + 520ms});
    EXPECT_EQ(before(0), -1);
}

TEST_F(EarlierErrorsTest, a_living_rank_may_have_survived_its_error) {
    fails(0, 101ms, "EOFError: feeder closed the pipe");
    answer({{3, kStart, "KeyError: 17"}});
    EXPECT_EQ(before(0), -1);
    errors_.has_failed({3, kStart + 50ms});
    EXPECT_EQ(before(0), 3);
}

TEST_F(EarlierErrorsTest, an_error_long_after_another_one_is_its_own) {
    fails(0, 1001ms, "EOFError: feeder closed the pipe");
    answer({{3, kStart, "KeyError: 17"}});
    errors_.has_failed({3, kStart + 50ms});
    EXPECT_EQ(before(0), -1);
}

TEST_F(EarlierErrorsTest, an_answer_may_begin_the_next_round) {
    errors_.find({0, kStart}, [this] {
        errors_.begin();
        exits(1, 10ms);
    });
    answer({});
    EXPECT_EQ(looks_, 2);
    exits(2, 20ms);
    EXPECT_EQ(looks_, 2) << "one at a time";
}

TEST_F(EarlierErrorsTest, a_round_forgets_the_last_one_and_its_look) {
    exits(0, 10ms);
    const auto old = std::exchange(answer_, nullptr);
    errors_.begin();
    old({{2, kStart}});
    EXPECT_TRUE(judged_.empty());
    exits(0, 20ms);
    EXPECT_EQ(looks_, 2);
    answer({});
    EXPECT_EQ(before(0), -1);
}

}  // namespace
}  // namespace dlaunch::agent
