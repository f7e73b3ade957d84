#include "rendezvous/base/signal_names.hpp"

#include <signal.h>
#include <string.h>

#include <array>
#include <charconv>
#include <utility>

namespace dlaunch::base {

namespace {

/// Aliases. Canonical names come from the C library, which calls IO "POLL".
constexpr std::array<std::pair<std::string_view, int>, 3> kAliases{
    {{"POLL", SIGPOLL}, {"IOT", SIGIOT}, {"CLD", SIGCHLD}}};

/// The standard name without "SIG"; null for real-time signals and invalid numbers.
const char* abbreviation(int signal) { return signal == SIGIO ? "IO" : ::sigabbrev_np(signal); }

bool is_usable(int signal) { return abbreviation(signal) != nullptr || (signal >= SIGRTMIN && signal <= SIGRTMAX); }

std::optional<int> parse_number(std::string_view text) {
    int number = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return number;
}

/// The N of "RTMIN+N" or "RTMAX-N"; 0 for the bare name.
std::optional<int> parse_offset(std::string_view text, std::string_view word, char sign) {
    if (!text.starts_with(word)) return std::nullopt;
    text.remove_prefix(word.size());
    if (text.empty()) return 0;
    if (text.front() != sign || text.size() < 2 || text[1] == '-') return std::nullopt;
    return parse_number(text.substr(1));
}

std::optional<int> real_time(std::string_view text) {
    const int span = SIGRTMAX - SIGRTMIN;
    if (auto offset = parse_offset(text, "RTMIN", '+'); offset && *offset <= span) return SIGRTMIN + *offset;
    if (auto offset = parse_offset(text, "RTMAX", '-'); offset && *offset <= span) return SIGRTMAX - *offset;
    return std::nullopt;
}

}  // namespace

std::string signal_name(int signal) {
    if (const char* name = abbreviation(signal)) return std::string("SIG") + name;
    if (signal == SIGRTMIN) return "SIGRTMIN";
    if (signal > SIGRTMIN && signal <= SIGRTMAX) return "SIGRTMIN+" + std::to_string(signal - SIGRTMIN);
    return "signal " + std::to_string(signal);
}

std::optional<int> signal_number(std::string_view text) {
    std::string upper(text);
    for (char& c : upper)
        if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    std::string_view name = upper;
    if (auto number = parse_number(name)) return is_usable(*number) ? number : std::nullopt;
    if (name.starts_with("SIG")) name.remove_prefix(3);
    if (name.starts_with("RTM")) return real_time(name);
    for (auto [alias, signal] : kAliases)
        if (name == alias) return signal;
    for (int signal = 1; signal < SIGRTMIN; ++signal)
        if (const char* known = abbreviation(signal); known != nullptr && name == known) return signal;
    return std::nullopt;
}

}  // namespace dlaunch::base
