#pragma once
/// The PMIx server of one node in one round: a process of its own, because libpmix has threads, descriptors and memory
/// of its own, and a crash in it must not take the agent along.
///
/// The agent starts `dlaunch pmix-server` with a socket as standard input (pmix_message.hpp). The library serves the
/// ranks at a socket of its own; what reaches beyond the node goes through the agent to the round's store.

namespace dlaunch::agent {

/// Name of the command, also in the lists of processes.
inline constexpr const char* kPmixServerCommand = "pmix-server";
/// The name of all versions since PMIx 2.
inline constexpr const char* kPmixLibrary = "libpmix.so.2";

/// Runs until the agent closes the socket. Returns the process's exit status.
[[nodiscard]] int run_pmix_server();

}  // namespace dlaunch::agent
