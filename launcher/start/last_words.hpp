#pragma once

#include <deque>
#include <string>
#include <string_view>

namespace dlaunch::launcher {

/// The last lines of a text that arrives in pieces. No I/O.
class LastWords {
public:
    static constexpr std::size_t kMostLines = 5, kMostLineBytes = 300;

    void add(std::string_view bytes);
    /// The lines that are not empty, separated by "; ", with control characters escaped.
    [[nodiscard]] std::string text() const;

private:
    std::deque<std::string> lines_;
    std::string unfinished_;
};

}  // namespace dlaunch::launcher
