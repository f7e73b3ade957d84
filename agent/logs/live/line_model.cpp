#include "agent/logs/live/line_model.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "rendezvous/base/columns.hpp"
#include "rendezvous/base/escape.hpp"

namespace dlaunch::agent {
namespace {

constexpr std::size_t kTab = 8;
constexpr std::size_t kMostJump = 4096;    ///< columns; a cursor beyond makes no cells
constexpr std::size_t kMostStyles = 4096;  ///< in one line; further ones look like the last

}  // namespace

void LineModel::apply(const EscapeParser::Piece& piece, const Style& style) {
    using Kind = EscapeParser::Kind;
    switch (piece.kind) {
        case Kind::text: return put(piece.text, style);
        case Kind::carriage_return: cursor_ = 0; break;
        case Kind::backspace: cursor_ -= std::min<std::size_t>(cursor_, 1); break;
        case Kind::erase_right: erase(cursor_, cells_.size()); break;
        case Kind::erase_left: erase(0, std::min(cursor_ + 1, cells_.size())); break;
        case Kind::erase_all: erase(0, cells_.size()); break;
        case Kind::column: cursor_ = std::min(piece.number, kMostJump); break;
        case Kind::left: cursor_ -= std::min(cursor_, piece.number); break;
        case Kind::right: cursor_ = std::min(cursor_ + piece.number, std::max(cells_.size(), kMostJump)); break;
        default: return;
    }
    has_moved_ = true;
}

std::uint16_t LineModel::style_index(const Style& style) {
    if (styles_.back() == style) return static_cast<std::uint16_t>(styles_.size() - 1);
    if (style.is_plain()) return 0;
    if (styles_.size() < kMostStyles) styles_.push_back(style);
    return static_cast<std::uint16_t>(styles_.size() - 1);
}

void LineModel::put(std::string_view text, const Style& in_style) {
    const std::uint16_t style = style_index(in_style);
    is_redrawn_ |= has_moved_ && cursor_ == 0;
    const auto add = [&](const Cell& cell) {
        if (cursor_ > cells_.size()) cells_.resize(cursor_);
        if (cursor_ == cells_.size())
            cells_.push_back(cell);
        else
            cells_[cursor_] = cell;
        ++cursor_;
    };
    for (std::size_t at = 0; at < text.size();) {
        if (text[at] == '\t') {
            Cell blank;
            blank.style = style;
            do add(blank);
            while (cursor_ % kTab != 0);
            ++at;
            continue;
        }
        const std::size_t length = std::max<std::size_t>(base::utf8_length(text, at), 1);
        Cell cell;
        std::memcpy(cell.bytes.data(), text.data() + at, length);
        cell.length = static_cast<std::uint8_t>(length);
        cell.width = static_cast<std::uint8_t>(length == 1 ? 1 : base::columns(text.substr(at, length)));
        const bool is_ascii = static_cast<unsigned char>(text[at]) < 0x80;
        cell.least_width = static_cast<std::uint8_t>(is_ascii ? 1 : base::least_columns(text.substr(at, length)));
        cell.style = style;
        add(cell);
        at += length;
    }
}

void LineModel::erase(std::size_t from, std::size_t to) {
    from = std::min(from, cells_.size());
    if (to == cells_.size())
        cells_.resize(from);
    else
        std::fill(cells_.begin() + static_cast<std::ptrdiff_t>(from), cells_.begin() + static_cast<std::ptrdiff_t>(to),
                  Cell());
}

/// Without the blanks at the end that have overwritten an earlier state.
std::size_t LineModel::visible_cells() const {
    std::size_t count = cells_.size();
    while (has_moved_ && count > 0 && cells_[count - 1].is_blank() && cells_[count - 1].style == 0) --count;
    return count;
}

bool LineModel::is_blank() const {
    return std::ranges::all_of(cells_, [](const Cell& each) { return each.is_blank() && each.style == 0; });
}

std::size_t LineModel::fitting_cells(std::size_t columns) const {
    const std::size_t visible = visible_cells();
    std::size_t count = 0;
    for (std::size_t used = 0; count < visible && used + cells_[count].width <= columns; ++count)
        used += cells_[count].width;
    return count;
}

std::string LineModel::text(std::size_t columns) const {
    const std::size_t count = fitting_cells(columns);
    std::string text;
    std::uint16_t style = 0;
    for (std::size_t at = 0; at < count; ++at) {
        const Cell& cell = cells_[at];
        if (cell.style != style) text += styles_[style = cell.style].sequence();
        text.append(cell.bytes.data(), cell.length);
    }
    if (style != 0) text += "\x1b[0m";
    return text;
}

std::size_t LineModel::width(std::size_t columns) const {
    std::size_t used = 0;
    for (std::size_t at = 0, count = fitting_cells(columns); at < count; ++at) used += cells_[at].width;
    return used;
}

std::size_t LineModel::least_width(std::size_t columns) const {
    std::size_t used = 0;
    for (std::size_t at = 0, count = fitting_cells(columns); at < count; ++at) used += cells_[at].least_width;
    return used;
}

std::string LineModel::finish() {
    std::string whole = text(std::numeric_limits<std::size_t>::max());
    cells_.clear();
    styles_ = {Style()};
    cursor_ = 0;
    has_moved_ = is_redrawn_ = false;
    return whole;
}

LineModel line_of(std::string_view bytes) {
    LineModel line;
    Style style;
    EscapeParser parser;
    EscapeParser::Piece piece{};
    while (parser.next(bytes, piece))
        if (piece.kind == EscapeParser::Kind::colour)
            style.apply(piece.text);
        else
            line.apply(piece, style);
    if (parser.take_partial(piece)) line.apply(piece, style);
    return line;
}

}  // namespace dlaunch::agent
