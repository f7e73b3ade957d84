#pragma once
/// What strangers can make a server hold: everything has a bound, and together the bounds keep the process of an agent
/// or a coordinator below 64 MiB. Not bounded are the values under keys, which honest workers store.

#include <chrono>
#include <cstddef>
#include <optional>

#include "rendezvous/base/loop.hpp"

namespace dlaunch::store {

struct ServerLimits {
    /// Connections whose client has not shown that it belongs here. No more are accepted meanwhile: newcomers wait in
    /// the kernel's backlog, and no connection is closed to make room.
    std::size_t half_open = 1024;
    base::Duration half_open_time = std::chrono::seconds(10);
    /// The same while newcomers wait. Honest clients send their first message with the connection.
    base::Duration hurried_half_open_time = std::chrono::seconds(3);
    /// From a message's first byte to its last, while the server reads from that client.
    base::Duration message_time = std::chrono::seconds(10);

    /// A client with more unread replies than this is not served until it reads. A reply of one value may go over it.
    std::size_t unread_bytes = 256 << 10;

    /// Bytes of incomplete messages, of unread replies and of unanswered keys, of all clients together. Beyond it,
    /// clients that hold more than kShare are read from one after the other.
    std::size_t held_bytes = 8 << 20;
    /// Memory of pending WAITs and BARRIERs. A request that would take more ends its connection. Enough for the longest
    /// list of short keys.
    std::size_t pending_bytes = 20 << 20;
    /// Large values that were replaced while clients had not read them yet. Beyond it, the clients that have not read
    /// for the longest time are closed.
    std::size_t retired_bytes = 12 << 20;

    /// Descriptors of the process that connections must leave free, for workers to be started. None: a quarter of what
    /// the process may have, at most 4096.
    std::optional<std::size_t> spare_descriptors;
    /// Payload of a message from 0x40 up before its client is admitted: greetings are short.
    std::size_t first_payload_bytes = 64 << 10;
};

}  // namespace dlaunch::store
