#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "agent/process/guard.hpp"
#include "agent/process/guard_message.hpp"
#include "agent/process/signals.hpp"

namespace dlaunch::agent {
namespace {

constexpr std::size_t kMostDescriptors = 2 + base::CoordinatorSeat::kMostListeners;
constexpr auto kFencingTakes = std::chrono::seconds(5);  // the guard's own deadline for it

// Ignores errors: receive() detects a dead guard. A path that does not fit is longer than PATH_MAX, so the folder
// cannot exist.
void send_to_guard(int socket, GuardMessage::Kind kind, const std::string& text, int number = 0) {
    GuardMessage message{.kind = kind, .number = number};
    if (text.size() >= sizeof message.text) return;
    std::memcpy(message.text, text.c_str(), text.size() + 1);
    send(socket, &message, sizeof message, MSG_NOSIGNAL);
}

}  // namespace

GuardLink::Received GuardLink::receive() {
    GuardMessage message;
    const ssize_t got = recv(socket_.get(), &message, sizeof message, MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) return {Kind::guard_died, {}};
    if (got != sizeof message || message.kind != GuardMessage::Kind::signals) return {};
    if (sigismember(&message.set, SIGCONT) == 1) ++continued_;
    return {Kind::signals, message.set};
}

void GuardLink::ready(bool keeps_status) {
    const sigset_t taken = taken_signals();
    sigprocmask(SIG_BLOCK, &taken, nullptr);
    send_to_guard(socket_.get(), GuardMessage::Kind::ready, {}, keeps_status ? 1 : 0);
    prctl(PR_SET_PDEATHSIG, SIGCONT);
}

void GuardLink::register_cgroup(const std::string& folder) {
    send_to_guard(socket_.get(), GuardMessage::Kind::cgroup, folder);
}
void GuardLink::register_folder(const std::string& folder) {
    if (!folder.empty()) send_to_guard(socket_.get(), GuardMessage::Kind::folder, folder);
}

void GuardLink::register_shared_memory() { send_to_guard(socket_.get(), GuardMessage::Kind::shared_memory, ""); }

void GuardLink::received(int signal) { send_to_guard(socket_.get(), GuardMessage::Kind::received, {}, signal); }

void GuardLink::register_nodes() { send_to_guard(socket_.get(), GuardMessage::Kind::nodes, ""); }

namespace {

/// Sends copies of the descriptors with the message.
bool send_with(int socket, GuardMessage message, std::span<const int> descriptors) {
    iovec part{&message, sizeof message};
    alignas(cmsghdr) char control[CMSG_SPACE(kMostDescriptors * sizeof(int))] = {};
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    if (!descriptors.empty()) {
        header.msg_control = control;
        header.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
        cmsghdr* with = CMSG_FIRSTHDR(&header);
        with->cmsg_level = SOL_SOCKET;
        with->cmsg_type = SCM_RIGHTS;
        with->cmsg_len = CMSG_LEN(descriptors.size_bytes());
        std::memcpy(CMSG_DATA(with), descriptors.data(), descriptors.size_bytes());
    }
    return sendmsg(socket, &header, MSG_NOSIGNAL | MSG_DONTWAIT) > 0;
}

}  // namespace

void GuardLink::keep_connection(int connection, std::string_view gone, std::string_view returns) {
    GuardMessage message{.kind = GuardMessage::Kind::connection};
    const std::size_t size = gone.copy(message.text, kLongestGoodbye);
    message.size = static_cast<int>(size + returns.copy(message.text + size, kLongestGoodbye));
    const std::span<const int> with(&connection, connection >= 0 ? 1 : 0);
    send_with(socket_.get(), message, with);
}

bool GuardLink::host_coordinator(int job, int record, std::span<const int> listeners, bool only) {
    GuardMessage message{.kind = GuardMessage::Kind::coordinator, .number = only ? 1 : 0};
    std::vector<int> descriptors{job, record};
    descriptors.insert(descriptors.end(), listeners.begin(),
                       listeners.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(
                                               listeners.size(), base::CoordinatorSeat::kMostListeners)));
    hosts_coordinator_ = send_with(socket_.get(), message, descriptors);
    if (hosts_coordinator_) keep_record(record);
    return hosts_coordinator_;
}

void GuardLink::no_more_hosts() { send_to_guard(socket_.get(), GuardMessage::Kind::no_more_hosts, ""); }

void GuardLink::share_status(int listener, int count) {
    const GuardMessage message{.kind = GuardMessage::Kind::status_socket, .number = count};
    send_with(socket_.get(), message, {&listener, 1});
}

void GuardLink::keep_last_record(int file) {
    const GuardMessage message{.kind = GuardMessage::Kind::last_record};
    send_with(socket_.get(), message, {&file, file >= 0 ? 1U : 0U});
}

void GuardLink::keep_record(int record) { record_ = base::UniqueFd(fcntl(record, F_DUPFD_CLOEXEC, 0)); }

void GuardLink::report_suspended(int stop_signal) {
    const GuardMessage message{.kind = GuardMessage::Kind::suspended, .number = stop_signal, .continued = continued_};
    send(socket_.get(), &message, sizeof message, MSG_NOSIGNAL);
}

void GuardLink::announce_end(int status, std::string_view text, bool waited_for_console) {
    GuardMessage message{.kind = GuardMessage::Kind::ending, .number = status};
    message.waited_for_console = waited_for_console;
    text.copy(message.text, sizeof message.text - 1);
    send(socket_.get(), &message, sizeof message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/// The queue of a stopped guard (Ctrl-Z) may be full; it holds an earlier lease message then.
bool GuardLink::let_workers_live_until(base::Time until, std::chrono::milliseconds rejoin) {
    if (!lease_) return true;
    const Lease::Grant grant = lease_->grant(until);
    if (grant == Lease::Grant::begun) {
        const auto number = static_cast<int>(std::min<std::int64_t>(rejoin.count(), INT_MAX));
        const GuardMessage message{.kind = GuardMessage::Kind::lease, .number = number};
        send(socket_.get(), &message, sizeof message, MSG_NOSIGNAL | MSG_DONTWAIT);
    }
    return grant != Lease::Grant::fenced;
}

std::string death_of_guard(pid_t guard) {
    return "the guard (pid " + std::to_string(guard) +
           "), the process that was started, was killed; so were all workers";
}

void GuardLink::no_workers_live() {
    if (lease_) lease_->lift(kFencingTakes);
}

}  // namespace dlaunch::agent
