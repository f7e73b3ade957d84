#include "agent/errors/report_lines.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "agent/errors/format.hpp"
#include "agent/errors/last_frame.hpp"
#include "rendezvous/base/escape.hpp"
#include "rendezvous/base/text.hpp"

namespace dlaunch::agent {

namespace {

using base::printable;

/// Longer lines of a stderr tail are cut; records never are.
constexpr std::size_t kMostLastWordColumns = 1000;

std::string_view without_line_end(std::string_view text) {
    const std::size_t end = text.find_last_not_of("\r\n");
    return text.substr(0, end == std::string_view::npos ? 0 : end + 1);
}

bool is_dashed(std::string_view line) {
    constexpr std::size_t kLeastDashes = 40;
    return line.size() >= kLeastDashes && line.find_first_not_of('-') == std::string_view::npos;
}

Lines without_abort_note(const Lines& words) {
    Lines kept;
    for (auto line = words.begin(); line != words.end(); ++line) {
        const auto next = std::next(line);
        const bool begins = is_dashed(*line) && next != words.end() && next->starts_with("MPI_ABORT was invoked on");
        const auto end = begins ? std::find_if(next, words.end(), is_dashed) : words.end();
        if (end == words.end())
            kept.push_back(*line);
        else
            line = end;
    }
    return kept;
}

}  // namespace

Lines last_words(const std::vector<std::string>& stderr_tail) {
    Lines words;
    for (const std::string& each : stderr_tail)
        if (std::string shown = as_seen(each); shown.find_first_not_of(" \t") != std::string::npos)
            words.push_back(std::move(shown));
    Lines own = without_abort_note(words);
    return own.empty() ? words : own;
}

std::string as_seen(std::string_view text) {
    text = without_line_end(text);
    if (const std::size_t start = text.rfind('\r'); start != std::string_view::npos) text.remove_prefix(start + 1);
    std::string plain;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = text.substr(at).starts_with("\x1b[") ? text.find_first_not_of("0123456789;", at + 2)
                                                                     : std::string_view::npos;
        if (end != std::string_view::npos && (text[end] == 'm' || text[end] == 'K'))
            at = end + 1;
        else
            plain += text[at++];
    }
    return shorten_middle(printable(plain), kMostLastWordColumns);
}

std::string ranks_text(const std::vector<int>& ranks) {
    constexpr std::size_t kMostColumns = 75;
    return fmt::format("rank{} {}", ranks.size() > 1 ? "s" : "",
                       shorten_middle(base::number_ranges(ranks, ", "), kMostColumns));
}

Lines message_of(const Failure& failure) {
    Lines message = lines_of(failure.record ? failure.record->message : failure.message);
    std::erase_if(message, [](const std::string& each) { return each.find_first_not_of(" \t") == std::string::npos; });
    return message;
}

Lines stack_of(const ErrorRecord& record, const Lines& message) {
    Lines stack = lines_of(record.callstack);
    std::erase_if(stack, [&](const std::string& each) {
        return each.empty() || std::ranges::find(message, each) != message.end();
    });
    return stack;
}

}  // namespace dlaunch::agent
