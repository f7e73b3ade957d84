#pragma once

#include <string>
#include <string_view>

namespace dlaunch::agent {

/// Splits the bytes that a worker writes to a terminal into what has a meaning within its own lines, and drops the
/// rest: escape sequences that move the cursor to other places, change the terminal's modes, title or character set, or
/// ask it questions (ECMA-48; xterm's control sequences). Sequences may be split between calls. Memory is bounded.
class EscapeParser {
public:
    enum class Kind {
        text,             ///< characters, tabs included
        colour,           ///< SGR: `text` has its parameters, "1;31"
        carriage_return,  ///< to the start of the line
        backspace,        ///< one column to the left
        erase_right,      ///< from the cursor to the end of the line
        erase_left,       ///< from the start of the line to the cursor
        erase_all,        ///< the line
        column,           ///< to column `number`, from 0
        left,             ///< `number` columns to the left
        right,            ///< `number` columns to the right
        up,               ///< `number` lines up
        down,             ///< `number` lines down
        up_to_start,      ///< the same, and to the start of the line
        down_to_start,
        erase_below,  ///< from the cursor to the end of the screen
        hide_cursor,
        show_cursor,
    };
    struct Piece {
        Kind kind;
        std::string_view text;
        std::size_t number = 0;
    };

    /// Takes the first piece from the front of `bytes`, which must not contain a newline. False: `bytes` has no further
    /// piece, and is empty now. The piece is valid until the next call and as long as the memory of `bytes`.
    [[nodiscard]] bool next(std::string_view& bytes, Piece& piece);

    /// At the end of a line: the bytes of a character that has no end. False: there are none.
    [[nodiscard]] bool take_partial(Piece& piece);

    /// Not within a sequence or a character.
    [[nodiscard]] bool is_between() const { return state_ == State::ground && partial_.empty(); }

private:
    enum class State { ground, escape, intermediate, sequence, string, string_escape };
    static constexpr std::size_t kMostParameters = 64;  ///< of a sequence; a longer one is dropped

    [[nodiscard]] bool control(char c, Piece& piece) const;
    [[nodiscard]] bool end_sequence(char last, Piece& piece);
    [[nodiscard]] bool step(char c, Piece& piece);
    [[nodiscard]] bool end_character(std::string_view& bytes, Piece& piece);

    State state_ = State::ground;
    std::string parameters_, done_;
    std::string partial_;  ///< the first bytes of a UTF-8 character
    bool too_long_ = false;
};

/// Whether the bytes have printable ASCII characters, tabs and newlines only: nothing to parse.
[[nodiscard]] bool is_simple(std::string_view bytes);

}  // namespace dlaunch::agent
