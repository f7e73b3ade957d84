#include "rendezvous/net/endpoint.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include "rendezvous/base/address.hpp"
#include "rendezvous/base/text.hpp"

namespace dlaunch::rendezvous {
namespace {

constexpr std::string_view kFolder = "file://", kEtcd = "etcd://";

std::optional<int> port_of(std::string_view text) {
    int port = -1;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
    if (error != std::errc() || end != text.data() + text.size() || port < 0 || port > 65'535) return std::nullopt;
    return port;
}

std::optional<Endpoint> parse_one(std::string_view text, int default_port) {
    std::string_view host = text, rest;
    if (text.starts_with('[')) {
        const std::size_t end = text.find(']');
        if (end == std::string_view::npos) return std::nullopt;
        host = text.substr(1, end - 1);
        rest = text.substr(end + 1);
    } else if (const std::size_t colon = text.find(':'); colon != std::string_view::npos) {
        if (text.find(':', colon + 1) != std::string_view::npos) return std::nullopt;  // IPv6 without brackets
        host = text.substr(0, colon);
        rest = text.substr(colon);
    }
    if (!is_host(host)) return std::nullopt;
    if (rest.empty()) return Endpoint{std::string(host), default_port};
    const auto port = rest.starts_with(':') ? port_of(rest.substr(1)) : std::nullopt;
    if (!port) return std::nullopt;
    return Endpoint{std::string(host), *port};
}

}  // namespace

bool is_host(std::string_view text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               std::string_view(".-_:%").find(c) != std::string_view::npos;
    });
}

std::string Endpoint::text() const { return base::endpoint_text(host, port); }

base::Result<Endpoints> parse_endpoints(std::string_view text, int default_port) {
    Endpoints found;
    if (text.starts_with(kFolder)) {
        found.folder = text.substr(kFolder.size());
        if (!found.folder.starts_with('/'))
            return base::Error{"expected file:///FOLDER, the full path of a folder that all nodes share"};
        return found;
    }
    const bool is_etcd = text.starts_with(kEtcd);
    if (is_etcd) text.remove_prefix(kEtcd.size());
    std::vector<Endpoint>& places = is_etcd ? found.etcd.members : found.places;
    for (std::size_t at = 0; at <= text.size();) {
        const std::size_t end = std::min(text.find(',', at), text.size());
        auto one = parse_one(base::trimmed(text.substr(at, end - at)), is_etcd ? EtcdPlace::kPort : default_port);
        if (!one)
            return base::Error{is_etcd ? "expected etcd://HOST:PORT, several HOST:PORT separated by commas"
                                       : "expected HOST, HOST:PORT or [IPV6]:PORT, several separated by commas, "
                                         "etcd://HOST:PORT or file:///FOLDER"};
        places.push_back(std::move(*one));
        at = end + 1;
    }
    return found;
}

}  // namespace dlaunch::rendezvous
