#include "launcher/hosts/compress.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <string_view>

namespace dlaunch::launcher {
namespace {

constexpr std::string_view kDigits = "0123456789";
constexpr std::size_t kMostDigits = 18;  // as in a list

/// A name around its last number; without a number, all of it is before.
struct Cut {
    std::string_view before, number, after;
};

Cut cut(std::string_view name) {
    const std::size_t last = name.find_last_of(kDigits);
    const bool is_ipv6 = name.find(':') != name.npos;
    if (last == name.npos || is_ipv6) return {name, {}, {}};
    const std::size_t before = name.find_last_not_of(kDigits, last);
    const std::size_t first = before == name.npos ? 0 : before + 1;
    if (last + 1 - first > kMostDigits) return {name, {}, {}};
    return {name.substr(0, first), name.substr(first, last + 1 - first), name.substr(last + 1)};
}

std::uint64_t value_of(std::string_view digits) {
    std::uint64_t value = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return value;
}

/// The hosts of one bracket: ranges of numbers that follow each other.
class Group {
public:
    Group(const HostEntry& host, const Cut& parts) : host_(&host), parts_(parts) { add(parts.number); }

    bool takes(const HostEntry& host, const Cut& parts) const {
        return !parts_.number.empty() && !parts.number.empty() && parts.before == parts_.before &&
               parts.after == parts_.after && host.user == host_->user && host.slots == host_->slots;
    }

    void add(std::string_view number) {
        const std::uint64_t value = value_of(number);
        const bool follows = !ranges_.empty() && value == ranges_.back().last + 1 &&
                             number == fmt::format("{:0{}}", value, ranges_.back().first.size());
        if (follows)
            ranges_.back().last = value;
        else
            ranges_.push_back({number, value, value});
    }

    std::string text() const {
        if (parts_.number.empty()) return host_->text();
        std::string numbers;
        for (const Range& range : ranges_) {
            numbers += fmt::format("{}{}", numbers.empty() ? "" : ",", range.first);
            if (range.last > range.value) numbers += fmt::format("-{:0{}}", range.last, range.first.size());
        }
        const bool is_range = ranges_.size() > 1 || ranges_[0].last > ranges_[0].value;
        const std::string in_brackets = is_range ? "[" + numbers + "]" : numbers;
        return HostEntry{fmt::format("{}{}{}", parts_.before, in_brackets, parts_.after), host_->user, host_->slots}
            .text();
    }

private:
    struct Range {
        std::string_view first;  ///< digits
        std::uint64_t value = 0, last = 0;
    };
    const HostEntry* host_;
    Cut parts_;
    std::vector<Range> ranges_;
};

}  // namespace

std::string compress(const std::vector<HostEntry>& hosts) {
    std::vector<Group> groups;
    for (const HostEntry& host : hosts) {
        const Cut parts = cut(host.name);
        if (!groups.empty() && groups.back().takes(host, parts))
            groups.back().add(parts.number);
        else
            groups.emplace_back(host, parts);
    }
    std::string list;
    for (const Group& group : groups) list += (list.empty() ? "" : ",") + group.text();
    return list;
}

}  // namespace dlaunch::launcher
