#pragma once
/// Parses option values. No I/O. An error contains only the expectation ("expected a port from 0 to 65535"); the caller
/// prepends the source of the text.

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/plan.hpp"
#include "rendezvous/base/result.hpp"

namespace dlaunch::launcher {

template <class T>
using Parsed = base::Result<T>;

/// Parses a whole number, with optional blanks around it; none if the text has another form or the number is out of
/// range.
[[nodiscard]] std::optional<std::int64_t> whole_number(std::string_view text, std::int64_t least, std::int64_t most);

/// A count or a rank, from 0. `what` names it in the error: "a number of restarts".
[[nodiscard]] Parsed<int> parse_count(std::string_view text, std::string_view what);

struct NodeRange {
    int min = 1, max = 1;
    bool operator==(const NodeRange&) const = default;
};
/// N or MIN:MAX.
[[nodiscard]] Parsed<NodeRange> parse_nnodes(std::string_view text);

/// --nproc-per-node and -n as given. `total`: on all nodes together; the last four: as many as there are devices.
struct WorkerCount {
    enum class Kind { number, total, automatic, cpu, gpu, xpu, hpu, npu } kind = Kind::number;
    std::int64_t number = 1;
    bool operator==(const WorkerCount&) const = default;
};
[[nodiscard]] Parsed<WorkerCount> parse_nproc(std::string_view text);
/// -n: a number.
[[nodiscard]] Parsed<WorkerCount> parse_total(std::string_view text);

/// 1/0, true/false, yes/no, on/off.
[[nodiscard]] Parsed<bool> parse_switch(std::string_view text);

/// Seconds, or with the unit ms, s, m, min, h or d; whole or decimal, from 0. A positive value is at least a
/// millisecond.
[[nodiscard]] Parsed<std::chrono::milliseconds> parse_seconds(std::string_view text);

/// The same, above 0.
[[nodiscard]] Parsed<std::chrono::milliseconds> parse_seconds_above_zero(std::string_view text);

struct Backoff {
    std::chrono::milliseconds first{100}, most{30'000};
};
/// FIRST or FIRST:MAX; `most` is the default of MAX.
[[nodiscard]] Parsed<Backoff> parse_backoff(std::string_view text, std::chrono::milliseconds most = Backoff{}.most);

[[nodiscard]] Parsed<int> parse_port(std::string_view text, int least);

struct Rotation {
    std::uint64_t bytes = 0;
    int keep = 5;
};
/// SIZE[:KEEP]; SIZE in bytes or with K, M, G (times 1024).
[[nodiscard]] Parsed<Rotation> parse_rotation(std::string_view text);

/// A number of runs from 1, or "all": LogPlan::keep_runs.
[[nodiscard]] Parsed<int> parse_keep_runs(std::string_view text);

/// torchrun's -r and -t: 0..3, or RANK:0..3 separated by commas. The last entry of a rank counts.
[[nodiscard]] Parsed<agent::StreamChoice> parse_streams(std::string_view text);

/// "0,2-4"; "all" is none.
[[nodiscard]] Parsed<std::optional<std::set<int>>> parse_ranks(std::string_view text);

/// none, all or a rank.
[[nodiscard]] Parsed<agent::StdinPlan> parse_stdin(std::string_view text);

/// RANKS:COMMAND, the command split as a shell would.
[[nodiscard]] Parsed<agent::Wrap> parse_wrap(std::string_view text);

/// One of a table row's choices, of which there are two at least.
[[nodiscard]] Parsed<std::string> parse_choice(std::string_view text, const std::vector<std::string_view>& choices);

/// none, cores, numa, socket, exclusive, core-complex; torchrun's node is numa.
[[nodiscard]] Parsed<agent::Binding> parse_binding(std::string_view text);

/// NAME=VALUE.
[[nodiscard]] Parsed<std::pair<std::string, std::string>> parse_assignment(std::string_view text);

/// Substrings of lines to copy: TEXT,TEXT; ",," is a comma.
[[nodiscard]] Parsed<std::vector<std::string>> parse_filters(std::string_view text);

/// Any text, also an empty one.
[[nodiscard]] Parsed<std::string> parse_any(std::string_view text);

/// Any text that is not empty. `what` names it in the error: "a directory".
[[nodiscard]] Parsed<std::string> parse_text(std::string_view text, std::string_view what);

}  // namespace dlaunch::launcher
