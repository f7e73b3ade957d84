#include "rendezvous/store/core/core.hpp"

#include <gtest/gtest.h>

#include "tests/unit/rendezvous/store/core/core_fixture.hpp"

namespace dlaunch::store {
namespace {

using wire::about;
using wire::le64;
using wire::with_words;
using Verdict = Core::Verdict;

class CoreTest : public testing::Test, protected Clients {
protected:
    std::string reply(const wire::Request& request) {
        ask(1, request);
        return replies(1);
    }
};

TEST_F(CoreTest, set_has_no_reply_and_get_returns_it) {
    EXPECT_EQ(set(1, "/k", "value"), Verdict::changed);
    EXPECT_EQ(replies(1), "");
    EXPECT_EQ(reply(about(StoreOperation::get, "/k")), vec("value"));
}

TEST_F(CoreTest, a_missing_key_is_an_empty_vector) { EXPECT_EQ(reply(about(StoreOperation::get, "/k")), vec("")); }

TEST_F(CoreTest, a_large_value_is_the_same) {
    const std::string value(100'000, 'v');
    set(1, "/k", value);
    EXPECT_EQ(reply(about(StoreOperation::get, "/k")), vec(value));
    set(1, "/k", "small");
    EXPECT_EQ(reply(about(StoreOperation::get, "/k")), vec("small"));
}

TEST_F(CoreTest, compare_set_of_a_missing_key) {
    EXPECT_EQ(ask(1, about(StoreOperation::compare_set, "/k", "guess", "new")), Verdict::unchanged);
    EXPECT_EQ(replies(1), vec("guess"));
    EXPECT_EQ(value("/k"), "missing");
    EXPECT_EQ(ask(1, about(StoreOperation::compare_set, "/k", "", "new")), Verdict::changed);
    EXPECT_EQ(replies(1), vec("new"));
    EXPECT_EQ(value("/k"), "new");
}

TEST_F(CoreTest, compare_set_of_a_present_key) {
    set(1, "/k", "old");
    EXPECT_EQ(ask(1, about(StoreOperation::compare_set, "/k", "other", "new")), Verdict::unchanged);
    EXPECT_EQ(replies(1), vec("old"));
    EXPECT_EQ(reply(about(StoreOperation::compare_set, "/k", "", "new")), vec("old"));
    EXPECT_EQ(ask(1, about(StoreOperation::compare_set, "/k", "old", "new")), Verdict::changed);
    EXPECT_EQ(replies(1), vec("new"));
    set(1, "/empty", "");
    EXPECT_EQ(reply(about(StoreOperation::compare_set, "/empty", "", "new")), vec("new"));
}

TEST_F(CoreTest, add_counts_in_decimal) {
    add(1, "/n", 5);
    add(1, "/n", -7);
    EXPECT_EQ(replies(1), le64(5) + le64(static_cast<std::uint64_t>(-2)));
    EXPECT_EQ(value("/n"), "-2");
}

TEST_F(CoreTest, add_accepts_the_numbers_of_stoll) {
    const struct {
        const char* value;
        std::int64_t after_one;
    } cases[] = {{"12abc", 13},
                 {"0x10", 1},
                 {"  7", 8},
                 {"\t\n\v\f\r7", 8},
                 {"+7", 8},
                 {"-7", -6},
                 {"007", 8},
                 {"-0", 1},
                 {"9223372036854775806", INT64_MAX},
                 {"9223372036854775807", INT64_MIN},
                 {"-9223372036854775808", INT64_MIN + 1}};
    for (const auto& [text, sum] : cases) {
        set(1, "/n", text);
        EXPECT_EQ(add(1, "/n", 1), Verdict::changed) << text;
        EXPECT_EQ(replies(1), le64(static_cast<std::uint64_t>(sum))) << text;
    }
}

TEST_F(CoreTest, add_refuses_other_texts_and_leaves_the_value) {
    for (const char* text : {"", "abc", "-", "+", "+-7", " ", "- 7", "9223372036854775808", "99999999999999999999"}) {
        set(1, "/n", text);
        EXPECT_EQ(add(1, "/n", 1), Verdict::refused) << text;
        EXPECT_EQ(replies(1), "");
        EXPECT_EQ(value("/n"), text);
    }
}

TEST_F(CoreTest, check_needs_all_keys) {
    set(1, "/a", "");
    push(1, "/q");
    EXPECT_EQ(reply(with_words(StoreOperation::check, std::vector<std::string_view>{"/a", "/q"})),
              std::string(1, '\0'));
    EXPECT_EQ(reply(with_words(StoreOperation::check, std::vector<std::string_view>{"/a", "/b"})), "\1");
    EXPECT_EQ(reply(with_words(StoreOperation::check, {})), std::string(1, '\0'));
}

TEST_F(CoreTest, num_keys_counts_keys_and_no_queues) {
    add(1, "init/", 1);
    replies(1);
    barrier(1, "/b", 2);
    push(1, "/q");
    EXPECT_EQ(reply(about(StoreOperation::num_keys)), le64(2));
}

TEST_F(CoreTest, delete_key_leaves_a_queue_of_that_name) {
    set(1, "/k", "v");
    push(1, "/k");
    EXPECT_EQ(reply(about(StoreOperation::delete_key, "/k")), le64(1));
    EXPECT_EQ(reply(about(StoreOperation::delete_key, "/k")), le64(0));
    EXPECT_EQ(reply(about(StoreOperation::queue_len, "/k")), le64(1));
}

TEST_F(CoreTest, append_makes_or_grows_a_value) {
    ask(1, about(StoreOperation::append, "/k", "va"));
    ask(1, about(StoreOperation::append, "/k", "lue"));
    EXPECT_EQ(replies(1), "");
    EXPECT_EQ(value("/k"), "value");
    std::string all;
    for (int i = 0; i < 100; ++i)
        ask(1, about(StoreOperation::append, "/long", std::string(100, static_cast<char>('a' + i % 26)))),
            all += std::string(100, static_cast<char>('a' + i % 26));
    EXPECT_EQ(value("/long"), all);
}

TEST_F(CoreTest, append_does_not_grow_a_value_over_the_limit) {
    set(1, "/k", std::string(wire::kMaxValueBytes - 1, 'v'));
    EXPECT_EQ(ask(1, about(StoreOperation::append, "/k", "ab")), Verdict::refused);
    EXPECT_EQ(value("/k").size(), wire::kMaxValueBytes - 1);
    EXPECT_EQ(ask(1, about(StoreOperation::append, "/k", "a")), Verdict::changed);
    EXPECT_EQ(ask(1, about(StoreOperation::append, "/k", "a")), Verdict::refused);
}

TEST_F(CoreTest, a_reply_under_way_does_not_grow_with_its_value) {
    set(1, "/k", std::string(10'000, 'v'));
    Output output;
    core().handle(1, about(StoreOperation::get, "/k"), output);
    ask(1, about(StoreOperation::append, "/k", "more"));
    set(2, "/k", std::string(10'000, 'w'));
    EXPECT_EQ(output.text(), vec(std::string(10'000, 'v')));
}

TEST_F(CoreTest, multi_set_and_multi_get) {
    ask(1, with_words(StoreOperation::multi_set, std::vector<std::string_view>{"/a", "1", "/b", "", "/a", "2"}));
    EXPECT_EQ(reply(with_words(StoreOperation::multi_get, std::vector<std::string_view>{"/b", "/a", "/no"})),
              vec("") + vec("2") + vec(""));
    EXPECT_EQ(ask(1, with_words(StoreOperation::multi_set, {})), Verdict::unchanged);
    EXPECT_EQ(reply(with_words(StoreOperation::multi_get, {})), "");
}

TEST_F(CoreTest, ping_echoes) {
    EXPECT_EQ(reply(wire::with_integer(StoreOperation::ping, "", 0x04030201)), "\1\2\3\4");
}

TEST_F(CoreTest, queues_are_first_in_first_out) {
    EXPECT_EQ(reply(about(StoreOperation::queue_pop, "/q")), le64(0));
    ask(1, about(StoreOperation::queue_push, "/q", "one"));
    ask(1, about(StoreOperation::queue_push, "/q", ""));
    EXPECT_EQ(reply(about(StoreOperation::queue_len, "/q")), le64(2));
    EXPECT_EQ(reply(about(StoreOperation::queue_pop, "/q")), le64(2) + vec("one"));
    EXPECT_EQ(reply(about(StoreOperation::queue_pop, "/q")), le64(1) + vec(""));
    EXPECT_EQ(reply(about(StoreOperation::queue_len, "/q")), le64(0));
    EXPECT_EQ(value("/q"), "missing");
}

TEST_F(CoreTest, list_keys_lists_raw_keys) {
    set(1, "/a", "1");
    add(1, "init/", 1);
    push(1, "/q");
    replies(1);
    const std::string listed = reply(about(StoreOperation::list_keys));
    EXPECT_TRUE(listed == le64(2) + vec("/a") + vec("init/") || listed == le64(2) + vec("init/") + vec("/a"));
}

TEST_F(CoreTest, any_bytes_are_a_key) {
    for (const std::string& key : {std::string(), std::string(1, '\0'), std::string(2, '\0'), std::string("\xff\n")}) {
        set(1, key, key);
        EXPECT_EQ(reply(about(StoreOperation::get, key)), vec(key));
    }
    EXPECT_EQ(reply(about(StoreOperation::num_keys)), le64(4));
}

TEST_F(CoreTest, messages_for_the_server_are_refused) {
    EXPECT_EQ(ask(1, about(StoreOperation::validate)), Verdict::refused);
    EXPECT_EQ(ask(1, about(StoreOperation::extension)), Verdict::refused);
}

}  // namespace
}  // namespace dlaunch::store
