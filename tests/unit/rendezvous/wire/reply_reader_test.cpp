#include "rendezvous/wire/reply_reader.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/rendezvous/wire/tcpstore_fixture.hpp"

namespace dlaunch::wire {
namespace {

using enum StoreOperation;

std::string vec(std::string_view bytes) {
    std::string text;
    put_vector(text, bytes);
    return text;
}

struct Case {
    StoreOperation operation;
    std::size_t keys;
    std::string reply;
};

const std::vector<Case> kCases{
    {set, 0, ""},
    {append, 0, ""},
    {multi_set, 2, ""},
    {queue_push, 0, ""},
    {get, 0, vec("")},
    {get, 0, vec("seven")},
    {compare_set, 0, vec(std::string(300, 'x'))},
    {add, 0, le64(5)},
    {check, 1, "\1"},
    {wait, 1, std::string(1, '\0')},
    {barrier, 0, std::string(1, '\0')},
    {cancel_wait, 0, "\1"},
    {num_keys, 0, le64(1)},
    {delete_key, 0, le64(1)},
    {multi_get, 0, ""},
    {multi_get, 3, vec("") + vec("ab") + vec("")},
    {ping, 0, "\1\2\3\4"},
    {queue_pop, 0, le64(0)},
    {queue_pop, 0, le64(3) + vec("item")},
    {queue_len, 0, le64(3)},
    {list_keys, 0, le64(0)},
    {list_keys, 0, le64(2) + vec("a") + vec("key")},
};

ReplyReader reader_of(const Case& each) {
    const std::vector<std::string_view> words(each.keys, "key");
    Request request;
    request.operation = each.operation;
    request.words = words;
    return ReplyReader(request);
}

TEST(ReplyReader, finds_the_end_of_each_reply_in_any_pieces) {
    for (const Case& each : kCases) {
        for (std::size_t piece = 1; piece <= each.reply.size() + 1; ++piece) {
            ReplyReader reader = reader_of(each);
            const std::string bytes = each.reply + "the next reply";
            std::size_t at = 0;
            while (!reader.done() && at < bytes.size()) {
                EXPECT_EQ(reader.has_begun(), at > 0);
                at += reader.take(std::string_view(bytes).substr(at, piece));
            }
            EXPECT_EQ(at, each.reply.size()) << static_cast<int>(each.operation) << " in pieces of " << piece;
        }
    }
}

TEST(ReplyReader, needs_what_certainly_comes) {
    for (const Case& each : kCases) {
        ReplyReader reader = reader_of(each);
        std::size_t at = 0;
        while (!reader.done()) at += reader.take(std::string_view(each.reply).substr(at, reader.needs()));
        EXPECT_EQ(at, each.reply.size()) << static_cast<int>(each.operation);
    }
}

}  // namespace
}  // namespace dlaunch::wire
