// Properties for any bytes: splits have no effect, decoding inverts encoding, garbage is refused or incomplete.

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "rendezvous/wire/tcpstore.hpp"
#include "tests/unit/rendezvous/wire/tcpstore_fixture.hpp"

namespace dlaunch::wire {
namespace {

/// A request with the bytes of its views.
struct Owned {
    StoreOperation operation;
    std::vector<std::string> texts;
    std::int64_t integer;
    std::uint8_t number;
};

bool is_list(StoreOperation operation) {
    return operation == StoreOperation::check || operation == StoreOperation::wait ||
           operation == StoreOperation::multi_get || operation == StoreOperation::multi_set;
}

rc::Gen<Owned> any_request(std::vector<StoreOperation> operations) {
    return rc::gen::mapcat(rc::gen::elementOf(std::move(operations)), [](StoreOperation operation) {
        const std::size_t texts = is_list(operation) ? 6 : 3;
        return rc::gen::apply(
            [operation](std::vector<std::string> words, std::int64_t integer, std::uint8_t number) {
                return Owned{operation, std::move(words), integer, number};
            },
            rc::gen::container<std::vector<std::string>>(texts,
                                                         rc::gen::container<std::string>(rc::gen::arbitrary<char>())),
            rc::gen::arbitrary<std::int64_t>(), rc::gen::inRange<std::uint8_t>(0x40, 0xFF));
    });
}

/// The request after encoding and decoding: members that are not encoded are empty.
std::string encoded(const Owned& owned, Numbering numbering) {
    Request request = about(owned.operation, owned.texts[0], owned.texts[1], owned.texts[2]);
    request.integer = owned.integer;
    request.number = owned.number;
    const std::vector<std::string_view> words(owned.texts.begin(), owned.texts.end());
    request.words = words;
    std::string bytes;
    encode(request, bytes, numbering);
    return bytes;
}

std::vector<StoreOperation> all_operations() {
    std::vector<StoreOperation> all;
    for (int number = 1; number <= static_cast<int>(StoreOperation::barrier); ++number)
        all.push_back(static_cast<StoreOperation>(number));
    all.push_back(StoreOperation::extension);
    return all;
}

const std::vector<StoreOperation> kOld{StoreOperation::set,      StoreOperation::compare_set, StoreOperation::get,
                                       StoreOperation::add,      StoreOperation::check,       StoreOperation::wait,
                                       StoreOperation::num_keys, StoreOperation::delete_key};

/// `bytes` cut at random places.
std::vector<std::string> cut(const std::string& bytes) {
    std::vector<std::string> pieces;
    for (std::size_t at = 0; at < bytes.size();) {
        const auto size = *rc::gen::inRange<std::size_t>(1, bytes.size() - at + 1);
        pieces.push_back(bytes.substr(at, size));
        at += size;
    }
    return pieces;
}

/// Decodes and encodes again.
std::string there_and_back(const std::vector<std::string>& pieces, Numbering numbering) {
    Decoder decoder(Decoder::Takes::both);
    std::string again;
    Request request;
    for (const auto& piece : pieces) {
        decoder.feed(piece);
        while (decoder.next(request) == Decoder::Outcome::request) encode(request, again, numbering);
        decoder.keep();
    }
    return again;
}

RC_GTEST_PROP(TcpStoreProperties, decode_reverses_encode_for_any_cuts, ()) {
    std::string bytes;
    for (const auto& owned : *rc::gen::container<std::vector<Owned>>(any_request(all_operations())))
        bytes += encoded(owned, Numbering::newest);
    RC_ASSERT(there_and_back(cut(std::string(kGreeting) + bytes), Numbering::newest) == bytes);
}

RC_GTEST_PROP(TcpStoreProperties, decode_reverses_encode_in_the_old_numbering, ()) {
    std::string bytes;
    for (const auto& owned : *rc::gen::container<std::vector<Owned>>(any_request(kOld)))
        bytes += encoded(owned, Numbering::torch_1_13);
    RC_ASSERT(there_and_back(cut(bytes), Numbering::torch_1_13) == bytes);
}

RC_GTEST_PROP(TcpStoreProperties, cuts_do_not_change_the_result_for_garbage, (bool hello, bool extensions)) {
    const auto small = rc::gen::oneOf(rc::gen::inRange<char>(0, 20), rc::gen::just('\0'), rc::gen::arbitrary<char>());
    const auto noise = *rc::gen::container<std::string>(small);
    const std::string bytes = (hello ? std::string(kGreeting) : std::string()) + noise;
    RC_ASSERT(decoded(cut(bytes), extensions) == decoded({bytes}, extensions));
}

RC_GTEST_PROP(TcpStoreProperties, a_cut_message_waits_for_its_rest, ()) {
    const std::string bytes = std::string(kGreeting) + encoded(*any_request(all_operations()), Numbering::newest);
    const auto size = *rc::gen::inRange<std::size_t>(0, bytes.size());
    RC_ASSERT(decoded(cut(bytes.substr(0, size)), true) == std::vector<std::string>{"..."});
}

}  // namespace
}  // namespace dlaunch::wire
