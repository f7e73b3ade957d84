#include "launcher/cli/endpoint.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "launcher/cli/values.hpp"
#include "launcher/cli/words.hpp"

namespace dlaunch::launcher {
namespace {

using base::Error;
using base::Result;

bool is_host(std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               std::string_view(".-_:%").find(c) != std::string_view::npos;
    });
}

std::optional<Endpoint> endpoint(std::string_view text) {
    text = trimmed(text);
    std::string_view host = text, port;
    bool brackets = text.starts_with('[');
    if (brackets) {
        std::size_t end = text.find(']');
        if (end == std::string_view::npos) return std::nullopt;
        host = text.substr(1, end - 1);
        port = text.substr(end + 1);
        if (!port.empty() && port[0] != ':') return std::nullopt;
    } else if (std::size_t colon = text.find(':'); colon != std::string_view::npos) {
        host = text.substr(0, colon);
        port = text.substr(colon);
        if (port.find(':', 1) != std::string_view::npos)
            return std::nullopt;  // IPv6 needs brackets: where would its port begin?
    }
    if (!is_host(host)) return std::nullopt;
    Endpoint found{std::string(host), std::nullopt};
    if (port.empty()) return found;
    auto number = whole_number(port.substr(1), 0, 65535);
    if (!number) return std::nullopt;
    found.port = static_cast<int>(*number);
    return found;
}

bool is_a_time(std::string_view key) {
    static constexpr std::string_view kTimes[] = {
        "join_timeout",        "last_call_timeout", "close_timeout", "heartbeat_timeout",
        "keep_alive_interval", "read_timeout",      "timeout"};
    return std::ranges::find(kTimes, key) != std::end(kTimes);
}

}  // namespace

Result<std::vector<Endpoint>> parse_endpoints(std::string_view text) {
    std::vector<Endpoint> found;
    for (std::string_view part : split(text, ',')) {
        auto one = endpoint(part);
        if (!one) return Error{"expected HOST, HOST:PORT or [IPV6]:PORT, or several separated by commas"};
        found.push_back(std::move(*one));
    }
    return found;
}

Result<std::string> parse_host(std::string_view text) {
    std::string_view host = trimmed(text);
    if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
    if (!is_host(host)) return Error{"expected a host name or address"};
    return text_result(std::string(host));
}

Result<std::string> parse_backend(std::string_view text) {
    std::string_view name = trimmed(text);
    if (name == "static" || name == "c10d") return text_result(std::string(name));
    if (name == "etcd" || name == "etcd-v2")
        return Error{"expected c10d or static; torchrun's etcd backends are not served, c10d needs no etcd"};
    return Error{"expected c10d or static"};
}

Result<std::map<std::string, std::string>> parse_rdzv_conf(std::string_view text) {
    std::map<std::string, std::string> pairs;
    if (trimmed(text).empty()) return pairs;
    for (std::string_view part : split(text, ',')) {
        std::size_t equals = part.find('=');
        std::string_view key = trimmed(part.substr(0, equals));
        std::string_view value =
            equals == std::string_view::npos ? std::string_view() : trimmed(part.substr(equals + 1));
        if (key.empty() || value.empty()) return Error{"expected KEY=VALUE,KEY=VALUE"};
        if (is_a_time(key) && !parse_seconds(value))
            return Error{fmt::format("expected a number of seconds from 0 for {}", key)};
        if (key == "keep_alive_max_attempt" && !whole_number(value, 1, 1'000'000))
            return Error{fmt::format("expected a number from 1 for {}", key)};
        pairs[std::string(key)] = std::string(value);
    }
    return pairs;
}

}  // namespace dlaunch::launcher
