#pragma once
/// Addresses of connections as Gloo's ranks publish them. No I/O.
///
/// A rank has an address per other rank, and Gloo publishes them as one value: without its own, by rank, back to back.
/// Of each value a rank needs the one address that is meant for it.

#include <sys/socket.h>

#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace dlaunch::worker::gloo_backend {

/// Place of the address for rank `reader` in the value of rank `publisher`.
[[nodiscard]] inline std::size_t address_place(int publisher, int reader) {
    return static_cast<std::size_t>(reader > publisher ? reader - 1 : reader);
}

/// The addresses in a value of one of `size` ranks. Empty: it has another form, as later versions of Gloo publish; each
/// address begins with a `sockaddr`.
[[nodiscard]] inline std::vector<std::string_view> split_addresses(std::string_view all, int size) {
    const auto others = static_cast<std::size_t>(size - 1);
    if (others == 0 || all.empty() || all.size() % others != 0) return {};
    const std::size_t bytes = all.size() / others;
    std::vector<std::string_view> found;
    for (std::size_t at = 0; at < all.size(); at += bytes) {
        const std::string_view address = all.substr(at, bytes);
        sockaddr begin{};
        if (bytes < sizeof begin) return {};
        std::memcpy(&begin, address.data(), sizeof begin);
        if (begin.sa_family != AF_INET && begin.sa_family != AF_INET6) return {};
        found.push_back(address);
    }
    return found;
}

/// A value of `publisher` that has this address for `reader`, and zeros for all others.
[[nodiscard]] inline std::vector<char> value_with_address(std::string_view address, int publisher, int reader,
                                                          int size) {
    std::vector<char> value(address.size() * static_cast<std::size_t>(size - 1));
    std::memcpy(value.data() + address_place(publisher, reader) * address.size(), address.data(), address.size());
    return value;
}

}  // namespace dlaunch::worker::gloo_backend
