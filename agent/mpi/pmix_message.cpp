#include "agent/mpi/pmix_message.hpp"

#include <charconv>
#include <cstdint>
#include <cstring>

namespace dlaunch::agent {
namespace {

// A message is its length without these bytes, its kind, and for each field the field's length and bytes.
constexpr std::size_t kLengthBytes = sizeof(std::uint32_t);

void add_length(std::size_t length, std::string& to) {
    const auto number = static_cast<std::uint32_t>(length);
    char bytes[kLengthBytes];
    std::memcpy(bytes, &number, sizeof bytes);
    to.append(bytes, sizeof bytes);
}

/// The length at the front of `bytes`, which has to be long enough.
std::size_t length_at(std::string_view bytes) {
    std::uint32_t number = 0;
    std::memcpy(&number, bytes.data(), sizeof number);
    return number;
}

PmixMessage decode(std::string_view body) {
    PmixMessage message{static_cast<PmixMessage::Kind>(body[0]), {}};
    body.remove_prefix(1);
    while (body.size() >= kLengthBytes) {
        const std::string_view field = body.substr(kLengthBytes, length_at(body));
        message.fields.emplace_back(field);
        body.remove_prefix(kLengthBytes + field.size());
    }
    return message;
}

}  // namespace

const std::string& PmixMessage::text(std::size_t at) const {
    static const std::string kNone;
    return at < fields.size() ? fields[at] : kNone;
}

int PmixMessage::number(std::size_t at) const {
    int value = 0;
    const std::string& field = text(at);
    std::from_chars(field.data(), field.data() + field.size(), value);
    return value;
}

std::string encode(const PmixMessage& message) {
    std::string body(1, static_cast<char>(message.kind));
    for (const std::string& field : message.fields) {
        add_length(field.size(), body);
        body += field;
    }
    std::string bytes;
    add_length(body.size(), bytes);
    return bytes + body;
}

std::optional<PmixMessage> PmixMessages::next() {
    const std::string_view rest = std::string_view(bytes_).substr(at_);
    if (rest.size() < kLengthBytes + 1 || rest.size() - kLengthBytes < length_at(rest) || length_at(rest) == 0) {
        bytes_.erase(0, at_);
        at_ = 0;
        return std::nullopt;
    }
    const std::size_t length = length_at(rest);
    at_ += kLengthBytes + length;
    return decode(rest.substr(kLengthBytes, length));
}

}  // namespace dlaunch::agent
