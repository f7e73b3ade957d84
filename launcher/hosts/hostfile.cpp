#include "launcher/hosts/hostfile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "launcher/hosts/host_pattern.hpp"
#include "rendezvous/base/text.hpp"

namespace dlaunch::launcher {
namespace {

using base::Error;
using base::Result;

constexpr std::string_view kBlanks = " \t\r\v\f";

/// The line without blanks around `=`, which Open MPI permits.
std::string with_joined_settings(std::string_view line) {
    std::string joined;
    for (std::size_t at = 0; at < line.size();) {
        const std::size_t next = std::min(line.find_first_not_of(kBlanks, at), line.size());
        const bool is_beside = (next < line.size() && line[next] == '=') || joined.ends_with('=');
        if (!is_beside) joined += line.substr(at, next - at);
        const std::size_t end = std::min(next + 1, line.size());
        joined += line.substr(next, end - next);
        at = end;
    }
    return joined;
}

/// Words between blanks.
std::vector<std::string_view> words_of(std::string_view line) {
    std::vector<std::string_view> words;
    for (std::size_t begin = 0; (begin = line.find_first_not_of(kBlanks, begin)) != line.npos;) {
        const std::size_t end = std::min(line.find_first_of(kBlanks, begin), line.size());
        words.push_back(line.substr(begin, end - begin));
        begin = end;
    }
    return words;
}

Result<int> slots_of(std::string_view word) {
    constexpr std::string_view kSlots = "slots=";
    const auto slots = word.starts_with(kSlots) ? parse_slots(word.substr(kSlots.size())) : std::nullopt;
    if (slots) return *slots;
    if (word.starts_with("binding="))  // of Hydra
        return Error{
            fmt::format("{}, expected slots=N or nothing after the host: --bind binds workers", shown_pattern(word))};
    return Error{fmt::format("{}, expected slots=N with N from 1 to {} after the host, or nothing", shown_pattern(word),
                             kMostSlots)};
}

/// Open MPI's bound for oversubscription: slots are never exceeded here.
std::optional<int> max_slots_of(std::string_view word) {
    for (const std::string_view name : {"max_slots=", "max-slots="})
        if (word.starts_with(name)) return parse_slots(word.substr(name.size()));
    return std::nullopt;
}

/// The hosts of one line; none: it has no words.
Result<std::vector<HostEntry>> hosts_of(std::string_view line) {
    const std::string joined = with_joined_settings(line.substr(0, line.find('#')));
    auto words = words_of(joined);
    if (words.empty()) return std::vector<HostEntry>();
    auto hosts = parse_host_list(words[0]);
    if (!hosts || words.size() == 1) return hosts;
    if (max_slots_of(words[1])) {
        if (words.size() == 2) return hosts;
        std::swap(words[1], words[2]);
    }
    const auto slots = slots_of(words[1]);
    if (!slots) return slots.error();
    if (words.size() > 2 && max_slots_of(words[2]).value_or(0) < *slots)
        return Error{
            fmt::format("{}, expected nothing after slots=N, or max_slots=M from N on", shown_pattern(words[2]))};
    if (words.size() > 3) return Error{fmt::format("{}, expected nothing after max_slots=M", shown_pattern(words[3]))};
    for (HostEntry& host : *hosts) {
        if (host.slots) return Error{fmt::format("{} and {}, expected one of them", host.text(), words[1])};
        host.slots = *slots;
    }
    return hosts;
}

/// The entries, with the lines in which their names stand.
class Hostfile {
public:
    Result<void> add(std::vector<HostEntry>&& hosts, std::size_t line) {
        if (hosts.size() > kMostHosts - hosts_.size())
            return Error{fmt::format("too many hosts, expected at most {} in a file", kMostHosts)};
        for (HostEntry& host : hosts) {
            const auto [earlier, is_new] = lines_.emplace(host.name, line);
            if (!is_new)
                return Error{
                    fmt::format("host {0} is in line {1} already, expected each host once; {0} slots=2 has two slots",
                                host.name, earlier->second)};
            hosts_.push_back(std::move(host));
        }
        return {};
    }
    std::vector<HostEntry> take() { return std::move(hosts_); }

private:
    std::vector<HostEntry> hosts_;
    std::unordered_map<std::string, std::size_t> lines_;
};

}  // namespace

Result<std::vector<HostEntry>> parse_hostfile(std::string_view text, const std::string& name) {
    constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
    if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
    Hostfile file;
    std::size_t number = 0;
    for (const std::string_view line : base::split(text, '\n')) {
        auto hosts = hosts_of(line);
        ++number;
        const auto added = hosts ? file.add(std::move(*hosts), number) : Result<void>(hosts.error());
        if (!added) return added.error().within(fmt::format("{}:{}", name, number));
    }
    auto hosts = file.take();
    if (hosts.empty()) return Error{fmt::format("{}: no hosts, expected lines as HOST, HOST:N or HOST slots=N", name)};
    return hosts;
}

Result<std::vector<HostEntry>> parse_wcoll(std::string_view text, const std::string& name) {
    std::size_t number = 0;
    for (const std::string_view line : base::split(text, '\n')) {
        ++number;
        const auto words = words_of(line);
        if (words.size() > 1 && words[0] == "#include")
            return Error{fmt::format("{}:{}: #include {}, expected the hosts themselves: included files are not read",
                                     name, number, shown_pattern(words[1]))};
    }
    return parse_hostfile(text, name);
}

}  // namespace dlaunch::launcher
