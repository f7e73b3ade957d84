#include "rendezvous/net/refusal.hpp"

#include <fmt/format.h>

#include <optional>

#include "rendezvous/net/probe.hpp"
#include "rendezvous/wire/rounds.hpp"

namespace dlaunch::rendezvous {
namespace {

/// A coordinator without a token answers in plain.
std::optional<std::string> refusal_in_plain(const std::string& bytes) {
    wire::FrameReader reader;
    reader.feed(bytes);
    Message message;
    if (reader.next(message) != wire::FrameReader::Outcome::message) return std::nullopt;
    const auto* refused = std::get_if<Refused>(&message);
    return refused ? std::optional(refused->reason) : std::nullopt;
}

}  // namespace

Refusal refusal_of(const net::Stream& stream) {
    using Failure = auth::Tls::Failure;
    switch (stream.why()) {
        case Failure::none: return {};
        case Failure::other_key:
            return {true, "the job there has another token, expected --token-file with the token of that job"};
        case Failure::no_key: return {false, "it speaks TLS, and does not know the token of a job"};
        case Failure::version: return {false, "it speaks another version of TLS"};
        case Failure::certificate:
        case Failure::garbage: break;
    }
    if (auto reason = refusal_in_plain(stream.first_bytes())) return {true, std::move(*reason)};
    return {false, describe_foreign_service(stream.first_bytes())};
}

}  // namespace dlaunch::rendezvous
