#pragma once
/// Limits on the resources that clients can make a server hold. Together they keep the process of an agent or a
/// coordinator below 64 MiB, beside the keys, values and queues of its workers.

#include <chrono>
#include <cstddef>
#include <optional>

#include "rendezvous/base/loop.hpp"

namespace dlaunch::store {

struct ServerLimits {
    /// Most half-open connections. At the limit the server accepts no more: new connections wait in the kernel's
    /// backlog, and none is closed to make room.
    std::size_t half_open = 1024;
    base::Duration half_open_time = std::chrono::seconds(10);
    /// The same while new connections wait. Real clients send their first message right after they connect.
    base::Duration hurried_half_open_time = std::chrono::seconds(3);
    /// Handshakes of TLS in progress, each with 44 KiB of memory; more wait unread. And the time for one.
    std::size_t handshakes = 256;
    base::Duration handshake_time = std::chrono::seconds(3);
    /// From a message's first byte to its last, while the server reads from that client.
    base::Duration message_time = std::chrono::seconds(10);

    /// A client with more unread replies than this is not served until it reads. One reply with a large value may
    /// exceed it.
    std::size_t unread_bytes = 256 << 10;

    /// Bytes of incomplete messages, unread replies and unanswered keys of all clients together. Beyond it, clients
    /// that hold more than kShare are served one at a time.
    std::size_t held_bytes = 8 << 20;
    /// Memory of pending WAITs and BARRIERs. A request beyond it closes its connection. Enough for the longest list of
    /// short keys.
    std::size_t pending_bytes = 20 << 20;
    /// Large values that were replaced while replies with them are unread. Beyond it, the clients that have not read
    /// for the longest time are closed.
    std::size_t retired_bytes = 12 << 20;

    /// Keys, values and queues together (Core::kept_bytes()). A request beyond the limit closes its connection. None:
    /// usual_kept_bytes(), far more than workers exchange in a store.
    std::optional<std::size_t> kept_bytes;
    /// The same while no requests are expected.
    std::size_t unexpected_kept_bytes = 1 << 20;

    /// Descriptors that connections must leave free, for starting workers. None: a quarter of the process's limit, at
    /// most 4096.
    std::optional<std::size_t> spare_descriptors;
    /// Longest payload of an extension message before its client is admitted: a Hello is short.
    std::size_t first_payload_bytes = 64 << 10;
};

}  // namespace dlaunch::store
