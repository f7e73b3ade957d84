#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/logs/live/escapes.hpp"
#include "agent/logs/live/line_model.hpp"
#include "agent/logs/live/style.hpp"
#include "rendezvous/base/loop.hpp"

namespace dlaunch::agent {

/// The lines of one stream that its writer may still change: the last one, and the rows of nested progress bars.
///
/// A newline makes a line of text final at once. A line that looks like a bar waits, and so do all lines of a writer
/// that hides the cursor or moves it up to earlier lines: its next frame may overwrite them. They wait twice as long as
/// the writer has taken to come back so far. Final lines leave from the top, so that the order stays. A cursor that
/// moves above the first row finds an empty one there, in place of the line that has become final too early.
/// Memory is bounded. No I/O and no clock of its own.
class OpenRows {
public:
    static constexpr std::size_t kMostRows = 64, kMostCells = 1 << 20;
    static constexpr base::Duration kBarWaits = std::chrono::milliseconds(300);
    static constexpr base::Duration kHiddenCursorWaits = std::chrono::seconds(1);
    static constexpr base::Duration kMostWait = std::chrono::seconds(5);

    OpenRows();

    /// All return the lines that are final now, each with its newline and in the plain style at its end.
    [[nodiscard]] std::string feed(std::string_view bytes, base::Time now);
    [[nodiscard]] std::string advance(base::Time now);
    /// Another writer's text follows: only a writer with several rows keeps its lines.
    [[nodiscard]] std::string give_way(base::Time now);
    /// The stream has ended.
    [[nodiscard]] std::string finish();

    /// The time when advance() has work.
    [[nodiscard]] std::optional<base::Time> deadline() const;

    /// There are no rows, and text would be final at once with its newline.
    [[nodiscard]] bool is_fresh(base::Time now) const;
    /// The rows that can be seen.
    [[nodiscard]] std::vector<const LineModel*> visible() const;
    /// The cursor's row, if it can be seen: a prompt stands there.
    [[nodiscard]] const LineModel* prompt() const;

private:
    /// Long before any other time.
    static constexpr base::Time kNever{-std::chrono::hours(24)};

    struct Row {
        LineModel line;
        base::Time left{};       ///< by the cursor, at a newline
        bool is_shared = false;  ///< the cursor has come back: an empty line is a gap of the picture
    };

    void apply(const EscapeParser::Piece& piece, base::Time now);
    void end_row(base::Time now, std::string& lines);
    void go_up(std::size_t count, base::Time now);
    void erase_below();
    void take_first(std::string& lines);
    void drop_empty_end();
    [[nodiscard]] bool has_frames(base::Time now) const;
    [[nodiscard]] base::Duration wait() const;

    EscapeParser parser_;
    Style style_;
    std::deque<Row> rows_;  ///< never empty
    std::size_t at_ = 0;    ///< the cursor's row
    bool hides_cursor_ = false;
    base::Time went_down_ = kNever, went_up_ = kNever;  ///< the latest times
    base::Duration longest_return_{0};                  ///< from a newline to the next way up
};

}  // namespace dlaunch::agent
