#include "launcher/start/last_words.hpp"

#include <utility>

#include "rendezvous/base/escape.hpp"

namespace dlaunch::launcher {

void LastWords::add(std::string_view bytes) {
    for (const char c : bytes) {
        if (c == '\r') continue;
        if (c != '\n') {
            if (unfinished_.size() < kMostLineBytes) unfinished_ += c;
            continue;
        }
        if (!unfinished_.empty()) lines_.push_back(std::exchange(unfinished_, {}));
        if (lines_.size() > kMostLines) lines_.pop_front();
    }
}

std::string LastWords::text() const {
    std::string all;
    const auto append = [&all](const std::string& line) {
        if (!line.empty()) all += (all.empty() ? "" : "; ") + base::printable(line);
    };
    for (const std::string& line : lines_) append(line);
    append(unfinished_);
    return all;
}

}  // namespace dlaunch::launcher
