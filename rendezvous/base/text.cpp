#include "rendezvous/base/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace dlaunch::base {
namespace {

constexpr std::string_view kBlanks = " \t\n\r\f\v";

bool is_name_start(char c) { return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_name_byte(char c) { return is_name_start(c) || (c >= '0' && c <= '9'); }

/// The length of the name that `text` begins with; 0: none.
std::size_t name_length(std::string_view text) {
    if (text.empty() || !is_name_start(text[0])) return 0;
    return static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), is_name_byte) - text.begin());
}

}  // namespace

std::string_view trimmed(std::string_view text) {
    const std::size_t first = text.find_first_not_of(kBlanks);
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

std::string in_lower_case(std::string_view text) {
    std::string made(text);
    for (char& c : made)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return made;
}

std::vector<std::string_view> split(std::string_view text, char at) {
    std::vector<std::string_view> parts;
    for (;;) {
        const std::size_t end = text.find(at);
        parts.push_back(text.substr(0, end));
        if (end == std::string_view::npos) return parts;
        text.remove_prefix(end + 1);
    }
}

std::string substitute(std::string_view text, TwoDollars two_dollars,
                       std::initializer_list<std::pair<std::string_view, std::string_view>> values) {
    std::string done;
    while (!text.empty()) {
        const std::size_t dollar = std::min(text.find('$'), text.size());
        done += text.substr(0, dollar);
        text.remove_prefix(dollar);
        if (text.starts_with("$$")) {
            done += two_dollars == TwoDollars::one ? "$" : "$$";
            text.remove_prefix(2);
        } else if (!text.empty()) {
            const std::size_t braces = text.substr(1).starts_with('{') ? 1 : 0;
            const std::string_view name = text.substr(1 + braces, name_length(text.substr(1 + braces)));
            const bool closed = !braces || text.substr(2 + name.size()).starts_with('}');
            const auto* value =
                std::find_if(values.begin(), values.end(), [&](auto& each) { return each.first == name; });
            const bool found = closed && !name.empty() && value != values.end();
            done += found ? value->second : "$";
            text.remove_prefix(found ? 1 + name.size() + 2 * braces : 1);
        }
    }
    return done;
}

std::string number_ranges(std::vector<int> numbers, std::string_view separator) {
    std::sort(numbers.begin(), numbers.end());
    numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
    std::string out;
    for (std::size_t first = 0, last = 0; first < numbers.size(); first = ++last) {
        while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
        if (!out.empty()) out += separator;
        fmt::format_to(std::back_inserter(out), "{}", numbers[first]);
        if (last > first) fmt::format_to(std::back_inserter(out), "-{}", numbers[last]);
    }
    return out;
}

}  // namespace dlaunch::base
