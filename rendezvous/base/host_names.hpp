#pragma once
/// Compares host names, which are case-insensitive (RFC 4343). No I/O.

#include <string>
#include <string_view>

namespace dlaunch::base {

/// A host name with its ASCII letters in lower case.
[[nodiscard]] std::string lower_name(std::string_view host);

/// Whether both name one host: equal, or equal up to a domain that only one of them has. A scheduler's node1 may have
/// the host name node1.cluster.
[[nodiscard]] bool is_same_host(std::string_view left, std::string_view right);

}  // namespace dlaunch::base
