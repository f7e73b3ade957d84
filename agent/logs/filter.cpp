#include "agent/logs/filter.hpp"

#include <algorithm>

namespace dlaunch::agent {

std::string_view LineFilter::add(std::string_view bytes, std::string_view stamp) {
    found_.clear();
    while (!bytes.empty()) {
        const std::size_t newline = bytes.find('\n');
        const std::string_view line = bytes.substr(0, newline);
        if (newline != std::string_view::npos && held_.empty()) {
            look_at(line, stamp);
        } else {
            held_ += line.substr(0, kLineBytes - std::min(held_.size(), kLineBytes));
            if (newline == std::string_view::npos) break;
            look_at(held_, stamp);
            held_.clear();
        }
        bytes.remove_prefix(newline + 1);
    }
    return found_;
}

std::string_view LineFilter::finish(std::string_view stamp) {
    found_.clear();
    if (!held_.empty()) look_at(held_, stamp);
    held_.clear();
    return found_;
}

void LineFilter::look_at(std::string_view line, std::string_view stamp) {
    const auto occurs = [&](const std::string& word) { return line.find(word) != std::string_view::npos; };
    if (std::none_of(words_.begin(), words_.end(), occurs)) return;
    found_ += stamp;
    found_ += prefix_;
    found_ += line;
    found_ += '\n';
}

}  // namespace dlaunch::agent
