#include "agent/process/status_socket.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "rendezvous/base/exit_status.hpp"

namespace dlaunch::agent {
namespace {

using base::Error;
using base::UniqueFd;

constexpr int kBacklog = 4'096;      // the kernel's own default limit; a node has fewer tasks
constexpr int kLookMs = 50;          // between two questions to `may_continue`; for the index of a task
constexpr std::int32_t kLater = -1;  // in place of a status: connect again

struct Name {
    sockaddr_un address{};
    socklen_t size = 0;
};

/// A name begins with the user, so that the users of a host do not collide by chance.
Name name_of(std::string_view name) {
    Name made;
    made.address.sun_family = AF_UNIX;
    const std::string text = fmt::format("dlaunch-{}-{}", geteuid(), name);
    const std::size_t length = text.copy(made.address.sun_path + 1, sizeof made.address.sun_path - 1);
    made.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
    return made;
}

const sockaddr* generic(const Name& name) { return reinterpret_cast<const sockaddr*>(&name.address); }

UniqueFd new_socket() { return UniqueFd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)); }

bool is_ours(int connection) {
    ucred peer{};
    socklen_t size = sizeof peer;
    return getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == geteuid();
}

/// The index that a task sends as soon as it is connected; 0: none came in time. It is awaited, because a close with an
/// unread index would reset the connection, which the task takes for the guard's death.
int index_of(int connection, int count) {
    pollfd ready{connection, POLLIN, 0};
    std::int32_t index = 0;
    if (poll(&ready, 1, kLookMs) < 1 ||
        recv(connection, &index, sizeof index, MSG_DONTWAIT) != static_cast<ssize_t>(sizeof index))
        return 0;
    return index > 0 && index < count ? index : 0;
}

/// Answers the next task that is connected; false: none is.
bool answer_next(int listener, int status, std::vector<bool>& served) {
    const UniqueFd task(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!task) return false;
    if (!is_ours(task.get())) return true;
    const auto index = static_cast<std::size_t>(index_of(task.get(), static_cast<int>(served.size())));
    const std::int32_t answer = served[index] ? kLater : status;
    send(task.get(), &answer, sizeof answer, MSG_NOSIGNAL);
    served[index] = true;
    return true;
}

}  // namespace

base::Result<UniqueFd> open_status_socket(std::string_view name) {
    UniqueFd listener = new_socket();
    const Name place = name_of(name);
    if (!listener || bind(listener.get(), generic(place), place.size) != 0 || listen(listener.get(), kBacklog) != 0)
        return Error{fmt::format("another dlaunch of this task runs (socket {}: {}), expected one at a time, or "
                                 "--standalone",
                                 name, std::strerror(errno)),
                     exit_status::kRefused};
    return listener;
}

/// A task may end, run dlaunch again and connect before this guard exits. So the listener refuses connections at the
/// end, and the answer to those that are left is kLater: a mere close would look like the guard's death.
void deliver_status(int listener, int status, int count, const std::function<bool()>& may_continue) {
    std::vector<bool> served(static_cast<std::size_t>(count));
    served[0] = true;  // the guard's own task
    while (std::ranges::find(served, false) != served.end()) {
        if (answer_next(listener, status, served)) continue;
        pollfd ready{listener, POLLIN, 0};
        if (!may_continue() || poll(&ready, 1, kLookMs) < 0) break;
    }
    shutdown(listener, SHUT_RDWR);
    while (answer_next(listener, status, served)) {}
}

base::Result<UniqueFd> connect_to_status(std::string_view name, int index) {
    UniqueFd connection = new_socket();
    const Name place = name_of(name);
    if (!connection || connect(connection.get(), generic(place), place.size) != 0) return UniqueFd();
    if (!is_ours(connection.get()))
        return Error{fmt::format("a process of another user holds the socket {}, expected dlaunch", name),
                     exit_status::kRefused};
    const auto own = static_cast<std::int32_t>(index);
    if (send(connection.get(), &own, sizeof own, MSG_NOSIGNAL) < 0) return UniqueFd();
    return connection;
}

StatusAnswer read_status(int connection) {
    using Kind = StatusAnswer::Kind;
    std::int32_t answer = 0;
    const ssize_t got = recv(connection, &answer, sizeof answer, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return {};
    if (got != static_cast<ssize_t>(sizeof answer)) return {Kind::died};
    return answer == kLater ? StatusAnswer{Kind::later} : StatusAnswer{Kind::status, answer};
}

}  // namespace dlaunch::agent
