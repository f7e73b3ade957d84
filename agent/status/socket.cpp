#include "agent/status/socket.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "rendezvous/base/host.hpp"

namespace dlaunch::agent {

StatusSocket::StatusSocket(base::Loop& loop, std::function<std::string()> status) : status_(std::move(status)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::string folder = base::temporary_folder() + "/dlaunch-agent-XXXXXX";
    if (folder.size() + std::strlen("/socket") >= sizeof address.sun_path) folder = "/tmp/dlaunch-agent-XXXXXX";
    if (!mkdtemp(folder.data())) return;
    folder_ = folder;

    const std::string path = folder + "/socket";
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    listener_.reset(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!listener_ || bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return;
    path_ = path;
    listen(listener_.get(), 64);
    watch_ = loop.readable(listener_.get(), [this] { serve(); });
}

StatusSocket::~StatusSocket() {
    if (!path_.empty()) unlink(path_.c_str());
    if (!folder_.empty()) rmdir(folder_.c_str());
}

void StatusSocket::serve() {
    base::UniqueFd client(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    ucred peer{};
    socklen_t size = sizeof peer;
    if (!client && errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
        watch_ = {};  // no descriptor left: do not spin
    if (!client || getsockopt(client.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return;
    if (peer.uid != geteuid() && peer.uid != 0) return;
    // The line fits the socket's buffer for a thousand workers; who connects and does not read gets what fits.
    const std::string line = status_() + "\n";
    send(client.get(), line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

}  // namespace dlaunch::agent
