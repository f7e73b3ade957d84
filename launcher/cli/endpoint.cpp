#include "launcher/cli/endpoint.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "launcher/cli/values.hpp"
#include "launcher/cli/words.hpp"
#include "rendezvous/discovery/endpoint.hpp"

namespace dlaunch::launcher {
namespace {

using base::Error;
using base::Result;

bool is_a_time(std::string_view key) {
    static constexpr std::string_view kTimes[] = {
        "join_timeout",        "last_call_timeout", "close_timeout", "heartbeat_timeout",
        "keep_alive_interval", "read_timeout",      "timeout"};
    return std::ranges::find(kTimes, key) != std::end(kTimes);
}

}  // namespace

Result<std::string> parse_host(std::string_view text) {
    std::string_view host = trimmed(text);
    if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
    if (!rendezvous::is_host(host)) return Error{"expected a host name or address"};
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
