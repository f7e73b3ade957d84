#include "rendezvous/wire/tcpstore.hpp"

#include <gtest/gtest.h>

#include "tests/unit/rendezvous/wire/tcpstore_fixture.hpp"

namespace dlaunch::wire {
namespace {

using Texts = std::vector<std::string>;

/// A message and its encoding.
struct Example {
    const char* bytes;
    Request request;
    const char* old_number = "";  // of torch 1.13, where it has the message
};

const std::vector<std::string_view> kKeys{"/a", "/bc"}, kPairs{"/a", "x", "/bc", ""};

std::vector<Example> examples() {
    const char* a_and_bc = "0200000000000000 0200000000000000 2F61 0300000000000000 2F6263";
    static const std::string check = fmt::format("05 {}", a_and_bc), wait = fmt::format("06 {}", a_and_bc),
                             multi_get = fmt::format("0A {}", a_and_bc);
    return {
        {"01 0200000000000000 2F61 0300000000000000 010002",
         about(StoreOperation::set, "/a", std::string_view("\1\0\2", 3)), "00"},
        {"02 0200000000000000 2F61 0000000000000000 0100000000000000 31",
         about(StoreOperation::compare_set, "/a", "", "1"), "01"},
        {"03 0200000000000000 2F61", about(StoreOperation::get, "/a"), "02"},
        {"04 0500000000000000 696E69742F F9FFFFFFFFFFFFFF", with_integer(StoreOperation::add, "init/", -7), "03"},
        {check.c_str(), with_words(StoreOperation::check, kKeys), "04"},
        {wait.c_str(), with_words(StoreOperation::wait, kKeys), "05"},
        {"07", about(StoreOperation::num_keys), "06"},
        {"08 0200000000000000 2F61", about(StoreOperation::delete_key, "/a"), "08"},
        {"09 0200000000000000 2F61 0200000000000000 6162", about(StoreOperation::append, "/a", "ab")},
        {multi_get.c_str(), with_words(StoreOperation::multi_get, kKeys)},
        {"0B 0200000000000000 0200000000000000 2F61 0100000000000000 78 0300000000000000 2F6263 0000000000000000",
         with_words(StoreOperation::multi_set, kPairs)},
        {"0C", about(StoreOperation::cancel_wait)},
        {"0D 01020304", with_integer(StoreOperation::ping, "", 0x04030201)},
        {"0E 0200000000000000 2F61 0200000000000000 6869", about(StoreOperation::queue_push, "/a", "hi")},
        {"0F 0200000000000000 2F61", about(StoreOperation::queue_pop, "/a")},
        {"10 0200000000000000 2F61", about(StoreOperation::queue_len, "/a")},
        {"11", about(StoreOperation::list_keys)},
        {"12 0200000000000000 2F62 0100000000000000", with_integer(StoreOperation::barrier, "/b", 1)},
    };
}

const std::string kHello = hex("00 CEF7853C");

std::string old_bytes(const Example& example) { return hex(example.old_number) + hex(example.bytes).substr(1); }

TEST(TcpStoreDecoder, every_message_of_the_newest) {
    EXPECT_EQ(examples().size() + 1, 19U);  // and VALIDATE
    for (const Example& example : examples())
        EXPECT_EQ(decoded({kHello + hex(example.bytes)}), (Texts{text_of(example.request), "..."}));
}

TEST(TcpStoreDecoder, every_message_of_1_13) {
    int count = 0;
    for (const Example& example : examples()) {
        if (!*example.old_number) continue;
        ++count;
        EXPECT_EQ(decoded({old_bytes(example)}), (Texts{text_of(example.request), "..."}));
    }
    EXPECT_EQ(count, 8);  // WATCH_KEY is the ninth
}

TEST(TcpStoreDecoder, split_at_every_byte) {
    for (const Example& example : examples()) {
        const std::string bytes = kHello + hex(example.bytes) + hex("07");
        for (std::size_t at = 1; at < bytes.size(); ++at)
            EXPECT_EQ(decoded({bytes.substr(0, at), bytes.substr(at)}),
                      (Texts{text_of(example.request), text_of(about(StoreOperation::num_keys)), "..."}))
                << at;
    }
}

TEST(TcpStoreDecoder, split_at_every_byte_of_1_13) {
    for (const Example& example : examples()) {
        if (!*example.old_number) continue;
        const std::string bytes = old_bytes(example) + hex("06");
        for (std::size_t at = 1; at < bytes.size(); ++at)
            EXPECT_EQ(decoded({bytes.substr(0, at), bytes.substr(at)}),
                      (Texts{text_of(example.request), text_of(about(StoreOperation::num_keys)), "..."}))
                << at;
    }
}

TEST(TcpStoreDecoder, all_messages_at_once_and_byte_by_byte) {
    std::string bytes = kHello;
    Texts expected, single;
    for (const Example& example : examples()) {
        bytes += hex(example.bytes);
        expected.push_back(text_of(example.request));
    }
    expected.emplace_back("...");
    for (const char byte : bytes) single.emplace_back(1, byte);
    EXPECT_EQ(decoded({bytes}), expected);
    EXPECT_EQ(decoded(single), expected);
}

TEST(TcpStoreDecoder, requests_wait_until_the_caller_reads_them) {
    Decoder decoder;
    Request request;
    const std::string bytes = kHello + hex("0D 01000000 0D 02000000 0D 0300"), rest = hex("0000");
    decoder.feed(bytes);
    EXPECT_EQ(decoder.next(request), Decoder::Outcome::request);
    decoder.keep();
    EXPECT_EQ(decoder.pending(), 8U);
    decoder.feed(rest);
    EXPECT_EQ(decoder.next(request), Decoder::Outcome::request);
    EXPECT_EQ(request.integer, 2);
    EXPECT_EQ(decoder.next(request), Decoder::Outcome::request);
    EXPECT_EQ(request.integer, 3);
    EXPECT_EQ(decoder.next(request), Decoder::Outcome::more);
}

TEST(TcpStoreDecoder, the_first_message_determines_the_numbering) {
    const auto numbering = [](std::string_view first) {
        Decoder decoder;
        Request request;
        decoder.feed(first);
        [[maybe_unused]] const auto outcome = decoder.next(request);
        return decoder.numbering();
    };
    EXPECT_EQ(numbering(""), std::nullopt);
    EXPECT_EQ(numbering(hex("00")), std::nullopt);
    EXPECT_EQ(numbering(hex("00 CEF785")), std::nullopt);
    EXPECT_EQ(numbering(hex("00 CEF7853C")), Numbering::newest);
    EXPECT_EQ(numbering(hex("00 0200")), Numbering::torch_1_13);
    EXPECT_EQ(numbering(hex("06")), Numbering::torch_1_13);
    EXPECT_EQ(numbering(hex("03 05")), Numbering::torch_1_13);
}

TEST(TcpStoreDecoder, other_protocols_are_refused_at_their_first_byte) {
    for (const char* first : {"47", "16", "53", "FF", "09", "68"}) EXPECT_EQ(decoded({hex(first)}), Texts{"refused"});
}

TEST(TcpStoreDecoder, unknown_numbers_are_refused_after_earlier_messages) {
    for (const char* number : {"00", "13", "3F", "40", "FF"})
        EXPECT_EQ(decoded({kHello + hex("07") + hex(number)}),
                  (Texts{text_of(about(StoreOperation::num_keys)), "refused"}))
            << number;
    EXPECT_EQ(decoded({hex("06 07")}), (Texts{text_of(about(StoreOperation::num_keys)), "refused"}));  // WATCH_KEY
    EXPECT_EQ(decoded({hex("06 09")}), (Texts{text_of(about(StoreOperation::num_keys)), "refused"}));
}

TEST(TcpStoreDecoder, a_wrong_magic_is_refused_as_the_length_of_a_key) {
    EXPECT_EQ(decoded({hex("00 78563412")}), Texts{"..."});
    EXPECT_EQ(decoded({hex("00 78563412 0D010000")}), Texts{"refused"});
}

TEST(TcpStoreDecoder, extensions_only_where_they_are_wanted) {
    Request expected = about(StoreOperation::extension, "", "hi");
    expected.number = 0x41;
    const std::string bytes = kHello + hex("41 02000000 6869");
    EXPECT_EQ(decoded({bytes}), Texts{"refused"});
    EXPECT_EQ(decoded({bytes}, true), (Texts{text_of(expected), "..."}));
    for (std::size_t at = 1; at < bytes.size(); ++at)
        EXPECT_EQ(decoded({bytes.substr(0, at), bytes.substr(at)}, true), (Texts{text_of(expected), "..."}));
    EXPECT_EQ(decoded({hex("41 02000000 6869")}, true), Texts{"refused"});  // before VALIDATE
    EXPECT_EQ(decoded({kHello + hex("FF 01008000")}, true), Texts{"refused"});
}

TEST(TcpStoreDecoder, limits_are_refused_as_soon_as_the_length_is_known) {
    const struct {
        std::string before;
        std::uint64_t limit;
    } claims[] = {
        {hex("03"), kMaxKeyBytes},
        {hex("01 0100000000000000 6B"), kMaxValueBytes},
        {hex("02 0100000000000000 6B"), kMaxValueBytes},
        {hex("02 0100000000000000 6B 0000000000000000"), kMaxValueBytes},
        {hex("0E 0100000000000000 6B"), kMaxValueBytes},
        {hex("05"), kMaxKeys},
        {hex("06"), kMaxKeys},
        {hex("0A"), kMaxKeys},
        {hex("0B"), kMaxKeys},
        {hex("06 0200000000000000 0100000000000000 6B"), kMaxKeyBytes},
        {hex("0B 0100000000000000 0100000000000000 6B"), kMaxValueBytes},
        {hex("12"), kMaxKeyBytes},
    };
    for (const auto& [before, limit] : claims) {
        EXPECT_EQ(decoded({kHello + before + le64(limit)}), Texts{"..."});
        for (const std::uint64_t size : {limit + 1, std::uint64_t{1} << 32, std::uint64_t{1} << 63, ~std::uint64_t{0}})
            EXPECT_EQ(decoded({kHello + before + le64(size)}), Texts{"refused"});
    }
}

TEST(TcpStoreDecoder, a_key_and_a_value_of_the_longest) {
    const std::string key(kMaxKeyBytes, 'k'), value(kMaxValueBytes, 'v');
    std::string bytes = kHello;
    encode(about(StoreOperation::set, key, value), bytes);
    EXPECT_EQ(decoded({bytes}), (Texts{text_of(about(StoreOperation::set, key, value)), "..."}));
}

TEST(TcpStoreDecoder, lists_without_keys) {
    EXPECT_EQ(decoded({kHello + hex("05") + le64(0) + hex("0B") + le64(0)}),
              (Texts{text_of(about(StoreOperation::check)), text_of(about(StoreOperation::multi_set)), "..."}));
}

TEST(TcpStoreDecoder, a_message_that_grows_too_long_is_refused_by_its_next_claim) {
    // 1 + 8 bytes of MULTI_SET, then pairs of 8 + 1 and 8 + 100 bytes.
    const std::size_t limit = 9 + 3 * (9 + 108);
    const std::string value(100, 'v');
    for (const std::size_t values : {3U, 4U}) {
        Decoder decoder(Decoder::Takes::requests, limit);
        Request request;
        std::string bytes = kHello + hex("0B") + le64(values);
        for (std::size_t i = 0; i < values; ++i) {
            put_vector(bytes, "k");
            put_vector(bytes, value);
        }
        decoder.feed(std::string_view(bytes).substr(0, bytes.size() - value.size()));
        EXPECT_EQ(decoder.next(request), values == 3 ? Decoder::Outcome::more : Decoder::Outcome::refused);
    }
}

TEST(TcpStoreEncoder, every_message_in_both_numberings) {
    for (const Example& example : examples()) {
        std::string bytes;
        encode(example.request, bytes);
        EXPECT_EQ(bytes, hex(example.bytes));
        if (!*example.old_number) continue;
        bytes.clear();
        encode(example.request, bytes, Numbering::torch_1_13);
        EXPECT_EQ(bytes, old_bytes(example));
    }
    EXPECT_EQ(kGreeting, kHello);
}

}  // namespace
}  // namespace dlaunch::wire
