#include "agent/logs/live/open_rows.hpp"

#include <algorithm>

namespace dlaunch::agent {
namespace {

constexpr auto kForgetsFrames = 2 * OpenRows::kMostWait;

}  // namespace

OpenRows::OpenRows() : rows_(1) {}

std::string OpenRows::feed(std::string_view bytes, base::Time now) {
    std::string lines;
    EscapeParser::Piece piece{};
    while (!bytes.empty()) {
        const std::size_t newline = std::min(bytes.find('\n'), bytes.size());
        std::string_view line = bytes.substr(0, newline);
        while (parser_.next(line, piece)) apply(piece, now);
        if (newline < bytes.size()) end_row(now, lines);
        bytes.remove_prefix(std::min(newline + 1, bytes.size()));
        std::size_t cells = 0;
        for (const Row& row : rows_) cells += row.line.size();
        if (cells > kMostCells) lines += finish();
    }
    drop_empty_end();
    return lines;
}

void OpenRows::apply(const EscapeParser::Piece& piece, base::Time now) {
    using Kind = EscapeParser::Kind;
    LineModel& line = rows_[at_].line;
    switch (piece.kind) {
        case Kind::colour: return style_.apply(piece.text);
        case Kind::hide_cursor: hides_cursor_ = true; return;
        case Kind::show_cursor: hides_cursor_ = false; return;
        case Kind::up: return go_up(piece.number, now);
        case Kind::up_to_start: go_up(piece.number, now); return rows_[at_].line.go_to(0);
        case Kind::down:
        case Kind::down_to_start: {
            const std::size_t column = piece.kind == Kind::down ? line.column() : 0;
            const std::size_t to = std::min(at_ + piece.number, rows_.size() - 1);
            for (; at_ < to; ++at_) rows_[at_].left = now;
            return rows_[at_].line.go_to(column);
        }
        case Kind::erase_below: return erase_below();
        default: return line.apply(piece, style_);
    }
}

/// A newline on the last row opens the next one.
void OpenRows::end_row(base::Time now, std::string& lines) {
    EscapeParser::Piece piece{};
    if (parser_.take_partial(piece)) apply(piece, now);
    went_down_ = now;
    rows_[at_].left = now;
    const LineModel& line = rows_[at_].line;
    if (at_ + 1 == rows_.size()) {
        if (!line.is_redrawn() && !line.is_fresh() && !has_frames(now)) {
            while (at_ > 0) take_first(lines);
            lines += rows_[0].line.finish() + "\n";
            return;
        }
        rows_.emplace_back();
    }
    rows_[++at_].line.go_to(0);
    if (rows_.size() > kMostRows) take_first(lines);
}

void OpenRows::go_up(std::size_t count, base::Time now) {
    if (!has_frames(now)) longest_return_ = {};
    const base::Duration away = now - std::max(went_down_, went_up_);
    if (away < kMostWait) longest_return_ = std::max(longest_return_, away);
    went_up_ = now;
    const std::size_t column = rows_[at_].line.column();
    for (; count > 0; --count) {
        rows_[at_].is_shared = true;
        if (at_ > 0)
            --at_;
        else if (rows_.size() < kMostRows)
            rows_.emplace_front();
        else
            break;
    }
    rows_[at_].is_shared = true;
    rows_[at_].line.go_to(column);
}

void OpenRows::erase_below() {
    rows_[at_].line.apply({EscapeParser::Kind::erase_right, {}}, style_);
    for (std::size_t below = at_ + 1; below < rows_.size(); ++below)
        rows_[below].line.apply({EscapeParser::Kind::erase_all, {}}, style_);
}

void OpenRows::take_first(std::string& lines) {
    Row& first = rows_.front();
    if (!first.is_shared || !first.line.is_blank()) lines += first.line.finish() + "\n";
    rows_.pop_front();
    at_ -= std::min<std::size_t>(at_, 1);
}

/// Rows below the cursor that a writer has used and cleared.
void OpenRows::drop_empty_end() {
    while (rows_.size() > at_ + 1 && rows_.back().line.is_blank()) rows_.pop_back();
}

std::string OpenRows::advance(base::Time now) {
    std::string lines;
    while (at_ > 0 && rows_.front().left + wait() <= now) take_first(lines);
    return lines;
}

std::string OpenRows::give_way(base::Time now) {
    std::string lines;
    while (at_ > 0 && !has_frames(now)) take_first(lines);
    return lines;
}

std::string OpenRows::finish() {
    EscapeParser::Piece piece{};
    if (parser_.take_partial(piece)) apply(piece, {});
    drop_empty_end();
    std::string lines;
    while (rows_.size() > 1) take_first(lines);
    if (!rows_[0].line.is_blank()) lines += rows_[0].line.finish() + "\n";
    rows_[0] = {};
    return lines;
}

std::optional<base::Time> OpenRows::deadline() const {
    return at_ > 0 ? std::optional(rows_.front().left + wait()) : std::nullopt;
}

bool OpenRows::is_fresh(base::Time now) const {
    return rows_.size() == 1 && rows_[0].line.is_fresh() && style_.is_plain() && parser_.is_between() &&
           !has_frames(now);
}

bool OpenRows::has_frames(base::Time now) const { return hides_cursor_ || now - went_up_ < kForgetsFrames; }

base::Duration OpenRows::wait() const {
    return std::clamp(2 * longest_return_, hides_cursor_ ? kHiddenCursorWaits : kBarWaits, kMostWait);
}

std::vector<const LineModel*> OpenRows::visible() const {
    std::vector<const LineModel*> lines;
    for (const Row& row : rows_)
        if (!row.line.is_blank()) lines.push_back(&row.line);
    return lines;
}

const LineModel* OpenRows::prompt() const { return rows_[at_].line.is_blank() ? nullptr : &rows_[at_].line; }

}  // namespace dlaunch::agent
