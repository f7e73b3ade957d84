#include "agent/errors/hosts_in.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cctype>

namespace dlaunch::agent {
namespace {

constexpr std::size_t kLongestName = 253;  // RFC 1035

bool is_of_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '-' || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }

bool is_address(const std::string& word) {
    std::array<unsigned char, sizeof(in6_addr)> number;
    return inet_pton(AF_INET, word.c_str(), number.data()) == 1 ||
           inet_pton(AF_INET6, word.c_str(), number.data()) == 1;
}

/// ":4711" and, of NCCL, "<4711>".
bool begins_with_port(std::string_view rest) {
    if (rest.size() < 2 || (rest[0] != ':' && rest[0] != '<') || !is_digit(rest[1])) return false;
    const std::size_t end = std::min(rest.find_first_not_of("0123456789", 1), rest.size());
    return rest[0] == ':' ? end == rest.size() || !is_of_name(rest[end]) : end < rest.size() && rest[end] == '>';
}

bool introduces_host(std::string_view word) {
    constexpr std::array<std::string_view, 4> kIntroductions{"host", "node", "peer", "server"};
    return std::find(kIntroductions.begin(), kIntroductions.end(), word) != kIntroductions.end();
}

bool has_letter_and_digit(std::string_view word) {
    return std::any_of(word.begin(), word.end(), is_letter) && std::any_of(word.begin(), word.end(), is_digit);
}

}  // namespace

std::vector<std::string> hosts_in(std::string_view message) {
    std::vector<std::string> found;
    const auto add = [&](std::string word) {
        if (word.size() <= kLongestName && std::find(found.begin(), found.end(), word) == found.end())
            found.push_back(std::move(word));
    };
    std::string_view before;
    for (std::size_t at = 0; at < message.size();) {
        if (message[at] == '[')  // an IPv6 address in brackets
            if (const std::size_t end = message.find(']', at); end != std::string_view::npos)
                if (std::string word(message.substr(at + 1, end - at - 1)); is_address(word)) {
                    add(std::move(word));
                    before = {};
                    at = end + 1;
                    continue;
                }
        if (!is_of_name(message[at])) {
            ++at;
            continue;
        }
        std::size_t end = at;
        while (end < message.size() && is_of_name(message[end])) ++end;
        std::string word(message.substr(at, end - at));
        while (word.ends_with('.')) word.pop_back();
        if (is_address(word) || begins_with_port(message.substr(end)) || introduces_host(before) ||
            has_letter_and_digit(word))
            add(std::move(word));
        before = message.substr(at, end - at);
        at = end;
    }
    return found;
}

}  // namespace dlaunch::agent
