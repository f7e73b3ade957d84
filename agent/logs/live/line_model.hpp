#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "agent/logs/live/escapes.hpp"
#include "agent/logs/live/style.hpp"

namespace dlaunch::agent {

/// One line as a terminal shows it while its writer moves the cursor within it: progress bars, prompts, coloured text.
class LineModel {
public:
    /// Text in the given style, or a change within the line. Other pieces have no effect.
    void apply(const EscapeParser::Piece& piece, const Style& style);
    /// Moves the cursor.
    void go_to(std::size_t column) { cursor_ = column; }
    [[nodiscard]] std::size_t column() const { return cursor_; }

    /// Nothing can be seen of the line.
    [[nodiscard]] bool is_blank() const;
    /// The line has not begun.
    [[nodiscard]] bool is_fresh() const { return cells_.empty() && !has_moved_; }
    /// Text was written after the cursor had gone back, as progress bars do.
    [[nodiscard]] bool is_redrawn() const { return is_redrawn_; }
    [[nodiscard]] std::size_t size() const { return cells_.size(); }

    /// The visible text, of at most `columns`, which ends in the plain style.
    [[nodiscard]] std::string text(std::size_t columns) const;
    /// Columns of text(columns), never too few.
    [[nodiscard]] std::size_t width(std::size_t columns) const;
    /// Columns of text(columns), never too many.
    [[nodiscard]] std::size_t least_width(std::size_t columns) const;

    /// Ends the line, and returns all of its text.
    [[nodiscard]] std::string finish();

private:
    struct Cell {
        std::array<char, 4> bytes{' '};
        std::uint8_t length = 1;
        std::uint8_t width = 1, least_width = 1;
        std::uint16_t style = 0;  ///< index in styles_

        [[nodiscard]] bool is_blank() const { return length == 1 && bytes[0] == ' '; }
    };

    void put(std::string_view text, const Style& style);
    void erase(std::size_t from, std::size_t to);
    [[nodiscard]] std::uint16_t style_index(const Style& style);
    [[nodiscard]] std::size_t visible_cells() const;
    [[nodiscard]] std::size_t fitting_cells(std::size_t columns) const;

    std::vector<Style> styles_{Style()};
    std::vector<Cell> cells_;
    std::size_t cursor_ = 0;
    bool has_moved_ = false;  ///< the cursor has left its way from left to right
    bool is_redrawn_ = false;
};

/// The line that begins in the plain style and has these bytes, without newline.
[[nodiscard]] LineModel line_of(std::string_view bytes);

}  // namespace dlaunch::agent
