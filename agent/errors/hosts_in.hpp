#pragma once
/// Finds the words of a message that may name a host: "Connection closed by peer [10.0.0.3]:4711", "recv from
/// node3<41823> failed". The coordinator, which has the job's hosts, decides whether a word is one of
/// them. No I/O.

#include <string>
#include <string_view>
#include <vector>

namespace dlaunch::agent {

/// Addresses, words before a port, words after "host", "node", "peer" or "server", and words with letters and digits;
/// in their order, each once.
[[nodiscard]] std::vector<std::string> hosts_in(std::string_view message);

}  // namespace dlaunch::agent
