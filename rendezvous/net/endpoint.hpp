#pragma once
/// Where a coordinator may be, as the user writes it. No I/O, no look-ups.

#include <string>
#include <string_view>
#include <vector>

#include "rendezvous/base/result.hpp"

namespace dlaunch::rendezvous {

struct Endpoint {
    std::string host;  ///< without brackets
    int port = 0;
    bool operator==(const Endpoint&) const = default;

    /// "node1:29400", "[::1]:29400".
    [[nodiscard]] std::string text() const;
};

/// An endpoint, and what its name stands for.
struct Place {
    Endpoint endpoint;
    std::string address;  ///< numeric; empty: not known yet
    bool operator==(const Place&) const = default;
};

/// What --rdzv-endpoint names: places in the order given, or a folder that all nodes share.
struct Endpoints {
    std::vector<Endpoint> places;
    std::string folder;  ///< of file:///folder
    bool operator==(const Endpoints&) const = default;
};

/// Characters that a host name or address may have, and no others; not empty.
[[nodiscard]] bool is_host(std::string_view text);

/// HOST, HOST:PORT, [IPV6]:PORT, several of them separated by commas, or file:///FOLDER.
[[nodiscard]] base::Result<Endpoints> parse_endpoints(std::string_view text, int default_port);

}  // namespace dlaunch::rendezvous
