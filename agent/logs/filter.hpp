#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dlaunch::agent {

/// Picks the lines of one stream that contain one of some words. Lines are whole: an unfinished one waits for its end.
class LineFilter {
public:
    /// `words` must outlive the filter.
    LineFilter(const std::vector<std::string>& words, std::string prefix) : words_(words), prefix_(std::move(prefix)) {}

    /// The matching lines that `bytes` complete, each with `stamp` and the prefix before it and a newline behind it;
    /// valid until the next call.
    [[nodiscard]] std::string_view add(std::string_view bytes, std::string_view stamp);

    /// The stream's end: its last line counts even without a newline.
    [[nodiscard]] std::string_view finish(std::string_view stamp);

private:
    /// Of a longer line only so much is looked at and copied.
    static constexpr std::size_t kLineBytes = 1 << 20;

    void look_at(std::string_view line, std::string_view stamp);

    const std::vector<std::string>& words_;
    std::string prefix_;
    std::string held_;
    std::string found_;
};

}  // namespace dlaunch::agent
