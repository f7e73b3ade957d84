#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace dlaunch::agent {

/// Colours and attributes of characters on a terminal, as SGR sets them (ECMA-48 8.3.117, and 256 or RGB colours).
class Style {
public:
    /// Applies the parameters of one SGR sequence: "1;31", "38;5;208", "" (reset). Unknown ones have no effect.
    void apply(std::string_view parameters);
    [[nodiscard]] bool is_plain() const { return *this == Style(); }
    /// The sequence that sets exactly this style, whatever was set before.
    [[nodiscard]] std::string sequence() const;

    friend bool operator==(const Style&, const Style&) = default;

private:
    /// 0: the terminal's own; else a kind in the upper byte, and the number or the RGB value below.
    using Colour = std::uint32_t;

    std::uint16_t attributes_ = 0;  ///< bit n: attribute n (1 bold ... 9 crossed out) is on
    Colour front_ = 0, back_ = 0;
};

}  // namespace dlaunch::agent
