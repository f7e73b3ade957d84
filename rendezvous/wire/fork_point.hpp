#pragma once
/// --start-method=fork: what the agent, the template and the template's forks say to each other.
///
/// The template connects to the agent's socket and says the line "fork point", or "fork point" and why it cannot be
/// forked. From then on a byte of the agent's on that connection is the order to make one worker. With it comes the
/// worker's line, a socket of whole messages, on which all else is said:
///
///     template, then worker        agent
///       made PID         ------->        it watches the process, and gives it its cgroup and processors
///                        <-------  go    a byte, and with it the descriptors of ForkFile
///       runs             ------->        the worker has its files and its session, and goes on from the fork point
///
/// or, at its place, why not: `cannot`, `killed`. The template forks twice and tells of a worker when the process
/// between has ended: the worker is an orphan then, and an orphan of a subreaper is the agent's own child as any other
/// worker. A line that ends before its first word tells that the template has ended; a worker whose line ends before
/// its "go" exits.

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace dlaunch::wire {

inline constexpr std::string_view kForkPoint = "fork point";

/// In this order: a worker's standard files, and a file of its variables, "NAME=value", each with its null byte.
enum ForkFile : std::size_t { kForkStdin, kForkStdout, kForkStderr, kForkVariables };
inline constexpr std::size_t kForkFiles = 4;

struct ForkWord {
    enum class Kind : std::int32_t {
        made,    ///< `value`: its pid
        runs,    ///< `value`: 0
        cannot,  ///< `value`: errno. Of the template: make it; of the worker: take its place
        killed,  ///< `value`: the signal that ended it, or the process between, before it was known
    };
    Kind kind = Kind::made;
    std::int32_t value = 0;
};

}  // namespace dlaunch::wire
