#include "launcher/hosts/host_list.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <unordered_set>

#include "launcher/hosts/host_pattern.hpp"
#include "rendezvous/base/text.hpp"

namespace dlaunch::launcher {
namespace {

using base::Error;
using base::Result;

/// Calls `take` for each part of a text between commas that are in no brackets.
template <class Take>
Result<void> for_each_item(std::string_view text, Take take) {
    bool inside = false;
    std::size_t begin = 0;
    for (std::size_t at = 0; at < text.size(); ++at) {
        if (text[at] == '[') inside = true;
        if (text[at] == ']') inside = false;
        if (text[at] != ',' || inside) continue;
        if (auto done = take(text.substr(begin, at - begin)); !done) return done;
        begin = at + 1;
    }
    return take(text.substr(begin));
}

/// Whether a text is an IPv6 address, with a zone or without.
bool is_ipv6(std::string_view text) {
    const std::size_t zone = std::min(text.find('%'), text.size());
    const std::string address(text.substr(0, zone));
    in6_addr ignored{};
    return text.size() <= kMostHostNameBytes && address.find('\0') == address.npos &&
           inet_pton(AF_INET6, address.c_str(), &ignored) == 1 &&
           (zone == text.size() || is_host_name(text.substr(zone + 1)));
}

/// The length of "[ADDRESS]" at the beginning of a text if that is an IPv6 address; else 0.
std::size_t bracketed_address(std::string_view text) {
    const std::size_t close = text.find(']');
    if (!text.starts_with('[') || close == text.npos || !is_ipv6(text.substr(1, close - 1))) return 0;
    return close + 1;
}

Result<void> add_item(std::string_view item, std::vector<HostEntry>& hosts) {
    const std::string_view given = base::trimmed(item);
    if (given.empty())
        return Error{"an empty name, expected host names with commas between them, as node[01-03,7],login"};
    const std::size_t at = given.find('@');
    const std::string_view user = at == given.npos ? std::string_view() : given.substr(0, at);
    const std::string_view rest = at == given.npos ? given : given.substr(at + 1);
    if (is_ipv6(rest))
        return Error{fmt::format("{}: an IPv6 address, expected it in brackets: [{}]", shown_pattern(given), rest)};
    const HostItem parts = cut_slots(rest);
    if (parts.host.empty() || (at != given.npos && !is_host_name(user)))
        return Error{fmt::format("{}: expected HOST, USER@HOST, HOST:SLOTS or USER@HOST:SLOTS", shown_pattern(given))};
    const std::optional<int> slots = parse_slots(parts.slots.value_or(""));
    if (parts.slots && !slots)
        return Error{fmt::format("{}: expected HOST:SLOTS with a number of slots from 1 to {}", shown_pattern(given),
                                 kMostSlots)};
    auto names = expand_host(parts.host, kMostHosts - hosts.size());
    if (!names) return names.error();
    for (std::string& name : *names) hosts.push_back({std::move(name), std::string(user), slots});
    return {};
}

}  // namespace

std::string HostEntry::text() const {
    const bool has_colon = name.find(':') != name.npos;
    return fmt::format("{}{}{}{}{}{}", user, user.empty() ? "" : "@", has_colon ? "[" : "", name, has_colon ? "]" : "",
                       slots ? fmt::format(":{}", *slots) : std::string());
}

Result<std::vector<HostEntry>> parse_host_list(std::string_view text) {
    std::vector<HostEntry> hosts;
    auto done = for_each_item(text, [&](std::string_view item) { return add_item(item, hosts); });
    if (!done) return done.error();
    return hosts;
}

Result<std::vector<std::string>> parse_host_names(std::string_view text) {
    auto hosts = parse_host_list(text);
    if (!hosts) return hosts.error();
    std::vector<std::string> names;
    for (HostEntry& host : *hosts) names.push_back(std::move(host.name));
    return names;
}

const HostEntry* repeated_host(const std::vector<HostEntry>& hosts) {
    std::unordered_set<std::string_view> names;
    for (const HostEntry& host : hosts)
        if (!names.insert(host.name).second) return &host;
    return nullptr;
}

HostItem cut_slots(std::string_view text) {
    std::size_t colon = bracketed_address(text);
    for (bool inside = false; colon < text.size() && (inside || text[colon] != ':'); ++colon) {
        if (text[colon] == '[') inside = true;
        if (text[colon] == ']') inside = false;
    }
    if (colon == text.size()) return {text, std::nullopt};
    return {text.substr(0, colon), text.substr(colon + 1)};
}

Result<std::vector<std::string>> expand_host(std::string_view host, std::size_t most) {
    if (bracketed_address(host) != host.size()) return expand_host_pattern(host, most);
    return std::vector{std::string(host.substr(1, host.size() - 2))};
}

std::optional<int> parse_slots(std::string_view text) {
    int slots = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), slots);
    if (error != std::errc() || end != text.data() + text.size() || slots < 1 || slots > kMostSlots)
        return std::nullopt;
    return slots;
}

}  // namespace dlaunch::launcher
