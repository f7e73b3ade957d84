#pragma once

#include <string>
#include <string_view>

#include "rendezvous/base/loop.hpp"

namespace dlaunch::agent {

/// The last line of a stream that is not blank, and when it came: shows where a worker hangs. Memory is bounded.
class LastLine {
public:
    static constexpr std::size_t kMostBytes = 200;  ///< of a line; the rest is cut

    void add(std::string_view bytes, base::Time now);

    /// The last state of a line that '\r' has redrawn, finished or not. Empty: none has come.
    [[nodiscard]] const std::string& text() const { return text_; }
    [[nodiscard]] base::Time at() const { return at_; }

private:
    void append_last_text(std::string_view lines, base::Time now);
    void append(std::string_view piece, base::Time now);

    std::string line_;  ///< unfinished; may be longer than text_ shows
    std::string text_;
    base::Time at_{};
};

}  // namespace dlaunch::agent
