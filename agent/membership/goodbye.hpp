#pragma once
/// The guard's good-bye on a connection to the coordinator, in place of an agent that has died.

#include <string>

#include "rendezvous/wire/messages.hpp"

namespace dlaunch::agent {

struct Goodbye {
    std::string gone, returns;           ///< bytes for the guard, equally long: no agent follows, or another one does
    rendezvous::GoodbyeHashes hashes{};  ///< for the coordinator
};

/// In plain the bytes are messages. Inside TLS only the agent can seal messages, so they are secrets of this
/// connection.
[[nodiscard]] Goodbye make_goodbye(bool inside_tls);

}  // namespace dlaunch::agent
