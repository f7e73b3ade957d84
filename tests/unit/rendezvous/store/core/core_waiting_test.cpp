// Pending waits, wakes, and the state after a wait has ended.

#include <gtest/gtest.h>

#include "tests/unit/rendezvous/store/core/core_fixture.hpp"

namespace dlaunch::store {
namespace {

using wire::about;
using wire::le64;
using wire::with_words;
using Verdict = Core::Verdict;

class CoreWaiting : public testing::Test, protected Clients {};

const std::string kStop(1, '\0'), kCanceled("\1");

TEST_F(CoreWaiting, a_wait_for_existing_keys_is_answered_at_once) {
    set(1, "/a", "");
    push(1, "/q");
    wait(2, {"/a", "/q"});
    EXPECT_EQ(replies(2), kStop);
    wait(2, {});
    EXPECT_EQ(replies(2), kStop);
}

TEST_F(CoreWaiting, a_wait_is_answered_once_all_keys_exist) {
    set(1, "/a", "1");
    wait(2, {"/a", "/b", "/c"});
    set(1, "/c", "1");
    EXPECT_EQ(replies(2), "");
    set(1, "/b", "1");
    EXPECT_EQ(replies(2), kStop);
    set(1, "/b", "2");
    EXPECT_EQ(replies(2), "");
}

TEST_F(CoreWaiting, every_request_that_stores_wakes_waiters) {
    const std::vector<std::string_view> pair{"/k", "v"};
    const wire::Request stores[] = {about(StoreOperation::set, "/k", "v"),
                                    wire::with_integer(StoreOperation::add, "/k", 0),
                                    about(StoreOperation::append, "/k", ""),
                                    with_words(StoreOperation::multi_set, pair),
                                    about(StoreOperation::compare_set, "/k", "", "v"),
                                    about(StoreOperation::queue_push, "/k", "v")};
    for (const auto& store : stores) {
        Clients clients;
        clients.wait(2, {"/k"});
        clients.wait(3, {"/other"});
        clients.ask(1, store);
        EXPECT_TRUE(clients.woken(2)) << wire::text_of(store);
        EXPECT_EQ(clients.replies(3), "");
    }
}

TEST_F(CoreWaiting, a_request_that_stores_nothing_wakes_no_waiter) {
    wait(2, {"/k"});
    ask(1, about(StoreOperation::compare_set, "/k", "something", "else"));
    ask(1, about(StoreOperation::delete_key, "/k"));
    ask(1, about(StoreOperation::get, "/k"));
    ask(1, about(StoreOperation::queue_pop, "/k"));
    EXPECT_EQ(replies(2), "");
}

TEST_F(CoreWaiting, a_refused_request_wakes_no_waiter) {
    set(1, "/k", "no number");
    barrier(2, "/b", 2);
    wait(3, {"/big"});
    EXPECT_EQ(add(1, "/k", 1), Verdict::refused);
    EXPECT_EQ(ask(1, about(StoreOperation::append, "/big", std::string(wire::kMaxValueBytes + 1, 'v'))),
              Verdict::refused);
    EXPECT_EQ(replies(2) + replies(3), "");
}

TEST_F(CoreWaiting, one_store_wakes_all_and_a_multi_set_after_it_is_whole) {
    for (Slot client = 2; client < 50; ++client) wait(client, {"/a", "/b"});
    const std::vector<std::string_view> words{"/a", "1", "/b", "2"};
    ask(1, with_words(StoreOperation::multi_set, words));
    for (Slot client = 2; client < 50; ++client) EXPECT_TRUE(woken(client));
}

TEST_F(CoreWaiting, a_key_named_twice) {
    wait(2, {"/k", "/k"});
    set(1, "/k", "");
    EXPECT_TRUE(woken(2));
    wait(2, {"/q", "/q"});
    push(1, "/q");
    EXPECT_TRUE(woken(2));
}

TEST_F(CoreWaiting, a_deleted_key_still_counts_for_a_wait) {
    wait(2, {"/a", "/b"});
    set(1, "/a", "");
    ask(1, about(StoreOperation::delete_key, "/a"));
    set(1, "/b", "");
    EXPECT_TRUE(woken(2));
}

TEST_F(CoreWaiting, a_client_wakes_itself_before_its_own_reply) {
    wait(1, {"/n"});
    add(1, "/n", 3);
    EXPECT_EQ(replies(1), kStop + le64(3));
}

TEST_F(CoreWaiting, other_replies_overtake_a_pending_wait) {
    wait(1, {"/k"});
    ask(1, wire::with_integer(StoreOperation::ping, "", 7));
    EXPECT_EQ(replies(1), std::string("\7\0\0\0", 4));
    set(2, "/k", "");
    EXPECT_TRUE(woken(1));
}

TEST_F(CoreWaiting, several_waits_of_one_client_are_answered_apart) {
    wait(1, {"/a"});
    wait(1, {"/b"});
    set(2, "/b", "");
    EXPECT_EQ(replies(1), kStop);
    set(2, "/a", "");
    EXPECT_EQ(replies(1), kStop);
    wait(1, {"/c"});
    wait(1, {"/c"});
    set(2, "/c", "");
    EXPECT_EQ(replies(1), kStop + kStop);
}

TEST_F(CoreWaiting, cancel) {
    cancel(1);
    EXPECT_EQ(replies(1), kCanceled);
    wait(1, {"/a", "/b"});
    wait(1, {"/c"});
    set(2, "/a", "");
    cancel(1);
    EXPECT_EQ(replies(1), kCanceled);
    set(2, "/b", "");
    set(2, "/c", "");
    EXPECT_EQ(replies(1), "");
}

TEST_F(CoreWaiting, an_answer_that_crosses_the_cancel) {
    wait(1, {"/a"});
    set(2, "/a", "");
    cancel(1);
    EXPECT_EQ(replies(1), kStop + kCanceled);
}

TEST_F(CoreWaiting, an_answer_that_is_not_sent_yet_does_not_come_behind_the_cancel) {
    wait(1, {"/a"});
    Output setter, canceler;
    core().handle(2, wire::about(StoreOperation::set, "/a", ""), setter);
    core().handle(1, wire::about(StoreOperation::cancel_wait), canceler);
    EXPECT_EQ(canceler.text(), kStop + kCanceled);
    EXPECT_TRUE(core().woken().empty());
}

TEST_F(CoreWaiting, the_next_connection_of_that_number_inherits_nothing) {
    wait(1, {"/a"});
    barrier(1, "/b", 2);
    core().close(1);
    set(2, "/a", "");
    barrier(2, "/b", 2);
    EXPECT_EQ(replies(1), "");
    EXPECT_EQ(replies(2), kStop);  // a barrier is not counted back
}

TEST_F(CoreWaiting, one_push_wakes_one_the_longest_waiting) {
    for (const Slot client : {5U, 3U, 4U}) wait(client, {"/q"});
    for (const Slot client : {5U, 3U, 4U}) {
        push(1, "/q");
        for (const Slot other : {3U, 4U, 5U}) EXPECT_EQ(replies(other), other == client ? kStop : "");
    }
    push(1, "/q");
    EXPECT_EQ(replies(3) + replies(4) + replies(5), "");
}

TEST_F(CoreWaiting, a_push_skips_a_wait_that_lacks_another_key) {
    wait(2, {"/q", "/k"});
    wait(3, {"/q"});
    push(1, "/q");
    EXPECT_EQ(replies(2), "");
    EXPECT_TRUE(woken(3));
    set(1, "/k", "");
    EXPECT_TRUE(woken(2));
}

TEST_F(CoreWaiting, a_push_wakes_no_waiter_that_still_lacks_another_key) {
    wait(2, {"/q"});
    push(1, "/q");
    EXPECT_TRUE(woken(2));
    wait(2, {"/other"});
    push(1, "/q");
    EXPECT_EQ(replies(2), "");
}

TEST_F(CoreWaiting, a_push_wakes_one_waiter_of_a_joined_wait) {
    wait(1, {"/q"});
    core().join(1);
    core().join(1);
    core().leave(1);
    wait(2, {"/q"});
    for (const Slot client : {1U, 1U, 2U}) {
        push(3, "/q");
        for (const Slot other : {1U, 2U}) EXPECT_EQ(replies(other), other == client ? kStop : "");
    }
    push(3, "/q");
    EXPECT_EQ(replies(1) + replies(2), "");
}

TEST_F(CoreWaiting, a_new_key_answers_a_joined_wait_once) {
    wait(1, {"/a"});
    core().join(1);
    set(2, "/a", "");
    EXPECT_EQ(replies(1), kStop);
    core().join(1);  // came too late
    wait(1, {"/b"});
    core().leave(1);
    set(2, "/b", "");
    EXPECT_EQ(replies(1), "");
    core().leave(1);
    core().leave(99);
}

TEST_F(CoreWaiting, a_filled_queue_counts_for_a_wait) {
    push(1, "/q");
    wait(2, {"/q", "/k"});
    set(1, "/k", "");
    EXPECT_TRUE(woken(2));
}

TEST_F(CoreWaiting, a_barrier_opens_when_the_last_one_comes_and_stays_open) {
    barrier(1, "/b", 3);
    barrier(2, "/b", 3);
    EXPECT_EQ(value("/b"), "2");
    EXPECT_EQ(replies(1) + replies(2), "");
    barrier(3, "/b", 3);
    EXPECT_TRUE(woken(1) && woken(2) && woken(3));
    barrier(4, "/b", 3);
    EXPECT_TRUE(woken(4));
    EXPECT_EQ(value("/b"), "4");
    barrier(5, "/none", 0);
    EXPECT_TRUE(woken(5));
}

TEST_F(CoreWaiting, set_or_add_of_its_key_opens_a_barrier) {
    barrier(1, "/a", 3);
    set(9, "/a", "x");
    EXPECT_TRUE(woken(1));
    barrier(1, "/b", 3);
    add(9, "/b", 0);
    EXPECT_TRUE(woken(1));
    EXPECT_EQ(barrier(1, "/a", 3), Verdict::refused);  // "x" is no count
    EXPECT_EQ(replies(1), "");
}

TEST_F(CoreWaiting, a_full_barrier_wakes_the_waiters_of_its_key) {
    wait(1, {"/b"});
    barrier(2, "/b", 2);
    EXPECT_EQ(replies(1), "");
    barrier(3, "/b", 2);
    EXPECT_TRUE(woken(1));
}

TEST_F(CoreWaiting, a_client_waits_for_so_many_keys_and_no_more) {
    const std::vector<std::string> names(Core::kMaxPendingKeys, "/k");
    std::vector<std::string_view> keys(names.begin(), names.end());
    EXPECT_EQ(wait(1, keys), Verdict::unchanged);
    EXPECT_EQ(wait(1, {"/one more"}), Verdict::refused);
    EXPECT_EQ(barrier(1, "/b", 2), Verdict::refused);
    EXPECT_EQ(value("/b"), "missing");
    EXPECT_EQ(wait(2, {"/k"}), Verdict::unchanged);
    set(3, "/k", "");
    EXPECT_TRUE(woken(1) && woken(2));
    EXPECT_EQ(wait(1, {"/one more"}), Verdict::unchanged);
}

}  // namespace
}  // namespace dlaunch::store
