#include "launcher/token_variable.hpp"

#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>

#include "rendezvous/auth/hidden_memory.hpp"
#include "rendezvous/auth/token.hpp"

namespace dlaunch::launcher {
namespace {

constexpr std::string_view kName = "DLAUNCH_TOKEN=";

std::array<char, auth::Token::kMost + 3> kept;  // one more than a token with a line end
std::size_t kept_length = 0;

}  // namespace

void take_token_variable() {
    char** to = environ;
    for (char** from = environ; from && *from; ++from) {
        const std::string_view entry(*from);
        if (!entry.starts_with(kName)) {
            *to++ = *from;
            continue;
        }
        const std::string_view value = entry.substr(kName.size(), kept.size());
        std::ranges::copy(value, kept.begin());
        kept_length = value.size();
        explicit_bzero(*from, entry.size());
        auth::hide_memory();
    }
    if (to) *to = nullptr;
}

std::string_view token_variable() { return {kept.data(), kept_length}; }

}  // namespace dlaunch::launcher
