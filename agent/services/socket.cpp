#include "agent/services/socket.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace dlaunch::agent {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kMostClients = 4096;    // with an incomplete request or reply
constexpr std::size_t kMostLineBytes = 8192;  // a template's obstacle may be long
constexpr auto kAcceptPause = 100ms;          // while descriptors or memory are short

bool is_shortage(int error) { return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM; }

}  // namespace

AgentSocket::AgentSocket(base::Loop& loop, std::shared_ptr<const SocketFile> file)
    : loop_(loop), file_(std::move(file)) {
    if (!file_->path().empty()) listen();
}

void AgentSocket::listen() {
    watch_ = loop_.readable(file_->fd(), [this] { accept(); });
}

/// Clients wait in the kernel's queue meanwhile; a watch on the listener would spin.
void AgentSocket::accept_later() {
    watch_ = {};
    accept_again_ = loop_.after(kAcceptPause, [this] { listen(); });
}

void AgentSocket::accept() {
    if (clients_.size() >= kMostClients) return accept_later();
    base::UniqueFd connection(accept4(file_->fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!connection) {
        if (is_shortage(errno)) accept_later();
        return;
    }
    ucred peer{};
    socklen_t size = sizeof peer;
    if (getsockopt(connection.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return;
    if (peer.uid != geteuid() && peer.uid != 0) return;
    const int descriptor = connection.get();
    Client& client = clients_[descriptor];
    client.connection = std::move(connection);
    client.peer = peer.pid;
    client.watch = loop_.readable(descriptor, [this, descriptor] { read(clients_.find(descriptor)); });
    client.deadline = loop_.after(kRequestTimeout, [this, descriptor] { clients_.erase(descriptor); });
}

void AgentSocket::read(Clients::iterator client) {
    std::string& line = client->second.line;
    for (;;) {
        char bytes[512];
        const ssize_t got = recv(client->first, bytes, sizeof bytes, MSG_DONTWAIT);
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
        if (got < 0) {
            clients_.erase(client);
            return;
        }
        line.append(bytes, static_cast<std::size_t>(got));
        const std::size_t end = line.find('\n');
        if (end != std::string::npos) {
            client->second.more = line.substr(end + 1);
            line.resize(end);
        }
        if (got == 0 && line.empty()) line = "status";
        if (got == 0 || end != std::string::npos) return handle(client);
        if (line.size() > kMostLineBytes) return reply(client, "error the request is too long\n");
    }
}

void AgentSocket::handle(Clients::iterator client) {
    const std::string& line = client->second.line;
    if (line == "status") return reply(client, status_() + "\n");
    for (const auto& [name, handler] : handlers_) {
        if (!line.starts_with(name) || (line.size() > name.size() && line[name.size()] != ' ')) continue;
        Client served = std::move(client->second);
        clients_.erase(client);
        served.watch = {};
        const std::size_t rest = std::min(served.line.size(), name.size() + 1);
        return handler({std::move(served.connection), served.peer, served.line.substr(rest), std::move(served.more)});
    }
    reply(client, "error unknown request, expected status, losses or timers\n");
}

void AgentSocket::reply(Clients::iterator client, std::string text) {
    client->second.reply = std::move(text);
    const int descriptor = client->first;
    client->second.watch = {};
    client->second.watch = loop_.writable(descriptor, [this, descriptor] { send_reply(clients_.find(descriptor)); });
}

void AgentSocket::send_reply(Clients::iterator client) {
    std::string& text = client->second.reply;
    const ssize_t sent = send(client->first, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (sent > 0) text.erase(0, static_cast<std::size_t>(sent));
    if (sent < 0 || text.empty()) clients_.erase(client);
}

}  // namespace dlaunch::agent
