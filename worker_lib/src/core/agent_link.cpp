#include "worker_lib/src/core/agent_link.hpp"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sstream>

#include "worker_lib/src/core/group.hpp"
#include "worker_lib/src/core/of_this_process.hpp"
#include "worker_lib/src/core/sentinel.hpp"
#include "worker_lib/src/meeting/environment.hpp"

namespace dlaunch::worker {
namespace {

constexpr std::size_t kLongestLine = 4096;
constexpr timeval kPatience{1, 0};  // for an agent that stands still

}  // namespace

AgentLink& AgentLink::instance() {
    return of_this_process<AgentLink>([] { return new AgentLink; });
}

void AgentLink::follow(const std::shared_ptr<Group>& group) {
    std::vector<Loss> before;
    {
        const std::lock_guard lock(mutex_);
        if (!tried_) connect();
        if (!socket_) return;
        std::erase_if(groups_, [](const auto& other) { return other.expired(); });
        groups_.push_back(group);
        before = losses_;
    }
    for (const Loss& loss : before) group->lose(loss.first, loss.count, loss.words);
}

std::optional<std::string> AgentLink::why_lost(int rank) {
    const std::lock_guard lock(mutex_);
    if (!tried_) connect();
    for (const Loss& loss : losses_)
        if (rank >= loss.first && rank - loss.first < loss.count) return loss.words;
    return std::nullopt;
}

base::UniqueFd connect_to_agent() {
    const auto path = variable("DLAUNCH_AGENT_SOCKET");
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (!path || path->size() >= sizeof address.sun_path) return {};
    std::memcpy(address.sun_path, path->c_str(), path->size() + 1);
    base::UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!socket || setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &kPatience, sizeof kPatience) != 0 ||
        ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
        return {};
    return socket;
}

void AgentLink::connect() {
    tried_ = true;
    base::UniqueFd socket = connect_to_agent();
    constexpr std::string_view kFollow = "losses\n";
    if (!socket ||
        send(socket.get(), kFollow.data(), kFollow.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(kFollow.size()))
        return;
    socket_ = std::move(socket);
    Sentinel::instance().listen(socket_.get(), [this] { return hear(); });
}

/// False: nothing will come any more.
bool AgentLink::hear() {
    char bytes[1024];
    const ssize_t got = recv(socket_.get(), bytes, sizeof bytes, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return true;
    if (got <= 0 || held_.size() > kLongestLine) return false;
    held_.append(bytes, static_cast<std::size_t>(got));
    for (std::size_t end; (end = held_.find('\n')) != std::string::npos; held_.erase(0, end + 1))
        take(held_.substr(0, end));
    return true;
}

void AgentLink::take(const std::string& line) {
    std::istringstream text(line);
    std::string word;
    Loss loss{};
    if (!(text >> word >> loss.first >> loss.count) || word != "lost") return;
    std::getline(text >> std::ws, loss.words);
    std::vector<std::shared_ptr<Group>> groups;
    {
        const std::lock_guard lock(mutex_);
        losses_.push_back(loss);
        for (const auto& group : groups_)
            if (auto alive = group.lock()) groups.push_back(std::move(alive));
    }
    for (const auto& group : groups) group->lose(loss.first, loss.count, loss.words);
}

}  // namespace dlaunch::worker
