#pragma once
/// --start-method=fork: the protocol between the agent, the template and the template's forks.
///
/// The template connects to the agent's socket and sends the line "fork point", followed by a reason if it cannot be
/// forked. After that each byte from the agent on this connection requests one worker. The byte carries a descriptor,
/// the worker's channel: a SOCK_SEQPACKET socket for all further messages about this worker:
///
///     template, then worker        agent
///       made PID         ------->        watches the process, sets its cgroup and CPU affinity
///                        <-------  go    a byte that carries the descriptors of ForkFile
///       runs             ------->        the worker has its files and session, and continues from the fork point
///
/// `cannot` or `killed` in place of `made` or `runs` report a failure. The template forks twice and sends `made` when
/// the intermediate process has exited: the worker, now an orphan, has then been reparented to the nearest subreaper,
/// the agent, and is its child like any other worker. A channel that closes before its first message means that the
/// template has exited; a worker exits if its channel closes before "go".

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace dlaunch::wire {

inline constexpr std::string_view kForkPoint = "fork point";

/// The descriptors sent with "go", in this order: standard streams, and a file of null-terminated "NAME=value" strings.
enum ForkFile : std::size_t { kForkStdin, kForkStdout, kForkStderr, kForkVariables };
inline constexpr std::size_t kForkFiles = 4;

struct ForkMessage {
    enum class Kind : std::int32_t {
        made,    ///< `value`: its pid
        runs,    ///< `value`: 0
        cannot,  ///< `value`: errno of a failed fork (from the template) or of a failed setup (from the worker)
        killed,  ///< `value`: the signal that killed the worker or the intermediate process before `made`
    };
    Kind kind = Kind::made;
    std::int32_t value = 0;
};

}  // namespace dlaunch::wire
