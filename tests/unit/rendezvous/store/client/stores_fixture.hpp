#pragma once
/// Typed tests for every kind of store. A file that includes this header defines a Kind with `Store& store()`, and
/// `Store& another()` for a second user of the same store, possibly in another thread.

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "rendezvous/store/client/store.hpp"
#include "rendezvous/wire/tcpstore.hpp"

namespace dlaunch::store {

using Strings = std::vector<std::string>;

inline Time soon() { return base::Clock::now() + std::chrono::seconds(30); }
inline Time now() { return base::Clock::now(); }

template <class Kind>
class AnyStore : public testing::Test {
protected:
    Store& store() { return kind_.store(); }
    Store& another() { return kind_.another(); }

    /// Both users wait for keys that the other sets: a lost wake-up hangs here.
    void meet(const std::string& mine, const std::string& its, Store& store) {
        ASSERT_TRUE(store.set(mine, "here", soon()));
        EXPECT_TRUE(store.wait(Strings{its}, soon()));
    }

    Kind kind_;
};

TYPED_TEST_SUITE_P(AnyStore);

TYPED_TEST_P(AnyStore, set_get_and_count) {
    Store& store = this->store();
    EXPECT_EQ(*store.num_keys(soon()), 0);
    ASSERT_TRUE(store.set("/a", std::string_view("\0one\xff", 5), soon()));
    EXPECT_EQ(*store.get("/a", soon()), std::string("\0one\xff", 5));
    ASSERT_TRUE(store.multi_set(std::vector<std::pair<std::string, std::string>>{{"/b", "2"}, {"/c", ""}}, soon()));
    EXPECT_EQ(*store.multi_get(Strings{"/c", "/b"}, soon()), (Strings{"", "2"}));
    EXPECT_EQ(*store.num_keys(soon()), 3);
    Strings keys = *store.list_keys(soon());
    std::sort(keys.begin(), keys.end());
    EXPECT_EQ(keys, (Strings{"/a", "/b", "/c"}));
    EXPECT_TRUE(*store.delete_key("/b", soon()));
    EXPECT_FALSE(*store.delete_key("/b", soon()));
    EXPECT_TRUE(*store.check(Strings{"/a", "/c"}, soon()));
    EXPECT_FALSE(*store.check(Strings{"/a", "/b"}, soon()));
}

TYPED_TEST_P(AnyStore, add_append_and_compare_set) {
    Store& store = this->store();
    EXPECT_EQ(*store.add("/n", 5, soon()), 5);
    EXPECT_EQ(*store.add("/n", -7, soon()), -2);
    EXPECT_EQ(*store.get("/n", soon()), "-2");
    ASSERT_TRUE(store.append("/text", "va", soon()));
    ASSERT_TRUE(store.append("/text", "lue", soon()));
    EXPECT_EQ(*store.get("/text", soon()), "value");
    EXPECT_EQ(*store.compare_set("/c", "guess", "new", soon()), "guess");
    EXPECT_EQ(*store.compare_set("/c", "", "new", soon()), "new");
    EXPECT_EQ(*store.compare_set("/c", "other", "newer", soon()), "new");
    EXPECT_EQ(*store.compare_set("/c", "new", "newer", soon()), "newer");
}

TYPED_TEST_P(AnyStore, queues) {
    Store& store = this->store();
    ASSERT_TRUE(store.queue_push("/q", "one", soon()));
    ASSERT_TRUE(store.queue_push("/q", "two", soon()));
    EXPECT_EQ(*store.queue_len("/q", soon()), 2);
    EXPECT_EQ(*this->another().queue_pop("/q", soon()), "one");
    EXPECT_EQ(*store.queue_pop("/q", soon()), "two");
    EXPECT_EQ(*store.queue_len("/q", soon()), 0);
    const auto nothing = store.queue_pop("/q", now());
    ASSERT_FALSE(nothing);
    EXPECT_EQ(nothing.error().status, exit_status::kRendezvousTimeout);
}

TYPED_TEST_P(AnyStore, a_large_value) {
    std::string value(3 << 20, 'v');
    for (std::size_t i = 0; i < value.size(); i += 4099) value[i] = static_cast<char>(i);
    ASSERT_TRUE(this->store().set("/big", value, soon()));
    EXPECT_EQ(*this->another().get("/big", soon()), value);
}

TYPED_TEST_P(AnyStore, a_wait_that_times_out_names_its_keys_and_leaves_the_store_usable) {
    Store& store = this->store();
    for (int i = 0; i < 3; ++i) {
        const auto late = store.wait(Strings{"/a", "/b"}, now());
        ASSERT_FALSE(late);
        EXPECT_EQ(late.error().text, "store: wait for /a, /b: timed out");
        EXPECT_EQ(late.error().status, exit_status::kRendezvousTimeout);
    }
    ASSERT_TRUE(this->another().set("/a", "1", soon()));
    ASSERT_TRUE(this->another().set("/b", "2", soon()));
    EXPECT_TRUE(store.wait(Strings{"/a", "/b"}, soon()));
    EXPECT_EQ(*store.get("/b", soon()), "2");
    EXPECT_FALSE(store.get("/never", now()));
    EXPECT_EQ(*store.add("/n", 1, soon()), 1);
}

TYPED_TEST_P(AnyStore, two_threads_wake_each_other) {
    Store& other = this->another();
    std::thread thread([&] {
        for (int i = 0; i < 10; ++i) this->meet("/theirs" + std::to_string(i), "/mine" + std::to_string(i), other);
    });
    for (int i = 0; i < 10; ++i) this->meet("/mine" + std::to_string(i), "/theirs" + std::to_string(i), this->store());
    thread.join();
}

TYPED_TEST_P(AnyStore, two_threads_in_a_barrier_and_at_a_queue) {
    Store& other = this->another();
    std::thread thread([&] {
        EXPECT_EQ(*other.queue_pop("/ball", soon()), "ping");
        EXPECT_TRUE(other.queue_push("/back", "pong", soon()));
        EXPECT_TRUE(other.barrier("/end", 2, soon()));
    });
    EXPECT_TRUE(this->store().queue_push("/ball", "ping", soon()));
    EXPECT_EQ(*this->store().queue_pop("/back", soon()), "pong");
    EXPECT_TRUE(this->store().barrier("/end", 2, soon()));
    thread.join();
    EXPECT_TRUE(this->store().barrier("/end", 2, soon()));  // late comers pass
    const auto alone = this->store().barrier("/other", 2, now());
    ASSERT_FALSE(alone);
    EXPECT_EQ(alone.error().text, "store: barrier /other: timed out");
}

TYPED_TEST_P(AnyStore, counters_of_two_threads_lose_nothing) {
    Store& other = this->another();
    const auto count = [](Store& store) {
        for (int i = 0; i < 100; ++i) EXPECT_TRUE(store.add("/n", 1, soon()));
    };
    std::thread thread([&] { count(other); });
    count(this->store());
    thread.join();
    EXPECT_EQ(*this->store().add("/n", 0, soon()), 200);
}

TYPED_TEST_P(AnyStore, what_is_over_a_limit_is_refused_before_anything_is_done) {
    Store& store = this->store();
    EXPECT_EQ(store.set(std::string(wire::kMaxKeyBytes + 1, 'k'), "", soon()).error().text,
              "store: a key of 8193 bytes, expected at most 8192");
    EXPECT_EQ(store.set("/k", std::string(wire::kMaxValueBytes + 1, 'v'), soon()).error().text,
              "store: a value of 8388609 bytes, expected at most 8388608");
    EXPECT_EQ(store.check(Strings(wire::kMaxKeys + 1), soon()).error().text,
              "store: 131073 keys at once, expected at most 131072");
    EXPECT_FALSE(store.wait(Strings{std::string(wire::kMaxKeyBytes + 1, 'k')}, soon()));
    EXPECT_EQ(*store.num_keys(soon()), 0);
}

TYPED_TEST_P(AnyStore, what_is_no_number_is_not_added_to) {
    ASSERT_TRUE(this->store().set("/k", "abc", soon()));
    EXPECT_FALSE(this->store().add("/k", 1, soon()));
    EXPECT_EQ(*this->store().get("/k", soon()), "abc");  // and the store goes on
}

REGISTER_TYPED_TEST_SUITE_P(AnyStore, set_get_and_count, add_append_and_compare_set, queues, a_large_value,
                            a_wait_that_times_out_names_its_keys_and_leaves_the_store_usable,
                            two_threads_wake_each_other, two_threads_in_a_barrier_and_at_a_queue,
                            counters_of_two_threads_lose_nothing,
                            what_is_over_a_limit_is_refused_before_anything_is_done, what_is_no_number_is_not_added_to);

}  // namespace dlaunch::store
