#pragma once
/// Connections to numeric addresses by a deadline.

#include <sys/socket.h>

#include "rendezvous/base/fd.hpp"
#include "rendezvous/base/loop.hpp"

namespace dlaunch::base {

/// Waits until the socket is ready for `events` of poll(); false: the deadline passed. Signals do not interrupt the
/// wait.
[[nodiscard]] bool await_ready(int socket, short events, Time deadline);

/// Makes `socket` a non-blocking connection with TCP_NODELAY. Returns 0 or an errno.
[[nodiscard]] int connect_by(UniqueFd& socket, const sockaddr* address, socklen_t size, Time deadline);

}  // namespace dlaunch::base
