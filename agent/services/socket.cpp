#include "agent/services/socket.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "agent/errors/escape.hpp"
#include "agent/process/leftovers.hpp"
#include "rendezvous/base/host.hpp"
#include "rendezvous/wire/fork_point.hpp"

namespace dlaunch::agent {
namespace {

using namespace std::chrono_literals;

constexpr int kBacklog = 4096;           // all workers of a node come at once
constexpr std::size_t kClients = 4096;   // more than a node has workers; others get the status at once
constexpr std::size_t kMostSaid = 64;    // bytes, of a client that has not said its line
constexpr std::size_t kMostWords = 400;  // of a loss
constexpr auto kPatience = 100ms;
constexpr std::size_t kMostReason = 4096;  // of a template that cannot be forked
constexpr std::string_view kFollow = "losses\n", kForkPoint = wire::kForkPoint;

}  // namespace

/// The folder costs as much as a tenth of the start of a worker, so it is shared where there is one already.
AgentSocket::AgentSocket(base::Loop& loop, const std::string& folder, std::function<std::string()> status)
    : loop_(loop), status_(std::move(status)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const auto fits = [&](const std::string& where) {
        return where.size() + std::strlen("/socket") < sizeof address.sun_path;
    };
    if (folder.empty() || !fits(folder)) {
        std::string own = base::temporary_folder() + "/dlaunch-agent-XXXXXX";
        if (!fits(own)) own = "/tmp/dlaunch-agent-XXXXXX";
        if (!mkdtemp(own.data())) return;
        folder_ = own;
        lock_ = hold_folder(own);
    }
    const std::string path = (folder_.empty() ? folder : folder_) + "/socket";
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    listener_.reset(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!listener_ || bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return;
    path_ = path;
    listen(listener_.get(), kBacklog);
    watch_ = loop.readable(listener_.get(), [this] { serve(); });
}

AgentSocket::~AgentSocket() {
    if (!path_.empty()) unlink(path_.c_str());
    if (!folder_.empty()) rmdir(folder_.c_str());
}

void AgentSocket::serve() {
    base::UniqueFd client(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    ucred peer{};
    socklen_t size = sizeof peer;
    if (!client && errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
        watch_ = {};  // no descriptor left: do not spin
    if (!client || getsockopt(client.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return;
    if (peer.uid != geteuid() && peer.uid != 0) return;
    if (clients_.size() >= kClients) return answer(client);
    const int descriptor = client.get();
    Client& made = clients_[descriptor];
    made.socket = std::move(client);
    made.peer = peer.pid;
    made.heard = loop_.readable(descriptor, [this, descriptor] { hear(descriptor); });
    if (!expected_ || !expected_(peer.pid))
        made.patience = loop_.after(kPatience, [this, descriptor] { lose_patience(descriptor); });
}

/// It may have said its line while we stood still.
void AgentSocket::lose_patience(int descriptor) {
    hear(descriptor);
    const auto client = clients_.find(descriptor);
    if (client == clients_.end() || client->second.follows) return;
    answer(client->second.socket);
    clients_.erase(client);
}

/// The line fits the socket's buffer for a thousand workers; who does not read gets what fits.
void AgentSocket::answer(const base::UniqueFd& socket) const {
    const std::string line = status_() + "\n";
    send(socket.get(), line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

void AgentSocket::hear(int descriptor) {
    const auto client = clients_.find(descriptor);
    char bytes[kMostSaid];
    const ssize_t got = recv(descriptor, bytes, sizeof bytes, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (client->second.follows) {  // it has nothing more to say
        clients_.erase(client);
        return;
    }
    std::string& said = client->second.said;
    if (got > 0) said.append(bytes, static_cast<std::size_t>(got));
    if (said == kFollow) return follow(client);
    if (got > 0 && fork_point_ && said.starts_with(kForkPoint)) {
        if (!said.ends_with('\n') && said.size() < kMostReason) return;
        Client gone = std::move(client->second);
        clients_.erase(client);
        gone.heard = {};
        return fork_point_(std::move(gone.socket), gone.peer, gone.said.substr(kForkPoint.size()));
    }
    if (got > 0 && (kFollow.starts_with(said) || kForkPoint.starts_with(said))) return;
    answer(client->second.socket);
    clients_.erase(client);
}

void AgentSocket::follow(Clients::iterator client) {
    client->second.follows = true;
    client->second.patience = {};
    if (!push(client->second, losses_)) clients_.erase(client);
}

bool AgentSocket::push(const Client& client, std::string_view text) {
    return send(client.socket.get(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT) ==
           static_cast<ssize_t>(text.size());
}

void AgentSocket::begin_round() {
    losses_.clear();
    std::erase_if(clients_, [](const auto& at) { return at.second.follows; });  // of workers that live no more
}

void AgentSocket::tell_lost(const rendezvous::LostRanks& ranks, std::string_view words) {
    if (ranks.count <= 0) return;
    std::string line = fmt::format("lost {} {} {}\n", ranks.first, ranks.count, printable(words.substr(0, kMostWords)));
    std::erase_if(clients_, [&](const auto& at) { return at.second.follows && !push(at.second, line); });
    losses_ += line;
}

}  // namespace dlaunch::agent
