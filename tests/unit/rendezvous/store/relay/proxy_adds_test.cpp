// ADDs that leave as their sum.

#include "tests/unit/rendezvous/store/relay/proxy_fixture.hpp"

namespace dlaunch::store {
namespace {

using wire::le64;

struct ProxyAddsTest : ::testing::Test {
    Upstream store;
    Node node{store};
};

TEST_F(ProxyAddsTest, adds_of_one_key_leave_as_their_sum_and_each_counts_once) {
    node.add(1, "n", 5);
    node.add(2, "n", -7);
    node.add(3, "other", 1);
    node.add(4, "n", 100);
    node.flush(3);
    EXPECT_EQ(store.requests, 2U);
    EXPECT_EQ(node.replies(1), le64(5));
    EXPECT_EQ(node.replies(2), le64(static_cast<std::uint64_t>(-2)));
    EXPECT_EQ(node.replies(3), le64(1));
    EXPECT_EQ(node.replies(4), le64(98));
    node.add(2, "n", 1);
    node.flush();
    EXPECT_EQ(node.replies(2), le64(99));
}

TEST_F(ProxyAddsTest, an_add_joins_none_that_has_left) {
    node.add(1, "n", 1);
    store.take(node.proxy.take_frames());
    node.add(2, "n", 1);
    node.flush();
    EXPECT_EQ(store.requests, 2U);
    EXPECT_EQ(node.replies(2), le64(2));
}

TEST_F(ProxyAddsTest, no_add_overtakes_another_request) {
    node.add(1, "n", 1);
    node.set(2, "key", "");  // has no reply: worker 2 goes on
    node.add(2, "n", 1);
    node.get(3, "n");
    node.add(4, "n", 1);
    node.flush();
    EXPECT_EQ(store.requests, 5U);
    EXPECT_EQ(node.replies(3), vec("2"));
    EXPECT_EQ(node.replies(4), le64(3));
}

TEST_F(ProxyAddsTest, an_add_behind_a_reply_that_is_due_joins_none) {
    node.add(1, "n", 1);
    node.add(2, "m", 1);
    node.add(2, "n", 10);
    node.add(3, "n", 100);
    node.flush();
    EXPECT_EQ(node.replies(2), le64(1) + le64(11));
    EXPECT_EQ(node.replies(3), le64(111));
}

TEST_F(ProxyAddsTest, the_share_of_a_worker_that_has_gone_counts) {
    node.add(1, "n", 1);
    node.add(2, "n", 10);
    node.proxy.closed(1);
    node.add(3, "n", 100);
    node.proxy.closed(3);
    node.flush();
    EXPECT_EQ(node.replies(1) + node.replies(3), "");
    EXPECT_EQ(node.replies(2), le64(11));
    node.add(2, "n", 0);
    node.flush();
    EXPECT_EQ(node.replies(2), le64(111));
}

TEST_F(ProxyAddsTest, a_lost_trunk_adds_nothing_again) {
    node.add(1, "n", 1);
    node.add(2, "n", 1);
    store.take(node.proxy.take_frames());
    node.proxy.lost();  // before the reply
    node.add(3, "n", 1);
    node.flush();
    EXPECT_EQ(store.requests, 2U);
    EXPECT_EQ(node.replies(1) + node.replies(2), "");
}

}  // namespace
}  // namespace dlaunch::store
