#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "agent/logs/byte_queue.hpp"

namespace dlaunch::agent {

/// A line of the block, which never wraps.
struct PaintedRow {
    std::string text;             ///< ends in the plain style
    std::size_t width = 0;        ///< in columns; never too few, so that the row never wraps
    std::size_t least_width = 0;  ///< never too many, so that erasing a wrapped row erases no text above it

    friend bool operator==(const PaintedRow&, const PaintedRow&) = default;
};

/// Keeps a block of rows below the text that scrolls: makes the bytes for a terminal. The cursor stays at the end of
/// the block's last row, or of its first, where a user types. The terminal's modes stay as they are, and each row ends
/// in the plain style, so that the terminal is usable whenever the process dies. No I/O.
class Painter {
public:
    explicit Painter(ByteQueue& out) : out_(out) {}

    /// The terminal has this width now. It wraps rows of the block that have become too long, as terminals do that
    /// reflow their text.
    void resize(std::size_t columns) { columns_ = columns; }

    /// Erases the block. What follows in the queue is text, which ends with a newline, until the next draw().
    void erase();
    /// Shows the block. `types_in_first`: the cursor stays in the first row.
    void draw(const std::vector<PaintedRow>& rows, bool types_in_first);
    [[nodiscard]] bool is_typed_at() const { return types_in_first_; }

private:
    void go_to_top();

    ByteQueue& out_;
    std::size_t columns_ = 80;
    std::vector<PaintedRow> drawn_;
    bool types_in_first_ = false;
};

}  // namespace dlaunch::agent
