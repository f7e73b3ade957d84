#include "launcher/slurm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "launcher/cli/split.hpp"
#include "launcher/cli/values.hpp"

namespace dlaunch::launcher {
namespace {

constexpr std::size_t kMostNames = 65'536;
constexpr std::size_t kMostNameBytes = 255;  // of a host name, as in POSIX
constexpr std::size_t kMostShown = 200;      // bytes of the list in an error
constexpr std::int64_t kMostNumber = 99'999'999;

bool is_number(std::string_view text) {
    return !text.empty() && text.size() <= 8 && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

/// "07" or "07-10": numbers keep their leading zeros. False: not a range, or more names than the limit.
bool add_numbers(std::vector<std::string>& names, std::string_view range) {
    const std::size_t dash = range.find('-');
    const std::string_view from = range.substr(0, dash), to = dash == range.npos ? from : range.substr(dash + 1);
    if (!is_number(from) || !is_number(to)) return false;
    const auto first = *whole_number(from, 0, kMostNumber), last = *whole_number(to, 0, kMostNumber);
    if (last < first || static_cast<std::size_t>(last - first) >= kMostNames - names.size()) return false;
    for (auto number = first; number <= last; ++number) names.push_back(fmt::format("{:0{}}", number, from.size()));
    return true;
}

/// Appends each of `more` to each of `names`.
std::vector<std::string> each_with_each(const std::vector<std::string>& names, const std::vector<std::string>& more) {
    std::vector<std::string> found;
    for (const std::string& name : names)
        for (const std::string& rest : more) found.push_back(name + rest);
    return found;
}

/// Whether each name may have so many more bytes.
bool have_space(const std::vector<std::string>& names, std::size_t more) {
    return std::ranges::all_of(names, [&](const std::string& name) { return name.size() + more <= kMostNameBytes; });
}

/// One entry: text, and any number of [ranges] in it.
std::optional<std::vector<std::string>> expand_one(std::string_view text) {
    if (text.empty()) return std::nullopt;
    std::vector<std::string> names{""};
    while (!text.empty()) {
        const std::size_t open = std::min(text.find('['), text.size());
        if (!have_space(names, open)) return std::nullopt;
        for (std::string& name : names) name += text.substr(0, open);
        text.remove_prefix(open);
        if (text.empty()) break;
        const std::size_t close = text.find(']');
        if (close == text.npos) return std::nullopt;
        std::vector<std::string> numbers;
        for (std::string_view range : split(text.substr(1, close - 1), ','))
            if (!add_numbers(numbers, range)) return std::nullopt;
        if (names.size() * numbers.size() > kMostNames) return std::nullopt;
        names = each_with_each(names, numbers);
        if (!have_space(names, 0)) return std::nullopt;
        text.remove_prefix(close + 1);
    }
    return names;
}

}  // namespace

base::Result<std::vector<std::string>> expand_node_list(std::string_view text) {
    std::vector<std::string> names;
    int depth = 0;
    for (std::size_t begin = 0, at = 0; at <= text.size(); ++at) {
        if (at < text.size() && text[at] == '[') ++depth;
        if (at < text.size() && text[at] == ']') --depth;
        if (at < text.size() && (text[at] != ',' || depth > 0)) continue;
        auto some = expand_one(text.substr(begin, at - begin));
        if (!some || names.size() + some->size() > kMostNames)
            return base::Error{
                fmt::format("node list {}: expected names as node[01-03,7],login, at most {} of at most {} bytes each",
                            text.substr(0, kMostShown), kMostNames, kMostNameBytes)};
        names.insert(names.end(), some->begin(), some->end());
        begin = at + 1;
    }
    return names;
}

}  // namespace dlaunch::launcher
