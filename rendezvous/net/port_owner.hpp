#pragma once

#include <string>

namespace dlaunch::rendezvous {

/// The process that listens at a TCP port of this host, "python3 (pid 4711)"; empty: none is found, or it is another
/// user's. Reads /proc/net/tcp and the descriptors in /proc (proc(5)): on a large host for some milliseconds.
[[nodiscard]] std::string port_owner(int port);

/// An error of bind(2), with the owner where the port is in use: "...: Address already in use, by python3 (pid 4711)".
[[nodiscard]] std::string with_port_owner(const std::string& error, int port);

}  // namespace dlaunch::rendezvous
