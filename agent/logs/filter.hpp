#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dlaunch::agent {

/// Selects the lines of one stream that contain one of `words`. Holds an unfinished line until its newline arrives.
class LineFilter {
public:
    /// `words` must outlive the filter.
    LineFilter(const std::vector<std::string>& words, std::string prefix) : words_(words), prefix_(std::move(prefix)) {}

    /// Returns the matching lines that `bytes` complete, each with `stamp` and the prefix before it and a newline after
    /// it; valid until the next call.
    [[nodiscard]] std::string_view add(std::string_view bytes, std::string_view stamp);

    /// Ends the stream: the last line counts even without a newline.
    [[nodiscard]] std::string_view finish(std::string_view stamp);

private:
    /// Only the beginning of a longer line is searched and copied.
    static constexpr std::size_t kLineBytes = 1 << 20;

    void look_at(std::string_view line, std::string_view stamp);

    const std::vector<std::string>& words_;
    std::string prefix_;
    std::string held_;
    std::string found_;
};

}  // namespace dlaunch::agent
