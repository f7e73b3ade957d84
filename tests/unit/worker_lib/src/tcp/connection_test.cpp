#include "worker_lib/src/tcp/connection.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

namespace dlaunch::worker::tcp {
namespace {

class ConnectionTest : public testing::Test {
protected:
    ConnectionTest() {
        int ends[2] = {-1, -1};
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0) std::abort();
        one_ = std::make_unique<Connection>(base::UniqueFd(ends[0]));
        two_ = std::make_unique<Connection>(base::UniqueFd(ends[1]));
    }

    void send(std::uint64_t slot, std::string& text) {
        one_->send({slot, reinterpret_cast<std::byte*>(text.data()), text.size(), &sent_});
    }
    void receive(std::uint64_t slot, std::string& into, int& completed) {
        two_->receive({slot, reinterpret_cast<std::byte*>(into.data()), into.size(), &completed});
    }
    /// As after events of epoll.
    void progress() {
        for (int i = 0; i < 100; ++i) {
            for (Connection* side : {one_.get(), two_.get()}) {
                side->set_ready(true, true);
                side->progress();
            }
        }
    }

    int sent_ = 0;
    std::unique_ptr<Connection> one_, two_;
};

TEST_F(ConnectionTest, transfers_of_a_slot_arrive_in_order_and_may_be_shorter) {
    std::string first = "abc", second = "de", into1(4, '-'), into2(4, '-');
    int done1 = 0, done2 = 0;
    receive(7, into1, done1);
    receive(7, into2, done2);
    send(7, first);
    send(7, second);
    progress();
    EXPECT_EQ(sent_, 2);
    EXPECT_EQ(done1, 1);
    EXPECT_EQ(done2, 1);
    EXPECT_EQ(into1, "abc-");
    EXPECT_EQ(into2, "de--");
}

TEST_F(ConnectionTest, a_transfer_waits_for_a_receive_of_its_slot) {
    std::string text = "abc", into(3, '-'), other(3, '-');
    int done = 0, other_done = 0;
    receive(8, other, other_done);
    send(7, text);
    progress();
    EXPECT_EQ(done, 0);
    receive(7, into, done);
    progress();
    EXPECT_EQ(done, 1);
    EXPECT_EQ(into, "abc");
    EXPECT_EQ(other_done, 0);
    EXPECT_FALSE(two_->ended_in());
}

TEST_F(ConnectionTest, long_and_short_transfers_mix) {
    std::string text(1 << 20, ' '), brief = "end", into(1 << 20, '-'), into_brief(3, '-');
    for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>('a' + i % 23);
    int done = 0, brief_done = 0;
    receive(1, into, done);
    receive(2, into_brief, brief_done);
    send(1, text);
    send(2, brief);
    progress();
    EXPECT_EQ(done, 1);
    EXPECT_EQ(brief_done, 1);
    EXPECT_TRUE(into == text);
    EXPECT_EQ(into_brief, "end");
}

TEST_F(ConnectionTest, what_the_peer_sent_before_it_left_still_arrives) {
    std::string first = "abc", second = "def", into1(3, '-'), into2(3, '-'), more(3, '-');
    int done1 = 0, done2 = 0, done3 = 0;
    receive(1, into1, done1);
    send(1, first);
    send(2, second);
    progress();
    one_.reset();
    two_->set_left();
    EXPECT_EQ(done1, 1);
    receive(2, into2, done2);
    receive(3, more, done3);
    two_->set_ready(true, false);
    two_->progress();
    EXPECT_EQ(done2, 1);
    EXPECT_EQ(into2, "def");
    EXPECT_EQ(done3, 0);
    EXPECT_TRUE(two_->ended_in());
    EXPECT_TRUE(two_->ended_out());
}

TEST_F(ConnectionTest, a_transfer_longer_than_its_receive_ends_the_connection) {
    std::string text = "abcdef", into(3, '-');
    int done = 0;
    receive(1, into, done);
    send(1, text);
    progress();
    EXPECT_EQ(done, 0);
    EXPECT_EQ(into, "---");
    EXPECT_TRUE(two_->ended_in());
}

TEST_F(ConnectionTest, cancelled_transfers_are_forgotten) {
    std::string text = "abc", unsent = "xyz", into(3, '-'), kept(3, '-');
    int done = 0, kept_done = 0, not_sent = 0;
    receive(1, into, done);
    receive(2, kept, kept_done);
    one_->send({1, reinterpret_cast<std::byte*>(unsent.data()), unsent.size(), &not_sent});
    send(2, text);
    one_->cancel(&not_sent);
    two_->cancel(&done);
    progress();
    EXPECT_EQ(not_sent, 0);
    EXPECT_EQ(done, 0);
    EXPECT_EQ(kept_done, 1);
    EXPECT_EQ(kept, "abc");
    EXPECT_FALSE(one_->ended_out() || two_->ended_in());
}

TEST_F(ConnectionTest, a_transfer_cancelled_half_way_ends_the_connection) {
    std::string text(16 << 20, 'x'), into(16 << 20, '-');
    int done = 0;
    receive(1, into, done);
    send(1, text);
    one_->progress();  // a part of it
    two_->progress();
    ASSERT_EQ(sent_, 0);
    ASSERT_EQ(done, 0);
    one_->cancel(&sent_);
    two_->cancel(&done);
    EXPECT_TRUE(one_->ended_out());
    EXPECT_TRUE(two_->ended_in());
}

}  // namespace
}  // namespace dlaunch::worker::tcp
