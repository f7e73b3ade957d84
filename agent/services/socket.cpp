#include "agent/services/socket.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "agent/process/leftovers.hpp"
#include "rendezvous/base/host.hpp"

namespace dlaunch::agent {
namespace {

using namespace std::chrono_literals;

constexpr int kBacklog = 4096;                // all workers of a node connect at once
constexpr std::size_t kMostClients = 4096;    // with an incomplete request or reply
constexpr std::size_t kMostLineBytes = 8192;  // a template's obstacle may be long
constexpr auto kAcceptPause = 100ms;          // while descriptors or memory are short

bool is_shortage(int error) { return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM; }

}  // namespace

/// Making a folder takes a tenth of the time of a worker's start, so an existing one is shared.
AgentSocket::AgentSocket(base::Loop& loop, const std::string& folder) : loop_(loop) {
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
    ::listen(listener_.get(), kBacklog);
    listen();
}

AgentSocket::~AgentSocket() {
    if (!path_.empty()) unlink(path_.c_str());
    if (!folder_.empty()) rmdir(folder_.c_str());
}

void AgentSocket::listen() {
    watch_ = loop_.readable(listener_.get(), [this] { accept(); });
}

/// Clients wait in the kernel's queue meanwhile; a watch on the listener would spin.
void AgentSocket::accept_later() {
    watch_ = {};
    accept_again_ = loop_.after(kAcceptPause, [this] { listen(); });
}

void AgentSocket::accept() {
    if (clients_.size() >= kMostClients) return accept_later();
    base::UniqueFd connection(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
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
        if (end != std::string::npos) line.resize(end);
        if (got == 0 || end != std::string::npos) return handle(client);
        if (line.size() > kMostLineBytes) return reply(client, "error the request is too long\n");
    }
}

void AgentSocket::handle(Clients::iterator client) {
    const std::string& line = client->second.line;
    if (line.empty() || line == "status") return reply(client, status_() + "\n");
    for (const auto& [name, handler] : handlers_) {
        if (!line.starts_with(name) || (line.size() > name.size() && line[name.size()] != ' ')) continue;
        Client served = std::move(client->second);
        clients_.erase(client);
        served.watch = {};
        const std::size_t rest = std::min(served.line.size(), name.size() + 1);
        return handler({std::move(served.connection), served.peer, served.line.substr(rest)});
    }
    reply(client, "error unknown request, expected status or losses\n");
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
