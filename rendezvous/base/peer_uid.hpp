#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

namespace dlaunch::base {

/// The user of the process at the other end of an accepted TCP connection over loopback, from the kernel's table of
/// sockets. None: the peer has closed, or is on another host.
[[nodiscard]] std::optional<uid_t> peer_uid(int socket);

/// The same from the tables in /proc, below `root` for tests.
[[nodiscard]] std::optional<uid_t> peer_uid_in_tables(int socket, const std::string& root = "");

}  // namespace dlaunch::base
