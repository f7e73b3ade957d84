#include "agent/services/losses.hpp"

#include <algorithm>

#include "tests/unit/agent/services/socket_fixture.hpp"

namespace dlaunch::agent {
namespace {

class LossNoticesTest : public AgentSocketTest {
protected:
    base::UniqueFd follow() {
        base::UniqueFd client = connect();
        send(client, "losses\n");
        turn();
        return client;
    }

    LossNotices losses_{loop_, socket_};
};

TEST_F(LossNoticesTest, a_follower_gets_earlier_and_later_losses) {
    losses_.report({{3, 1}}, "exited with 1");
    const base::UniqueFd client = follow();
    EXPECT_EQ(received(client), "lost 3 1 exited with 1\n");
    losses_.report({{8, 4}}, "node2\nis gone");
    EXPECT_EQ(received(client), "lost 8 4 node2\\x0ais gone\n");
}

TEST_F(LossNoticesTest, a_lost_node_with_several_ranges_is_a_line_each) {
    losses_.report({{0, 1}, {4, 2}}, "node2 was lost");
    EXPECT_EQ(received(follow()), "lost 0 1 node2 was lost\nlost 4 2 node2 was lost\n");
}

TEST_F(LossNoticesTest, a_loss_is_sent_once_per_round) {
    losses_.report({{3, 1}}, "exited with 1");
    losses_.report({{3, 1}}, "rank 3 exited with 1");
    EXPECT_EQ(received(follow()), "lost 3 1 exited with 1\n");
    losses_.prepare({});
    losses_.report({{3, 1}}, "exited with 2");
    EXPECT_EQ(received(follow()), "lost 3 1 exited with 2\n");
}

TEST_F(LossNoticesTest, a_new_round_has_no_losses_and_no_followers) {
    const base::UniqueFd client = follow();
    losses_.report({{3, 1}}, "exited with 1");
    losses_.prepare({});
    turn();
    EXPECT_EQ(losses_.followers(), 0U);
    EXPECT_EQ(received(follow()), "");
}

TEST_F(LossNoticesTest, a_follower_that_reads_late_misses_nothing) {
    const base::UniqueFd client = follow();
    const std::string reason(300, 'r');
    constexpr int kLosses = 20'000;
    for (int rank = 0; rank < kLosses; ++rank) losses_.report({{rank, 1}}, reason);
    const base::UniqueFd late = follow();
    for (const base::UniqueFd* reader : {&client, &late}) {
        std::string all;
        for (std::string more; !(more = received(*reader)).empty(); turn()) all += more;
        EXPECT_EQ(std::count(all.begin(), all.end(), '\n'), kLosses);
        EXPECT_NE(all.find(std::to_string(kLosses - 1) + " 1 lost\n"), std::string::npos) << "reasons are bounded";
    }
}

TEST_F(LossNoticesTest, a_disconnected_follower_is_removed) {
    base::UniqueFd client = follow();
    EXPECT_EQ(losses_.followers(), 1U);
    client.reset();
    turn();
    EXPECT_EQ(losses_.followers(), 0U);
}

TEST_F(LossNoticesTest, a_follower_that_has_closed_its_sending_direction_gets_every_loss) {
    base::UniqueFd client = connect();
    send(client, "losses\n");
    shutdown(client.get(), SHUT_WR);
    turn();
    EXPECT_EQ(losses_.followers(), 1U);
    losses_.report({{3, 1}}, "exited with 1");
    EXPECT_EQ(received(client), "lost 3 1 exited with 1\n");
    const std::string reason(300, 'r');
    for (int rank = 10; rank < 10'000; ++rank) losses_.report({{rank, 1}}, reason);
    std::string all;
    for (std::string more; !(more = received(client)).empty(); turn()) all += more;
    EXPECT_EQ(std::count(all.begin(), all.end(), '\n'), 9'990);
    turn();
    EXPECT_EQ(losses_.followers(), 1U);
    client.reset();
    turn();
    EXPECT_EQ(losses_.followers(), 0U);
}

}  // namespace
}  // namespace dlaunch::agent
