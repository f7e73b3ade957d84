#include "rendezvous/base/connect.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>

namespace dlaunch::base {

bool await_ready(int socket, short events, Time deadline) {
    for (;;) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
        pollfd one{socket, events, 0};
        const int count = poll(&one, 1, static_cast<int>(std::clamp<std::int64_t>(left, 0, 1 << 30)));
        if (count > 0) return true;
        if (count == 0 && Clock::now() >= deadline) return false;
    }
}

int connect_by(UniqueFd& socket, const sockaddr* address, socklen_t size, Time deadline) {
    socket.reset(::socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket) return errno;
    const int yes = 1;
    setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    if (::connect(socket.get(), address, size) == 0) return 0;
    if (errno != EINPROGRESS && errno != EINTR) return errno;
    if (!await_ready(socket.get(), POLLOUT, deadline)) return ETIMEDOUT;
    int error = 0;
    socklen_t length = sizeof error;
    getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &length);
    return error;
}

}  // namespace dlaunch::base
