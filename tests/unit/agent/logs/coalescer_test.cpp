#include "agent/logs/coalescer.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace dlaunch::agent {
namespace {

using std::chrono::milliseconds;
using Ranks = std::vector<int>;

/// Ranks are digits; "001" are two lines of rank 0, then one of rank 1.
class CoalescerTest : public testing::Test {
protected:
    void open(int ranks) {
        for (int rank = 0; rank < ranks; ++rank) coalescer_.open(rank);
    }

    /// All that is due, as "0,1:text 2:text".
    std::string due(base::Time now) {
        std::string all;
        while (auto line = coalescer_.next(now)) {
            if (!all.empty()) all += ' ';
            for (int rank : line->ranks) all += std::to_string(rank) + (rank == line->ranks.back() ? ":" : ",");
            all += line->text;
        }
        return all;
    }

    void add(const std::string& ranks, const std::string& text, base::Time now) {
        for (char rank : ranks) coalescer_.add(rank - '0', text, now);
    }

    /// Lines of one byte cost 65.
    Coalescer coalescer_{{milliseconds(100), 10 * (Coalescer::kLineBytes + 1), 20 * (Coalescer::kLineBytes + 1)}};
    base::Time start_{std::chrono::hours(1)};
};

TEST_F(CoalescerTest, a_line_that_all_ranks_printed_is_shown_at_once) {
    open(3);
    add("20", "a", start_);
    EXPECT_EQ(due(start_), "");
    add("1", "a", start_);
    EXPECT_EQ(due(start_), "0,1,2:a");
    EXPECT_FALSE(coalescer_.deadline());
}

TEST_F(CoalescerTest, a_line_of_some_ranks_is_shown_after_the_window) {
    open(3);
    add("0", "a", start_);
    add("2", "a", start_ + milliseconds(50));
    EXPECT_EQ(coalescer_.deadline(), start_ + milliseconds(100));
    EXPECT_EQ(due(start_ + milliseconds(99)), "");
    EXPECT_EQ(due(start_ + milliseconds(100)), "0,2:a");
}

TEST_F(CoalescerTest, lines_of_one_rank_can_be_shown_before_their_time_with_their_copies) {
    open(3);
    add("01", "a", start_);
    add("0", "b", start_ + milliseconds(10));
    EXPECT_FALSE(coalescer_.next_of(2, start_));
    const auto first = coalescer_.next_of(0, start_);
    ASSERT_TRUE(first);
    EXPECT_EQ(first->ranks, (Ranks{0, 1}));
    EXPECT_EQ(first->text, "a");
    EXPECT_EQ(first->since, start_);
    EXPECT_FALSE(coalescer_.next_of(0, start_)) << "b came later";
    EXPECT_EQ(due(start_ + milliseconds(110)), "0:b");
}

TEST_F(CoalescerTest, an_equal_line_after_the_window_is_shown_again) {
    open(2);
    add("0", "a", start_);
    EXPECT_EQ(due(start_ + milliseconds(100)), "0:a");
    add("1", "a", start_ + milliseconds(101));
    EXPECT_EQ(due(base::Time::max()), "1:a");
}

TEST_F(CoalescerTest, a_rank_that_went_on_does_not_end_the_wait_of_the_others) {
    open(3);
    add("0", "begin", start_);
    add("0", "mine 0", start_ + milliseconds(1));
    EXPECT_EQ(due(start_ + milliseconds(1)), "");
    add("1", "begin", start_ + milliseconds(2));
    add("1", "mine 1", start_ + milliseconds(2));
    EXPECT_EQ(due(start_ + milliseconds(2)), "");
    add("2", "begin", start_ + milliseconds(3));
    EXPECT_EQ(due(start_ + milliseconds(3)), "0,1,2:begin");
    EXPECT_EQ(coalescer_.deadline(), start_ + milliseconds(101));
    EXPECT_EQ(due(start_ + milliseconds(101)), "0:mine 0") << "the window is each line's own";
    EXPECT_EQ(due(start_ + milliseconds(102)), "1:mine 1");
}

TEST_F(CoalescerTest, lines_of_a_closed_rank_still_wait_for_the_others) {
    open(3);
    for (char rank : {'0', '1'}) {
        add({rank}, "begin", start_);
        coalescer_.close(rank - '0');
    }
    EXPECT_EQ(due(start_ + milliseconds(1)), "");
    add("2", "begin", start_ + milliseconds(1));
    EXPECT_EQ(due(start_ + milliseconds(1)), "0,1,2:begin");
}

TEST_F(CoalescerTest, lines_after_those_that_differ_are_coalesced_too) {
    open(3);
    for (char rank : {'0', '1', '2'}) {
        add({rank}, std::string("mine ") + rank, start_);
        add({rank}, "end", start_);
    }
    EXPECT_EQ(due(start_), "") << "a line waits behind what its rank printed before";
    EXPECT_EQ(due(start_ + milliseconds(100)), "0:mine 0 1:mine 1 2:mine 2 0,1,2:end");
}

TEST_F(CoalescerTest, lines_of_some_ranks_before_a_common_line_are_shown_first) {
    open(4);
    add("01", "begin", start_);
    add("23", "warning", start_ + milliseconds(1));
    add("23", "begin", start_ + milliseconds(2));
    EXPECT_EQ(due(start_ + milliseconds(2)), "") << "others may still print the warning";
    EXPECT_EQ(due(start_ + milliseconds(100)), "2,3:warning 0,1,2,3:begin");
}

TEST_F(CoalescerTest, of_two_blocking_lines_the_one_that_frees_the_other_is_shown_first) {
    open(3);
    add("2", "begin", start_);
    add("0", "both", start_);
    add("1", "mine", start_);
    add("1", "both", start_);
    add("01", "begin", start_);
    EXPECT_EQ(due(start_ + milliseconds(100)), "1:mine 0,1:both 0,1,2:begin");
}

TEST_F(CoalescerTest, repeated_lines_are_counted_one_by_one) {
    open(2);
    add("0011", "a", start_);
    EXPECT_EQ(due(start_), "0,1:a 0,1:a");
}

TEST_F(CoalescerTest, lines_of_a_rank_keep_their_order) {
    open(3);
    add("0", "a", start_);
    add("01", "b", start_);
    add("1", "a", start_);
    EXPECT_EQ(due(base::Time::max()), "0:a 0,1:b 1:a");
}

TEST_F(CoalescerTest, a_closed_rank_is_not_waited_for) {
    open(3);
    add("01", "a", start_);
    coalescer_.close(2);
    EXPECT_EQ(due(start_), "0,1:a");
}

TEST_F(CoalescerTest, no_line_waits_when_all_ranks_are_closed) {
    open(3);
    add("01", "a", start_);
    add("0", "b", start_);
    coalescer_.close_all();
    EXPECT_EQ(due(start_), "0,1:a 0:b");
}

TEST_F(CoalescerTest, a_rank_that_was_never_opened_may_print) {
    add("5", "a", start_);
    EXPECT_EQ(due(start_), "5:a");
}

TEST_F(CoalescerTest, a_rank_may_be_opened_twice_and_closed_twice_and_opened_again) {
    open(2);
    open(2);
    add("0", "a", start_);
    coalescer_.close(1);
    EXPECT_EQ(due(start_), "0:a");
    coalescer_.close(1);
    add("0", "a", start_);
    EXPECT_EQ(due(start_), "0:a");
    coalescer_.open(1);
    add("0", "a", start_);
    EXPECT_EQ(due(start_), "");
}

TEST_F(CoalescerTest, beyond_the_limit_the_oldest_line_is_shown_early) {
    open(2);
    add(std::string(20, '0'), "a", start_);
    EXPECT_EQ(due(start_), "");
    add("00", "b", start_);
    EXPECT_EQ(due(start_), "0:a 0:a");
}

TEST_F(CoalescerTest, a_rank_is_ahead_until_half_of_its_lines_are_shown) {
    open(2);
    add("000000000", "a", start_);
    EXPECT_FALSE(coalescer_.ahead(0));
    add("0", "a", start_);
    EXPECT_TRUE(coalescer_.ahead(0));
    add("1111", "a", start_);
    EXPECT_EQ(due(start_), "0,1:a 0,1:a 0,1:a 0,1:a");
    EXPECT_TRUE(coalescer_.ahead(0));
    EXPECT_FALSE(coalescer_.take_released());
    add("1", "a", start_);
    EXPECT_EQ(due(start_), "0,1:a");
    EXPECT_FALSE(coalescer_.ahead(0));
    EXPECT_TRUE(coalescer_.take_released());
    EXPECT_FALSE(coalescer_.take_released());
}

TEST_F(CoalescerTest, a_rank_that_is_ahead_waits_once_for_a_rank_that_stays_behind) {
    open(2);
    add("0000000000", "a", start_);
    EXPECT_EQ(due(start_ + milliseconds(99)), "");
    EXPECT_NE(due(start_ + milliseconds(100)), "");
    EXPECT_FALSE(coalescer_.ahead(0));
    const auto later = start_ + milliseconds(101);
    add("1", "other", later);
    add("0000000000", "b", later);
    EXPECT_EQ(due(later), "0:b 0:b 0:b 0:b 0:b") << "as much as lets it be read again";
    EXPECT_FALSE(coalescer_.ahead(0));
}

TEST_F(CoalescerTest, a_rank_that_was_silent_while_no_rank_was_ahead_is_waited_for) {
    open(2);
    add("0", "a", start_);
    EXPECT_EQ(due(start_ + milliseconds(100)), "0:a");
    add("0000000000", "b", start_ + milliseconds(101));
    EXPECT_EQ(due(start_ + milliseconds(101)), "");
}

TEST_F(CoalescerTest, a_rank_that_stayed_behind_is_waited_for_in_the_next_round) {
    open(2);
    add("0000000000", "a", start_);
    EXPECT_NE(due(start_ + milliseconds(100)), "");
    coalescer_.close_all();
    open(2);
    add("0000000000", "b", start_ + milliseconds(101));
    EXPECT_EQ(due(start_ + milliseconds(101)), "");
}

TEST_F(CoalescerTest, a_closed_rank_is_not_ahead) {
    open(2);
    add("0000000000", "a", start_);
    coalescer_.close(0);
    EXPECT_FALSE(coalescer_.ahead(0));
}

TEST_F(CoalescerTest, a_rank_that_caught_up_is_waited_for_again) {
    open(2);
    add("0000000000", "a", start_);
    EXPECT_NE(due(start_ + milliseconds(100)), "");
    const auto later = start_ + milliseconds(200);
    add("01", "b", later);
    EXPECT_EQ(due(later), "0,1:b");
    add("0000000000", "c", later);
    EXPECT_EQ(due(later), "");
    EXPECT_TRUE(coalescer_.ahead(0));
}

TEST_F(CoalescerTest, lines_do_not_wait_for_the_window_when_all_ranks_are_ahead) {
    open(2);
    add("0", "mine", start_);
    add("000000000", "a", start_);
    add("1", "yours", start_);
    EXPECT_EQ(due(start_), "");
    add("111111111", "a", start_);
    EXPECT_EQ(due(start_), "0:mine 1:yours 0,1:a 0,1:a 0,1:a 0,1:a 0,1:a 0,1:a 0,1:a 0,1:a 0,1:a");
}

TEST_F(CoalescerTest, an_equal_flood_is_coalesced_whichever_rank_leads) {
    open(3);
    int coalesced = 0;
    std::vector<int> printed(3);
    unsigned random = 7;
    while (coalesced < 5000) {
        const auto rank = static_cast<std::size_t>((random = random * 1664525 + 1013904223) / 65536 % 3);
        if (coalescer_.ahead(static_cast<int>(rank))) continue;
        coalescer_.add(static_cast<int>(rank), std::to_string(printed[rank]++), start_);
        while (auto line = coalescer_.next(start_)) {
            ASSERT_EQ(line->ranks, (Ranks{0, 1, 2}));
            ASSERT_EQ(line->text, std::to_string(coalesced++));
        }
    }
}

/// Ranks are opened, print, are closed and opened again at random; some of them are slow to be shown.
TEST_F(CoalescerTest, any_interleaving_keeps_order_and_number_of_each_ranks_lines) {
    for (unsigned seed = 1; seed <= 200; ++seed) {
        Coalescer coalescer({milliseconds(20), 8 * (Coalescer::kLineBytes + 1), 16 * (Coalescer::kLineBytes + 1)});
        unsigned random = seed;
        const auto next = [&](unsigned below) { return (random = random * 1664525 + 1013904223) / 65536 % below; };
        const unsigned texts = 1 + next(4);
        std::vector<std::string> printed(4), shown(4);
        base::Time now = start_;
        const auto collect = [&](base::Time when) {
            while (auto line = coalescer.next(when)) {
                ASSERT_TRUE(std::is_sorted(line->ranks.begin(), line->ranks.end()));
                for (int rank : line->ranks) shown[static_cast<std::size_t>(rank)] += line->text;
            }
        };
        for (int i = 0; i < 500; ++i) {
            now += milliseconds(next(3));
            const unsigned rank = next(4);
            const unsigned what = next(40);
            if (what == 0)
                coalescer.close(static_cast<int>(rank));
            else if (what == 1)
                coalescer.open(static_cast<int>(rank));
            const std::string text(1, static_cast<char>('a' + next(texts)));
            printed[rank] += text;
            coalescer.add(static_cast<int>(rank), text, now);
            if (next(4) == 0) continue;
            collect(now);
            ASSERT_TRUE(!coalescer.deadline() || *coalescer.deadline() > now)
                << "nothing outlives its window, seed " << seed;
        }
        collect(base::Time::max());
        EXPECT_EQ(printed, shown) << "seed " << seed;
        EXPECT_FALSE(coalescer.deadline());
    }
}

}  // namespace
}  // namespace dlaunch::agent
