#pragma once
/// Descriptors on their way from one process to another: a byte on a local socket takes them along.

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "rendezvous/base/fd.hpp"

namespace dlaunch::base {

/// Waits for nobody. False, with errno, when it cannot be sent at once.
template <std::size_t N>
[[nodiscard]] bool send_files(int socket, const std::array<int, N>& files) {
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof files)] = {};
    char byte = 0;
    iovec bytes{&byte, sizeof byte};
    msghdr message{};
    message.msg_iov = &bytes;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof files);
    std::memcpy(CMSG_DATA(head), files.data(), sizeof files);
    return sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == static_cast<ssize_t>(sizeof byte);
}

enum class Passed { all, nothing, no_room };  ///< no_room: this process may not have so many descriptors

/// Waits; nothing: the other's end is closed. They are closed on exec.
template <std::size_t N>
[[nodiscard]] Passed receive_files(int socket, std::array<UniqueFd, N>& files) {
    std::array<int, N> descriptors;
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof descriptors)];
    char byte = 0;
    iovec bytes{&byte, sizeof byte};
    msghdr message{};
    message.msg_iov = &bytes;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    ssize_t got = 0;
    do got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    while (got < 0 && errno == EINTR);
    if (got != sizeof byte) return Passed::nothing;
    const cmsghdr* head = CMSG_FIRSTHDR(&message);
    const std::size_t count = head ? (head->cmsg_len - CMSG_LEN(0)) / sizeof(int) : 0;
    if (count > 0) std::memcpy(descriptors.data(), CMSG_DATA(head), count * sizeof(int));
    for (std::size_t file = 0; file < count; ++file) files[file].reset(descriptors[file]);
    return count == N ? Passed::all : Passed::no_room;
}

}  // namespace dlaunch::base
