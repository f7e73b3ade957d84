#pragma once
/// Hands the exit status of a guard to the scheduler's other tasks on its host, which wait for the job's end. The tasks
/// connect to a socket with an abstract name: no file stays, and the kernel closes every connection when the guard dies
/// in whatever way. The guard accepts no connection before its own end.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "rendezvous/base/fd.hpp"
#include "rendezvous/base/loop.hpp"
#include "rendezvous/base/result.hpp"

namespace dlaunch::agent {

/// Listens at the name. Another process of this or of another user may hold it.
[[nodiscard]] base::Result<base::UniqueFd> open_status_socket(std::string_view name);

/// Sends `status` to each of the tasks 1 to `count` - 1 once, also to those that connect later. Returns when all have
/// it, or when `may_continue`, asked every 50 ms, returns false.
void deliver_status(int listener, int status, int count, const std::function<bool()>& may_continue);

/// The connection of task `index` to the guard at that name. An error with kRefused: a process of another user has the
/// name. None: no process listens yet.
[[nodiscard]] base::Result<base::UniqueFd> connect_to_status(std::string_view name, int index);

/// What has arrived on a readable connection.
struct StatusAnswer {
    enum class Kind : unsigned char {
        nothing,  ///< not yet
        status,   ///< of the guard
        later,    ///< this guard has served the task before: an earlier run of the task's. Connect again
        died,     ///< the guard was killed
    } kind = Kind::nothing;
    int status = 0;
};
[[nodiscard]] StatusAnswer read_status(int connection);

}  // namespace dlaunch::agent
