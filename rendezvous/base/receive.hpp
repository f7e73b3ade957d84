#pragma once
/// Receives a known number of bytes from a blocking stream socket.

#include <sys/socket.h>
#include <sys/types.h>

#include <cerrno>
#include <cstddef>

namespace dlaunch::base {

/// False, with errno, if not all bytes arrive; ECONNRESET: the peer has closed; EAGAIN: the socket's receive time-out.
[[nodiscard]] inline bool receive_all(int socket, void* into, std::size_t size) {
    ssize_t got = 0;
    do got = recv(socket, into, size, MSG_WAITALL);
    while (got < 0 && errno == EINTR);
    if (got >= 0 && got < static_cast<ssize_t>(size)) errno = ECONNRESET;
    return got == static_cast<ssize_t>(size);
}

}  // namespace dlaunch::base
