#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dlaunch::agent {

/// Keeps the last bytes of a stream, for the report of a failure. Memory is bounded.
class Tail {
public:
    static constexpr std::size_t kKeptBytes = 8 << 10;
    static constexpr std::size_t kLineBytes = 1 << 10;  ///< lines() cuts longer lines after this

    void add(std::string_view bytes);

    /// The last lines, at most `most`, without newlines; the last state of a line that '\r' has redrawn. The oldest
    /// line includes its beginning, even where that lies before the kept bytes.
    [[nodiscard]] std::vector<std::string> lines(int most) const;

private:
    void trim();

    std::string bytes_;  ///< up to 2 * kKeptBytes, so that trims are rare
    std::string head_;   ///< the beginning of the line inside which bytes_ starts; empty: bytes_ starts with a line
};

}  // namespace dlaunch::agent
