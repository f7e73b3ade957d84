#include "rendezvous/wire/trunk.hpp"

#include <algorithm>
#include <cstring>

#include "rendezvous/wire/tcpstore.hpp"

namespace dlaunch::wire {
namespace {

using Kind = TrunkFrame::Kind;

constexpr std::size_t kNumberBytes = sizeof(std::uint32_t);

void put_head(std::string& out, Kind kind, std::size_t payload) {
    out += static_cast<char>(kind);
    put_u32(out, static_cast<std::uint32_t>(payload));
}

void put_bare(std::string& out, Kind kind, Channel channel) {
    put_head(out, kind, kNumberBytes);
    put_u32(out, channel);
}

std::uint32_t take_u32(std::string_view& bytes) {
    std::uint32_t number = 0;
    std::memcpy(&number, bytes.data(), sizeof number);
    bytes.remove_prefix(sizeof number);
    return number;
}

}  // namespace

bool is_of_trunk(std::uint8_t number) {
    return number >= static_cast<std::uint8_t>(Kind::hello) && number <= static_cast<std::uint8_t>(Kind::leave);
}

std::optional<TrunkFrame> decode_trunk(std::uint8_t number, std::string_view payload) {
    if (!is_of_trunk(number)) return std::nullopt;
    TrunkFrame frame;
    frame.kind = static_cast<Kind>(number);
    if (frame.kind != Kind::hello) {
        if (payload.size() < kNumberBytes) return std::nullopt;
        frame.channel = take_u32(payload);
    }
    switch (frame.kind) {
        case Kind::hello: frame.bytes = payload; return frame;
        case Kind::data:
            frame.bytes = payload;
            if (payload.empty() || payload.size() > kMostPiece) return std::nullopt;
            return frame;
        case Kind::close:
        case Kind::join:
        case Kind::leave: break;
        case Kind::credit:
            if (payload.size() != kNumberBytes) return std::nullopt;
            frame.credit = take_u32(payload);
            break;
    }
    if (!payload.empty()) return std::nullopt;
    return frame;
}

std::string trunk_key(std::string_view version, std::string_view job_id, int round) {
    std::string key;
    put_vector(key, version);
    put_vector(key, job_id);
    put_u32(key, static_cast<std::uint32_t>(round));
    return key;
}

void put_hello(std::string& out, std::string_view key) {
    put_head(out, Kind::hello, key.size());
    out += key;
}

void put_data(std::string& out, Channel channel, std::string_view bytes) {
    while (!bytes.empty()) {
        const auto piece = bytes.substr(0, kMostPiece);
        put_data_head(out, channel, piece.size());
        out += piece;
        bytes.remove_prefix(piece.size());
    }
}

void put_data_head(std::string& out, Channel channel, std::size_t size) {
    put_head(out, Kind::data, kNumberBytes + size);
    put_u32(out, channel);
}

void put_close(std::string& out, Channel channel) { put_bare(out, Kind::close, channel); }

void put_join(std::string& out, Channel channel) { put_bare(out, Kind::join, channel); }

void put_leave(std::string& out, Channel channel) { put_bare(out, Kind::leave, channel); }

void put_credit(std::string& out, Channel channel, std::uint32_t bytes) {
    put_head(out, Kind::credit, 2 * kNumberBytes);
    put_u32(out, channel);
    put_u32(out, bytes);
}

}  // namespace dlaunch::wire
