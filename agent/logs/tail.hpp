#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dlaunch::agent {

/// The last bytes of a stream, for a worker's last words. Bounded whatever is fed.
class Tail {
public:
    static constexpr std::size_t kKeptBytes = 8 << 10;
    static constexpr std::size_t kLineBytes = 1 << 10;  ///< of a longer line only its beginning is told

    void add(std::string_view bytes);

    /// Up to `most` last lines, without newlines; of a line that was redrawn with '\r' the last state.
    /// A line whose beginning is further back than the kept bytes is told by its beginning.
    [[nodiscard]] std::vector<std::string> lines(int most) const;

private:
    void trim();

    std::string bytes_;  ///< up to twice what is kept, so that trimming is rare
    std::string head_;   ///< the beginning of the line that bytes_ starts inside of; empty when it starts with a line
};

}  // namespace dlaunch::agent
