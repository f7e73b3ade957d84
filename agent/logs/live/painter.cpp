#include "agent/logs/live/painter.hpp"

#include <fmt/format.h>

namespace dlaunch::agent {
namespace {

constexpr std::string_view kEraseBelow = "\x1b[J", kEraseRight = "\x1b[K";

}  // namespace

void Painter::go_to_top() {
    std::size_t up = 0;
    const std::size_t above = types_in_first_ ? 1 : drawn_.size();
    for (std::size_t at = 0; at < above; ++at) {
        const std::size_t width = drawn_[at].least_width;
        up += width > columns_ && columns_ > 0 ? (width + columns_ - 1) / columns_ : 1;
    }
    if (up > 1) out_.append(fmt::format("\x1b[{}A", up - 1));
    out_.append("\r");
}

void Painter::erase() {
    if (drawn_.empty()) return;
    go_to_top();
    out_.append(kEraseBelow);
    drawn_.clear();
    types_in_first_ = false;
}

void Painter::draw(const std::vector<PaintedRow>& rows, bool types_in_first) {
    if (rows.empty()) return erase();
    bool is_wrapped = false;
    for (const PaintedRow& each : drawn_) is_wrapped |= each.width >= columns_;
    if (!drawn_.empty()) go_to_top();
    if (is_wrapped) out_.append(kEraseBelow);
    for (std::size_t at = 0; at < rows.size(); ++at) {
        if (at > 0) out_.append("\r\n");
        out_.append(rows[at].text);
        if (!drawn_.empty()) out_.append(kEraseRight);
    }
    if (drawn_.size() > rows.size()) out_.append(kEraseBelow);
    if (types_in_first && rows.size() > 1) {
        out_.append(fmt::format("\x1b[{}A\r", rows.size() - 1));
        if (rows[0].width > 0) out_.append(fmt::format("\x1b[{}C", rows[0].width));
    }
    drawn_ = rows;
    types_in_first_ = types_in_first;
}

}  // namespace dlaunch::agent
