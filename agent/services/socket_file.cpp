#include "agent/services/socket_file.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "agent/process/leftovers.hpp"

namespace dlaunch::agent {
namespace {

constexpr int kBacklog = 4096;  // all workers of a node connect at once

}  // namespace

/// Making a folder takes a tenth of the time of a worker's start, so an existing one is shared.
void SocketFile::make(const std::string& folder, const std::string& temporary) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const auto fits = [&](const std::string& where) {
        return where.size() + std::strlen("/socket") < sizeof address.sun_path;
    };
    if (folder.empty() || !fits(folder)) {
        std::string own = temporary + "/dlaunch-agent-XXXXXX";
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
}

void SocketFile::remove() {
    if (!path_.empty()) unlink(path_.c_str());
    if (!folder_.empty()) rmdir(folder_.c_str());
    path_.clear();
    folder_.clear();
}

}  // namespace dlaunch::agent
