#include "worker_lib/src/core/agent_link.hpp"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sstream>

#include "worker_lib/src/bootstrap/environment.hpp"
#include "worker_lib/src/core/group.hpp"
#include "worker_lib/src/core/pid_watcher.hpp"
#include "worker_lib/src/core/process_singleton.hpp"

namespace dlaunch::worker {
namespace {

constexpr std::size_t kLongestLine = 4096;
constexpr timeval kSendTimeout{1, 0};  // bounds the wait for a stopped agent

}  // namespace

AgentLink& AgentLink::instance() {
    return process_singleton<AgentLink>([] { return new AgentLink; });
}

void AgentLink::subscribe(const std::shared_ptr<Group>& group) {
    std::vector<Loss> before;
    {
        const std::lock_guard lock(mutex_);
        if (!attempted_) connect();
        if (!socket_) return;
        std::erase_if(groups_, [](const auto& other) { return other.expired(); });
        groups_.push_back(group);
        before = losses_;
    }
    for (const Loss& loss : before) group->fail_lost(loss.first, loss.count, loss.reason);
}

std::optional<std::string> AgentLink::loss_reason(int rank) {
    const std::lock_guard lock(mutex_);
    if (!attempted_) connect();
    for (const Loss& loss : losses_)
        if (rank >= loss.first && rank - loss.first < loss.count) return loss.reason;
    return std::nullopt;
}

base::UniqueFd connect_to_agent() {
    const auto path = variable("DLAUNCH_AGENT_SOCKET");
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (!path || path->size() >= sizeof address.sun_path) return {};
    std::memcpy(address.sun_path, path->c_str(), path->size() + 1);
    base::UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!socket || setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &kSendTimeout, sizeof kSendTimeout) != 0 ||
        ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
        return {};
    return socket;
}

void AgentLink::connect() {
    attempted_ = true;
    base::UniqueFd socket = connect_to_agent();
    constexpr std::string_view kSubscribe = "losses\n";
    if (!socket || send(socket.get(), kSubscribe.data(), kSubscribe.size(), MSG_NOSIGNAL) !=
                       static_cast<ssize_t>(kSubscribe.size()))
        return;
    socket_ = std::move(socket);
    PidWatcher::instance().watch_fd(socket_.get(), [this] { return receive(); });
}

/// Reads complete lines. False: the connection has ended.
bool AgentLink::receive() {
    char bytes[1024];
    const ssize_t got = recv(socket_.get(), bytes, sizeof bytes, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return true;
    if (got <= 0 || partial_.size() > kLongestLine) return false;
    partial_.append(bytes, static_cast<std::size_t>(got));
    for (std::size_t end; (end = partial_.find('\n')) != std::string::npos; partial_.erase(0, end + 1))
        handle_line(partial_.substr(0, end));
    return true;
}

void AgentLink::handle_line(const std::string& line) {
    std::istringstream text(line);
    std::string kind;
    Loss loss{};
    if (!(text >> kind >> loss.first >> loss.count) || kind != "lost") return;
    std::getline(text >> std::ws, loss.reason);
    std::vector<std::shared_ptr<Group>> groups;
    {
        const std::lock_guard lock(mutex_);
        losses_.push_back(loss);
        for (const auto& group : groups_)
            if (auto alive = group.lock()) groups.push_back(std::move(alive));
    }
    for (const auto& group : groups) group->fail_lost(loss.first, loss.count, loss.reason);
}

}  // namespace dlaunch::worker
