#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rendezvous/base/loop.hpp"

namespace dlaunch::agent {

/// Keeps the last bytes of a stream, for the report of a failure. Memory is bounded.
class Tail {
public:
    static constexpr std::size_t kKeptBytes = 8 << 10;
    static constexpr std::size_t kLineBytes = 1 << 10;  ///< people read no longer lines

    void add(std::string_view bytes, base::Time now);

    /// The last lines, at most `most`, without newlines, cut after `longest` bytes; the last state of a line that '\r'
    /// has redrawn. The oldest line includes its beginning, even where that lies before the kept bytes.
    [[nodiscard]] std::vector<std::string> lines(int most, std::size_t longest = kLineBytes) const;

    struct Shown {
        base::Time at{};                ///< of several times in a row the first
        bool was_there_before = false;  ///< and again after a while: its process has gone on
    };
    /// When this text, a part of one line, was read for the last time; none: the kept bytes have it not.
    [[nodiscard]] std::optional<Shown> shown(std::string_view text) const;

private:
    void trim();
    void mark(base::Time now);
    [[nodiscard]] base::Time time_of(std::size_t end) const;

    std::string bytes_;  ///< up to 2 * kKeptBytes, so that trims are rare
    std::string head_;   ///< the beginning of the line inside which bytes_ starts; empty: bytes_ starts with a line

    struct Mark {
        std::uint64_t end = 0;  ///< of the bytes read, counted from the stream's beginning
        base::Time at{};
    };
    std::uint64_t total_ = 0;  ///< bytes added
    std::vector<Mark> marks_;  ///< of bytes_
};

}  // namespace dlaunch::agent
