#include "rendezvous/store/relay/proxy.hpp"

#include "tests/unit/rendezvous/store/relay/proxy_fixture.hpp"

namespace dlaunch::store {
namespace {

using wire::le64;

const std::string kStop(1, '\0'), kCanceled(1, '\1');

struct ProxyTest : ::testing::Test {
    Upstream store;
    Node node{store};
};

TEST_F(ProxyTest, requests_of_a_worker_are_answered_in_order) {
    node.set(1, "key", "seven");
    node.ask(1, wire::with_integer(StoreOperation::add, "n", 2));
    node.get(1, "key");
    node.ask(1, wire::with_integer(StoreOperation::ping, "", 5));
    node.flush();
    EXPECT_EQ(node.replies(1), le64(2) + vec("seven") + std::string("\5\0\0\0", 4));
}

TEST_F(ProxyTest, a_refused_sum_closes_all_its_workers) {
    node.set(1, "n", "no number");
    node.add(2, "n", 1);
    node.add(3, "n", 1);
    node.flush();
    EXPECT_EQ(node.dropped, (std::set<Proxy::Local>{2, 3}));
}

TEST_F(ProxyTest, equal_waits_are_one) {
    for (Proxy::Local worker = 1; worker <= 3; ++worker) {
        node.wait(worker, {"a", "b"});
        node.flush();
    }
    node.wait(4, {"a"});
    node.flush();
    EXPECT_EQ(store.requests, 2U);
    node.set(5, "b", "");
    node.flush();
    EXPECT_EQ(node.replies(1) + node.replies(4), "");
    node.set(5, "a", "");
    node.flush();
    for (Proxy::Local worker = 1; worker <= 4; ++worker) EXPECT_EQ(node.replies(worker), kStop);
}

TEST_F(ProxyTest, a_joined_wait_answers_all_and_the_next_begins_anew) {
    for (Proxy::Local worker = 1; worker <= 3; ++worker) node.wait(worker, {"key"});
    node.set(4, "key", "x");
    node.flush();
    for (Proxy::Local worker = 1; worker <= 3; ++worker) EXPECT_EQ(node.replies(worker), kStop);
    node.wait(1, {"key"});
    node.flush();
    EXPECT_EQ(node.replies(1), kStop);
    EXPECT_EQ(store.requests, 3U);
    EXPECT_EQ(store.channels(), 2U);  // worker 4's, and the borrowed one of both waits
}

TEST_F(ProxyTest, an_item_wakes_one_of_joined_waits) {
    for (Proxy::Local worker = 1; worker <= 3; ++worker) node.wait(worker, {"queue"});
    node.flush();
    node.ask(4, wire::about(StoreOperation::queue_push, "queue", "one"));
    node.ask(4, wire::about(StoreOperation::queue_push, "other", "two"));
    node.ask(1, wire::about(StoreOperation::queue_pop, "queue"));
    node.flush();
    EXPECT_EQ(node.replies(1), kStop + le64(1) + vec("one"));
    EXPECT_EQ(node.replies(2) + node.replies(3), "");
    node.ask(4, wire::about(StoreOperation::queue_push, "queue", "two"));
    node.flush();
    EXPECT_EQ(node.replies(2), kStop);
    EXPECT_EQ(node.replies(3), "");
    node.proxy.closed(3);
    node.ask(4, wire::about(StoreOperation::queue_push, "queue", "three"));
    node.flush();
    EXPECT_EQ(node.replies(3), "");
}

TEST_F(ProxyTest, a_worker_that_joins_when_the_item_has_come_waits_anew) {
    node.wait(1, {"queue"});
    node.ask(4, wire::about(StoreOperation::queue_push, "queue", "one"));
    store.take(node.proxy.take_frames());
    node.wait(2, {"queue"});
    for (const auto& reply : store.take_replies()) node.receive(reply);
    EXPECT_EQ(node.replies(1), kStop);
    EXPECT_EQ(node.replies(2), "");
    node.flush();
    EXPECT_EQ(node.replies(2), kStop);  // the item is still there
}

TEST_F(ProxyTest, a_worker_that_leaves_a_joined_wait_takes_no_item) {
    for (Proxy::Local worker = 1; worker <= 2; ++worker) node.wait(worker, {"queue"});
    node.flush();
    node.cancel(2);
    node.flush();
    node.ask(4, wire::about(StoreOperation::queue_push, "queue", "one"));
    node.flush();
    EXPECT_EQ(node.replies(1), kStop);
    EXPECT_EQ(node.replies(2), kCanceled);
    node.ask(4, wire::about(StoreOperation::queue_push, "queue", "two"));
    node.flush();
    EXPECT_EQ(node.replies(1), "");
}

TEST_F(ProxyTest, a_wait_does_not_join_one_from_before_a_removal) {
    node.wait(1, {"key"});
    node.set(2, "key", "x");
    node.ask(2, wire::about(StoreOperation::delete_key, "key"));
    node.wait(2, {"key"});
    node.flush();
    EXPECT_EQ(node.replies(1), kStop);
    EXPECT_EQ(node.replies(2), le64(1));
}

TEST_F(ProxyTest, the_last_worker_to_leave_cancels_a_joined_wait) {
    for (Proxy::Local worker = 1; worker <= 2; ++worker) node.wait(worker, {"key"});
    node.flush();
    node.cancel(1);
    EXPECT_EQ(node.replies(1), kCanceled);
    node.proxy.closed(2);
    node.flush();
    EXPECT_EQ(store.requests, 2U);
    node.wait(1, {"key"});
    node.set(3, "key", "");
    node.flush();
    EXPECT_EQ(node.replies(1), kStop);
    EXPECT_EQ(node.replies(2), "");
}

TEST_F(ProxyTest, an_answer_that_meets_a_cancel_is_dropped) {
    node.wait(1, {"key"});
    node.set(2, "key", "");
    node.cancel(1);
    node.wait(1, {"other"});
    node.flush();
    EXPECT_EQ(node.replies(1), kCanceled);
    node.set(2, "other", "");
    node.flush();
    EXPECT_EQ(node.replies(1), kStop);
}

TEST_F(ProxyTest, a_worker_of_torch_1_13_gives_its_wait_up_with_its_next_request) {
    node.wait(1, {"key"});
    node.flush();
    node.ask(1, wire::about(StoreOperation::num_keys), wire::Numbering::torch_1_13);
    node.flush();
    EXPECT_EQ(node.replies(1), le64(0));
    node.set(2, "key", "");
    node.flush();
    EXPECT_EQ(node.replies(1), "");
}

TEST_F(ProxyTest, barriers_are_counted_each) {
    for (Proxy::Local worker = 1; worker <= 3; ++worker) {
        node.ask(worker, wire::with_integer(StoreOperation::barrier, "all", 3));
        node.flush();
        EXPECT_EQ(node.replies(1), worker < 3 ? "" : kStop);
    }
    EXPECT_EQ(node.replies(2), kStop);
    EXPECT_EQ(node.replies(3), kStop);
}

TEST_F(ProxyTest, equal_gets_join_before_they_leave) {
    node.set(1, "key", "one");
    for (Proxy::Local worker = 2; worker <= 4; ++worker) node.get(worker, "key");
    node.set(1, "key", "two");
    node.get(5, "key");
    node.flush(1);
    for (Proxy::Local worker = 2; worker <= 4; ++worker) EXPECT_EQ(node.replies(worker), vec("one"));
    EXPECT_EQ(node.replies(5), vec("two"));
    EXPECT_EQ(store.requests, 4U);
}

TEST_F(ProxyTest, a_get_that_has_left_is_not_joined) {
    node.get(1, "key");
    store.take(node.proxy.take_frames());
    node.set(2, "key", "new");
    node.get(2, "key");
    const auto late = store.take_replies();
    node.flush();
    EXPECT_EQ(node.replies(2), vec("new"));
    for (const auto& reply : late) node.receive(reply);
    EXPECT_EQ(node.replies(1), vec(""));
}

TEST_F(ProxyTest, a_get_whose_workers_have_left_is_read_to_its_end) {
    node.set(1, "key", std::string(1000, 'x'));
    node.get(2, "key");
    node.get(3, "key");
    store.take(node.proxy.take_frames());
    node.proxy.closed(2);
    node.proxy.closed(3);
    for (const auto& reply : store.take_replies()) node.receive(reply, 100);
    node.get(4, "none");
    node.flush();
    EXPECT_EQ(node.replies(4), vec(""));
    EXPECT_EQ(node.replies(2) + node.replies(3), "");
}

TEST_F(ProxyTest, an_answer_stands_behind_the_reply_that_has_begun) {
    node.set(2, "large", std::string(100, 'x'));
    node.wait(1, {"key"});
    node.get(1, "large");
    store.take(node.proxy.take_frames());
    auto replies = store.take_replies();
    ASSERT_EQ(replies.size(), 1U);
    node.receive({replies[0].channel, replies[0].bytes.substr(0, 50)});
    node.set(2, "key", "");
    node.flush();
    EXPECT_EQ(node.replies(1), replies[0].bytes.substr(0, 50));
    node.receive({replies[0].channel, replies[0].bytes.substr(50)});
    EXPECT_EQ(node.replies(1), replies[0].bytes.substr(50) + kStop);
}

TEST_F(ProxyTest, replies_that_come_before_their_turn_are_kept) {
    node.set(2, "key", "x");
    node.get(1, "key");
    node.ask(1, wire::with_integer(StoreOperation::add, "n", 1));
    node.ask(1, wire::with_integer(StoreOperation::add, "n", 1));
    store.take(node.proxy.take_frames());
    const auto replies = store.take_replies();
    ASSERT_EQ(replies.size(), 3U);
    node.receive(replies[1], 3);
    node.receive(replies[2], 3);
    EXPECT_EQ(node.replies(1), "");
    node.receive(replies[0], 3);
    EXPECT_EQ(node.replies(1), vec("x") + le64(1) + le64(2));
}

TEST_F(ProxyTest, a_worker_that_sends_no_more_gets_the_replies_that_are_due) {
    node.wait(1, {"key"});
    node.ask(1, wire::with_integer(StoreOperation::add, "n", 1));
    node.get(2, "key");
    for (const Proxy::Local worker : {1U, 2U, 3U}) node.proxy.finished(worker);
    node.flush();
    EXPECT_EQ(node.replies(1), le64(1));
    EXPECT_EQ(node.replies(2), vec(""));
    EXPECT_EQ(node.dropped, (std::set<Proxy::Local>{1, 2, 3}));
}

TEST_F(ProxyTest, a_refused_request_ends_its_worker_only) {
    node.set(1, "word", "no number");
    node.ask(2, wire::with_integer(StoreOperation::add, "word", 1));
    node.ask(3, wire::with_integer(StoreOperation::add, "n", 1));
    node.flush();
    EXPECT_EQ(node.dropped, std::set<Proxy::Local>{2});
    EXPECT_EQ(node.replies(3), le64(1));
    EXPECT_EQ(store.channels(), 2U);
}

TEST_F(ProxyTest, a_refused_call_ends_all_that_have_joined_it) {
    node.wait(1, {"key"});
    node.wait(1, {"key"});
    node.wait(2, {"key"});
    node.flush();
    node.receive({1, ""});
    EXPECT_EQ(node.dropped, (std::set<Proxy::Local>{1, 2}));
    node.flush();
    EXPECT_EQ(store.channels(), 0U);
}

/// Whichever channel the GET has borrowed: the one or the other is late.
TEST_F(ProxyTest, a_refused_request_takes_no_earlier_reply_along) {
    for (const wire::Channel late : {1U, 2U}) {
        Upstream upstream;
        Node worker{upstream};
        worker.set(1, "key", "text");
        worker.get(1, "key");
        worker.add(1, "key", 1);
        worker.flush(SIZE_MAX, late);
        EXPECT_EQ(worker.replies(1), vec("text"));
        EXPECT_TRUE(worker.dropped.contains(1));
    }
}

TEST_F(ProxyTest, a_lost_trunk_ends_the_workers_that_have_used_it) {
    node.wait(1, {"key"});
    node.get(2, "key");
    node.flush();
    node.proxy.lost();
    node.ask(3, wire::with_integer(StoreOperation::add, "n", 1));
    EXPECT_EQ(node.dropped, (std::set<Proxy::Local>{1, 2}));
    node.flush();
    EXPECT_EQ(node.replies(3), le64(1));
}

TEST_F(ProxyTest, nonsense_from_the_store_ends_the_trunk) {
    using Kind = wire::TrunkFrame::Kind;
    node.ask(1, wire::with_integer(StoreOperation::add, "n", 1));
    node.get(2, "key");
    node.flush();
    EXPECT_FALSE(node.proxy.received({Kind::data, 1, "no reply is due", 0}));
    EXPECT_FALSE(node.proxy.received({Kind::credit, 1, {}, 1}));
    EXPECT_FALSE(node.proxy.received({Kind::hello, 0, "key", 0}));
    EXPECT_TRUE(node.proxy.received({Kind::data, 77, "of a channel that was closed", 0}));
}

TEST_F(ProxyTest, read_bytes_are_granted_again) {
    node.set(1, "key", std::string(8 << 20, 'x'));
    node.get(2, "key");
    node.ask(3, wire::about(StoreOperation::compare_set, "key", "no"));
    node.flush(wire::kMostPiece);
    std::size_t granted = 0;
    for (const auto& [channel, bytes] : store.credits) granted += bytes;
    EXPECT_GT(granted, (std::size_t{16} << 20) - wire::kWindow);
    EXPECT_LE(granted, (std::size_t{16} << 20) + 16);
}

TEST_F(ProxyTest, a_worker_with_many_replies_due_is_put_on_hold) {
    for (std::size_t i = 0; i < Proxy::kMostDue; ++i) node.get(1, "key");
    EXPECT_TRUE(node.on_hold.contains(1));
    node.flush();
    EXPECT_FALSE(node.on_hold.contains(1));
    node.get(1, "key");
    node.set(1, "key", std::string(wire::kWindow, 'x'));
    EXPECT_TRUE(node.on_hold.contains(1));
    node.flush();
    EXPECT_FALSE(node.on_hold.contains(1));
}

TEST_F(ProxyTest, a_worker_has_a_limit_of_pending_waits) {
    for (std::size_t i = 0; i < Proxy::kMostWaits; ++i) node.wait(1, {"key"});
    const std::vector<std::string_view> keys{"key"};
    EXPECT_FALSE(node.proxy.request(1, wire::with_words(StoreOperation::wait, keys), wire::Numbering::newest));
}

}  // namespace
}  // namespace dlaunch::store
