#include "agent/logs/live/style.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <vector>

namespace dlaunch::agent {
namespace {

constexpr std::uint32_t kCode = 1U << 24, kIndex = 2U << 24, kRgb = 3U << 24, kKind = 0xffU << 24;

std::vector<unsigned> numbers_of(std::string_view text) {
    std::vector<unsigned> numbers;
    for (std::size_t at = 0; at <= text.size();) {
        const std::size_t end = std::min(text.find_first_of(";:", at), text.size());
        unsigned number = 0;
        std::from_chars(text.data() + at, text.data() + end, number);
        numbers.push_back(number);
        at = end + 1;
    }
    return numbers;
}

/// The colour after "38" or "48" at `at`; moves `at` to its last parameter.
std::uint32_t extended(const std::vector<unsigned>& numbers, std::size_t& at) {
    if (at + 2 < numbers.size() && numbers[at + 1] == 5) {
        at += 2;
        return kIndex | (numbers[at] & 0xff);
    }
    if (at + 4 < numbers.size() && numbers[at + 1] == 2) {
        at += 4;
        return kRgb | (numbers[at - 2] & 0xff) << 16 | (numbers[at - 1] & 0xff) << 8 | (numbers[at] & 0xff);
    }
    at = numbers.size();
    return 0;
}

std::string code_of(std::uint32_t colour, unsigned base) {
    switch (colour & kKind) {
        case kCode: return fmt::format(";{}", colour & 0xffffff);
        case kIndex: return fmt::format(";{};5;{}", base, colour & 0xff);
        case kRgb: return fmt::format(";{};2;{};{};{}", base, colour >> 16 & 0xff, colour >> 8 & 0xff, colour & 0xff);
        default: return {};
    }
}

}  // namespace

void Style::apply(std::string_view parameters) {
    const auto numbers = numbers_of(parameters);
    const auto clear = [this](unsigned bits) { attributes_ = static_cast<std::uint16_t>(attributes_ & ~bits); };
    for (std::size_t at = 0; at < numbers.size(); ++at) {
        const unsigned number = numbers[at];
        if (number == 0)
            *this = {};
        else if (number <= 9)
            attributes_ = static_cast<std::uint16_t>(attributes_ | 1U << number);
        else if (number == 22)
            clear(1U << 1 | 1U << 2);
        else if (number == 25)
            clear(1U << 5 | 1U << 6);
        else if (number > 22 && number < 30)
            clear(1U << (number - 20));
        else if ((number >= 30 && number < 38) || (number >= 90 && number < 98))
            front_ = kCode | number;
        else if ((number >= 40 && number < 48) || (number >= 100 && number < 108))
            back_ = kCode | number;
        else if (number == 38)
            front_ = extended(numbers, at);
        else if (number == 48)
            back_ = extended(numbers, at);
        else if (number == 39)
            front_ = 0;
        else if (number == 49)
            back_ = 0;
    }
}

std::string Style::sequence() const {
    std::string codes = "0";
    for (unsigned number = 1; number <= 9; ++number)
        if (attributes_ & 1U << number) codes += fmt::format(";{}", number);
    return "\x1b[" + codes + code_of(front_, 38) + code_of(back_, 48) + "m";
}

}  // namespace dlaunch::agent
