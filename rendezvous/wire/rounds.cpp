#include "rendezvous/wire/rounds.hpp"

#include <concepts>
#include <utility>

#include "rendezvous/wire/rounds_checks.hpp"
#include "rendezvous/wire/rounds_fields.hpp"

namespace dlaunch::wire {
namespace {

constexpr std::uint8_t kFirstNumber = 0x40;
constexpr std::size_t kFrameHead = 5;

template <class T>
std::optional<r::Message> read_as(std::string_view payload) {
    constexpr bool kMayBeLonger = std::same_as<T, r::Hello> || std::same_as<T, r::Refused>;
    T message;
    Reader reader(payload);
    reader(message);
    if (!reader.good() || !(reader.at_end() || kMayBeLonger) || !sane(message)) return std::nullopt;
    return message;
}

template <std::size_t... Places>
std::optional<r::Message> read_place(std::size_t place, std::string_view payload, std::index_sequence<Places...>) {
    std::optional<r::Message> message;
    ((place == Places ? void(message = read_as<std::variant_alternative_t<Places, r::Message>>(payload)) : void()),
     ...);
    return message;
}

}  // namespace

std::string encode(const r::Message& message) {
    std::string frame(kFrameHead, '\0');
    Writer writer(frame);
    std::visit([&](const auto& alternative) { writer(alternative); }, message);
    const auto size = static_cast<std::uint32_t>(frame.size() - kFrameHead);
    frame[0] = static_cast<char>(kFirstNumber + message.index());
    for (std::size_t byte = 0; byte < 4; ++byte) frame[1 + byte] = static_cast<char>(size >> (8 * byte) & 0xFF);
    return frame;
}

std::string encode(const r::Snapshot& snapshot) {
    std::string bytes;
    Writer writer(bytes);
    writer(snapshot);
    return bytes;
}

std::optional<r::Snapshot> decode_snapshot(std::string_view bytes) {
    r::Snapshot snapshot;
    Reader reader(bytes);
    reader(snapshot);
    if (!reader.good() || !reader.at_end() || !sane(snapshot)) return std::nullopt;
    return snapshot;
}

std::optional<r::Message> decode(std::uint8_t number, std::string_view payload) {
    if (number < kFirstNumber) return std::nullopt;
    return read_place(number - std::size_t{kFirstNumber}, payload,
                      std::make_index_sequence<std::variant_size_v<r::Message>>());
}

void FrameReader::feed(std::string_view bytes) {
    frames_.feed(bytes);
    frames_.keep();
}

FrameReader::Outcome FrameReader::next(r::Message& message) {
    if (refused_) return Outcome::refused;
    Frame frame;
    const auto outcome = frames_.next(frame);
    if (outcome == Frames::Outcome::more) return Outcome::more;
    auto read = outcome == Frames::Outcome::frame ? decode(frame.number, frame.payload) : std::nullopt;
    refused_ = !read;
    if (refused_) return Outcome::refused;
    message = std::move(*read);
    return Outcome::message;
}

}  // namespace dlaunch::wire
