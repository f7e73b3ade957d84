#pragma once
/// Helpers of the protocol's tests: bytes as hexadecimal text, and requests as text.

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

#include "rendezvous/wire/tcpstore.hpp"

namespace dlaunch::wire {

/// "01 0200" -> the bytes 01 02 00. Blanks are ignored.
inline std::string hex(std::string_view text) {
    std::string bytes, digits;
    for (const char c : text) {
        if (c == ' ') continue;
        digits += c;
        if (digits.size() < 2) continue;
        bytes += static_cast<char>(std::stoi(digits, nullptr, 16));
        digits.clear();
    }
    return bytes;
}

inline std::string le64(std::uint64_t number) {
    std::string bytes;
    put_u64(bytes, number);
    return bytes;
}

inline Request about(StoreOperation operation, std::string_view key = {}, std::string_view value = {},
                     std::string_view desired = {}) {
    Request request;
    request.operation = operation;
    request.key = key;
    request.value = value;
    request.desired = desired;
    return request;
}

/// The request of a step of a property test, whose keys are letters; `words` must outlive it.
inline Request request_of(const auto& step, std::vector<std::string_view>& words) {
    Request request = about(step.operation, std::string_view(step.keys).substr(0, 1), step.value, step.desired);
    request.integer = step.integer;
    for (std::size_t i = 0; i < step.keys.size(); ++i) {
        words.push_back(std::string_view(step.keys).substr(i, 1));
        if (step.operation == StoreOperation::multi_set) words.push_back(step.value);
    }
    request.words = words;
    return request;
}

inline Request with_integer(StoreOperation operation, std::string_view key, std::int64_t integer) {
    Request request = about(operation, key);
    request.integer = integer;
    return request;
}

inline Request with_words(StoreOperation operation, std::span<const std::string_view> words) {
    Request request;
    request.operation = operation;
    request.words = words;
    return request;
}

/// The content of a request: "1 key=/a value=x desired= integer=0 words=".
inline std::string text_of(const Request& request) {
    std::string text =
        fmt::format("{} key={} value={} desired={} integer={} words=", static_cast<int>(request.operation), request.key,
                    request.value, request.desired, request.integer);
    for (const auto word : request.words) text += fmt::format("{};", word);
    if (request.operation == StoreOperation::extension) text += fmt::format(" number={}", request.number);
    return text;
}

/// The decoder's output for pieces of bytes, one after the other; "..." for an incomplete request, or "refused".
inline std::vector<std::string> decoded(const std::vector<std::string>& pieces, bool extensions = false) {
    Decoder decoder(extensions ? Decoder::Takes::both : Decoder::Takes::requests);
    std::vector<std::string> texts;
    Request request;
    auto outcome = Decoder::Outcome::more;
    for (const auto& piece : pieces) {
        const std::string own = piece;  // gone after keep()
        decoder.feed(own);
        while ((outcome = decoder.next(request)) == Decoder::Outcome::request) texts.push_back(text_of(request));
        decoder.keep();
        if (outcome == Decoder::Outcome::refused) break;
    }
    texts.emplace_back(outcome == Decoder::Outcome::refused ? "refused" : "...");
    return texts;
}

}  // namespace dlaunch::wire
