#include "agent/errors/late_ranks.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "agent/errors/format.hpp"
#include "agent/errors/gdb_stack.hpp"
#include "rendezvous/base/escape.hpp"

namespace dlaunch::agent {

namespace {

constexpr std::string_view kInnermostFirst = "(most recent call first)";

/// The frames of a stack that Python's faulthandler has printed.
Lines printed_stack(const Failure& failure) {
    Lines stack;
    bool is_inside = false;
    for (const std::string& each : failure.stderr_tail) {
        if (is_inside) stack.push_back(as_seen(each));
        if (each.find(kInnermostFirst) == std::string::npos) continue;
        stack.clear();
        is_inside = true;
    }
    return stack;
}

/// The best stack that is known: with names, then as its worker gave it.
Lines stack_of(const Failure& failure) {
    if (Lines printed = printed_stack(failure); !printed.empty()) return failure.is_on_screen ? Lines() : printed;
    Lines frames = failure.stack;
    if (frames.empty() && failure.record) frames = stack_of(*failure.record, message_of(failure));
    frames = own_frames(std::move(frames));
    for (std::string& frame : frames) frame = shorten_middle(base::printable(frame), kMostErrorColumns);
    return frames;
}

struct StackOfRanks {
    Lines stack;
    std::vector<int> ranks;
};

/// Equal stacks once; those of the fewest ranks first: most ranks wait for the one that hangs.
std::vector<StackOfRanks> stacks_of(const std::vector<const Failure*>& causes) {
    std::vector<StackOfRanks> found;
    for (const Failure* cause : causes) {
        if (!is_late(*cause)) continue;
        Lines stack = stack_of(*cause);
        if (stack.empty()) continue;
        auto same = std::ranges::find(found, stack, &StackOfRanks::stack);
        if (same == found.end()) same = found.insert(found.end(), {std::move(stack), {}});
        same->ranks.push_back(cause->rank);
    }
    std::ranges::stable_sort(found, {}, [](const StackOfRanks& each) { return each.ranks.size(); });
    return found;
}

/// The innermost frame of which the source is known, else the innermost.
const std::string& place_of(const Lines& stack) {
    const auto known = std::ranges::find_if(stack, [](const std::string& frame) {
        return frame.find(':') != std::string::npos && frame.find("(../") == std::string::npos;
    });
    return known == stack.end() ? stack.front() : *known;
}

}  // namespace

bool is_late(const Failure& failure) { return failure.how == ExitKind::timed_out || failure.how == ExitKind::hung; }

Lines last_lines(std::vector<const Failure*> failures, std::size_t most) {
    std::ranges::stable_sort(failures, {}, &Failure::rank);
    const std::string kNoOutput = "no output";
    std::vector<std::pair<std::string, std::vector<int>>> rows;
    for (const Failure* failure : failures) {
        if (!is_late(*failure) && failure->last_line.empty()) continue;
        const std::string text =
            failure->last_line.empty()
                ? kNoOutput
                : fmt::format("{} ago: {}", duration_text(failure->silent_for.count()), as_seen(failure->last_line));
        auto row = std::ranges::find(rows, text, &std::pair<std::string, std::vector<int>>::first);
        if (row == rows.end()) row = rows.insert(rows.end(), {text, {}});
        row->second.push_back(failure->rank);
    }
    if (rows.empty() || (rows.size() == 1 && rows.front().first == kNoOutput)) return {};
    Lines lines{"last line of each rank:"};
    const std::size_t shown = rows.size() < most ? rows.size() : most - std::min<std::size_t>(most, 2);
    for (std::size_t at = 0; at < shown; ++at)
        line(lines, kMargin, "{}, {}", ranks_text(rows[at].second), shorten_middle(rows[at].first, kMostErrorColumns));
    if (rows.size() > shown) line(lines, kMargin, "and {} more", rows.size() - shown);
    return lines;
}

Lines late_stack(const std::vector<const Failure*>& causes, std::size_t most) {
    const std::vector<StackOfRanks> found = stacks_of(causes);
    if (found.empty() || most == 0) return {};
    Lines lines{fmt::format("{}, innermost frame first:", ranks_text(found.front().ranks))};
    const Lines& stack = found.front().stack;
    lines.insert(lines.end(), stack.begin(), stack.end());
    const bool others = found.size() > 1 && most > 2;
    if (lines.size() > most - (others ? 1 : 0)) lines.resize(most - (others ? 1 : 0));
    if (others)
        lines.push_back(fmt::format("{} at {}{}", ranks_text(found[1].ranks), place_of(found[1].stack),
                                    found.size() > 2 ? "; further stacks are in --report's file" : ""));
    return lines;
}

}  // namespace dlaunch::agent
