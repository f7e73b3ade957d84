#include "agent/logs/prefix.hpp"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <ctime>

namespace dlaunch::agent {

namespace {

bool is_name_start(char c) { return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_name_char(char c) { return is_name_start(c) || (c >= '0' && c <= '9'); }

std::size_t name_length(std::string_view text) {
    if (text.empty() || !is_name_start(text[0])) return 0;
    std::size_t length = 1;
    while (length < text.size() && is_name_char(text[length])) ++length;
    return length;
}

const std::string* find(const PrefixValues& values, std::string_view name) {
    if (name == "role_name") return &values.role_name;
    if (name == "local_rank") return &values.local_rank;
    if (name == "rank") return &values.rank;
    if (name == "hostname") return &values.hostname;
    return nullptr;
}

}  // namespace

std::string expand_prefix(std::string_view prefix_template, const PrefixValues& values) {
    std::string out;
    std::string_view rest = prefix_template;
    while (!rest.empty()) {
        const std::size_t dollar = rest.find('$');
        out += rest.substr(0, dollar);
        if (dollar == std::string_view::npos) break;
        rest.remove_prefix(dollar + 1);
        if (rest.starts_with('$')) {
            out += '$';
            rest.remove_prefix(1);
            continue;
        }
        const bool braces = rest.starts_with('{');
        const std::size_t length = name_length(rest.substr(braces ? 1 : 0));
        const std::size_t whole = length + (braces ? 2 : 0);
        const bool closed = !braces || (whole <= rest.size() && rest[whole - 1] == '}');
        const std::string* value = closed ? find(values, rest.substr(braces ? 1 : 0, length)) : nullptr;
        if (!value) {
            out += '$';
            continue;
        }
        out += *value;
        rest.remove_prefix(whole);
    }
    return out;
}

std::string coloured(std::string_view text, int rank) {
    if (text.empty()) return {};
    // Without black, white and red: those are a terminal's background, its text and alarm.
    static constexpr std::array kColours{36, 33, 35, 32, 34, 96, 93, 95, 92, 94};
    const auto index = static_cast<unsigned>(rank) % kColours.size();
    return fmt::format("\x1b[{}m{}\x1b[0m", kColours[index], text);
}

bool wants_colours(const char* no_color, const char* term) {
    return !(no_color && *no_color) && !(term && std::strcmp(term, "dumb") == 0);
}

std::string timestamp(std::chrono::system_clock::time_point when) {
    const auto whole = std::chrono::floor<std::chrono::seconds>(when);
    const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(when - whole).count();
    const std::time_t seconds = std::chrono::system_clock::to_time_t(whole);
    std::tm parts{};
    gmtime_r(&seconds, &parts);
    return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z ", parts.tm_year + 1900, parts.tm_mon + 1,
                       parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec, milliseconds);
}

}  // namespace dlaunch::agent
