#pragma once
/// Parses endpoints: the addresses of a coordinator as the user writes them. No I/O, no look-ups.

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

/// An endpoint and the address of its name.
struct ResolvedEndpoint {
    Endpoint endpoint;
    std::string address;  ///< numeric; empty: not resolved yet
    bool operator==(const ResolvedEndpoint&) const = default;
};

/// The members of an etcd cluster, and what its clients need.
struct EtcdPlace {
    static constexpr int kPort = 2379;

    std::vector<Endpoint> members;  ///< in the order given; empty: the endpoint is no etcd
    bool https = false;
    std::string authorities, certificate, key;  ///< files, for https; empty: the system's, none, in the certificate's
    std::string user;                           ///< NAME:PASSWORD, a secret; empty: etcd asks for none
    std::string prefix = "/dlaunch";            ///< of the keys
    bool operator==(const EtcdPlace&) const = default;
};

/// The value of --rdzv-endpoint: addresses in the order given, a shared folder, or an etcd.
struct Endpoints {
    std::vector<Endpoint> places;
    std::string folder;  ///< of file:///folder
    EtcdPlace etcd;      ///< of etcd://host:port
    bool operator==(const Endpoints&) const = default;
};

/// Whether the text is not empty and has only characters of host names and addresses.
[[nodiscard]] bool is_host(std::string_view text);

/// HOST, HOST:PORT, [IPV6]:PORT, several of them separated by commas, also after etcd://, or file:///FOLDER.
[[nodiscard]] base::Result<Endpoints> parse_endpoints(std::string_view text, int default_port);

}  // namespace dlaunch::rendezvous
