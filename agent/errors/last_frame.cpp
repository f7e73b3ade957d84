#include "agent/errors/last_frame.hpp"

#include <algorithm>

namespace dlaunch::agent {
namespace {

constexpr std::size_t kMostSourceLines = 2;

std::string_view trimmed(std::string_view line) {
    const std::size_t first = line.find_first_not_of(" \t");
    if (first == std::string_view::npos) return {};
    return line.substr(first, line.find_last_not_of(" \t\r\n") + 1 - first);
}

bool is_frame(std::string_view line) {
    const std::size_t file = line.find("  File \"");
    return file != std::string_view::npos && line.find("\", line ", file) != std::string_view::npos;
}

/// "    ~~~~^^^^" below the source.
bool is_mark(std::string_view text) { return text.find_first_not_of("^~ ") == std::string_view::npos; }

/// The frame's line and source, from the line `at` on. A prefix of torch ("[rank1]: ") is left out.
std::vector<std::string> frame_at(const std::vector<std::string>& lines, std::size_t at) {
    const std::size_t prefix = lines[at].find("  File \"");
    std::vector<std::string> frame{std::string(trimmed(std::string_view(lines[at]).substr(prefix)))};
    for (++at; at < lines.size() && frame.size() <= kMostSourceLines && !is_frame(lines[at]); ++at) {
        const std::string_view rest = std::string_view(lines[at]).substr(std::min(prefix, lines[at].size()));
        if (!rest.starts_with("    ")) break;
        if (!is_mark(trimmed(rest))) frame.push_back("  " + std::string(trimmed(rest)));
    }
    return frame;
}

}  // namespace

std::vector<std::string> last_frame(const std::vector<std::string>& lines, std::string_view message) {
    std::size_t end = lines.size();
    while (!message.empty() && end > 0 && !std::string_view(trimmed(lines[end - 1])).ends_with(trimmed(message))) --end;
    for (std::size_t at = end; at-- > 0;)
        if (is_frame(lines[at])) return frame_at(lines, at);
    return {};
}

std::vector<std::string> lines_of(std::string_view text) {
    std::vector<std::string> lines;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        std::string_view line = text.substr(0, end);
        while (line.ends_with('\r')) line.remove_suffix(1);
        lines.emplace_back(line);
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return lines;
}

}  // namespace dlaunch::agent
