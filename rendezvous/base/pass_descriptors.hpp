#pragma once
/// Passing descriptors between processes: SCM_RIGHTS with a single byte of data on a local socket.

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "rendezvous/base/fd.hpp"

namespace dlaunch::base {

/// A message of one byte with N descriptors.
template <std::size_t N>
struct DescriptorsMessage {
    static constexpr std::size_t kBytes = N * sizeof(int);
    char byte = 0;
    iovec bytes{&byte, sizeof byte};
    alignas(cmsghdr) char control[CMSG_SPACE(kBytes)] = {};
    msghdr head{};

    DescriptorsMessage() {
        head.msg_iov = &bytes;
        head.msg_iovlen = 1;
        head.msg_control = control;
        head.msg_controllen = sizeof control;
    }
    DescriptorsMessage(const DescriptorsMessage&) = delete;
    DescriptorsMessage& operator=(const DescriptorsMessage&) = delete;
};

/// Does not block. False, with errno, if the message cannot be sent at once.
template <std::size_t N>
[[nodiscard]] bool send_descriptors(int socket, const std::array<int, N>& files) {
    DescriptorsMessage<N> message;
    cmsghdr* const passed = CMSG_FIRSTHDR(&message.head);
    passed->cmsg_level = SOL_SOCKET;
    passed->cmsg_type = SCM_RIGHTS;
    passed->cmsg_len = CMSG_LEN(message.kBytes);
    std::memcpy(CMSG_DATA(passed), files.data(), message.kBytes);
    return sendmsg(socket, &message.head, MSG_NOSIGNAL | MSG_DONTWAIT) == static_cast<ssize_t>(sizeof message.byte);
}

/// too_many_open: this process has reached its limit of descriptors
enum class Passed { all, nothing, too_many_open };

/// Blocks; Passed::nothing: the peer has closed the socket. The received descriptors have O_CLOEXEC.
template <std::size_t N>
[[nodiscard]] Passed receive_descriptors(int socket, std::array<UniqueFd, N>& files) {
    DescriptorsMessage<N> message;
    ssize_t got = 0;
    do got = recvmsg(socket, &message.head, MSG_CMSG_CLOEXEC);
    while (got < 0 && errno == EINTR);
    if (got != sizeof message.byte) return Passed::nothing;
    const cmsghdr* const passed = CMSG_FIRSTHDR(&message.head);
    const std::size_t count = passed ? (passed->cmsg_len - CMSG_LEN(0)) / sizeof(int) : 0;
    std::array<int, N> descriptors;
    if (count > 0) std::memcpy(descriptors.data(), CMSG_DATA(passed), count * sizeof(int));
    for (std::size_t file = 0; file < count; ++file) files[file].reset(descriptors[file]);
    return count == N ? Passed::all : Passed::too_many_open;
}

}  // namespace dlaunch::base
