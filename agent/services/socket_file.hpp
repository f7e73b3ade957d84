#pragma once

#include <string>

#include "rendezvous/base/fd.hpp"

namespace dlaunch::agent {

/// The listening socket of socket.hpp in its folder. make() and remove() block as long as its disk does: call them on a
/// thread that may wait.
class SocketFile {
public:
    SocketFile() = default;  ///< none
    SocketFile(const SocketFile&) = delete;
    SocketFile& operator=(const SocketFile&) = delete;
    ~SocketFile() { remove(); }

    /// Makes the socket in `folder`; only this user may enter the folder, and the caller removes it. If the name is
    /// empty, or too long for a socket's path, makes a new folder in `temporary` (else /tmp). If that fails, path() is
    /// empty, and the job runs without the socket. Call once.
    void make(const std::string& folder, const std::string& temporary);
    /// Removes the socket and the new folder. Clients can connect no more.
    void remove();

    [[nodiscard]] const std::string& path() const { return path_; }
    /// The new folder; empty: none was made.
    [[nodiscard]] const std::string& folder() const { return folder_; }
    [[nodiscard]] int fd() const { return listener_.get(); }  ///< non-blocking

private:
    std::string folder_, path_;
    base::UniqueFd lock_;  ///< marks the folder as in use, see leftovers.hpp
    base::UniqueFd listener_;
};

}  // namespace dlaunch::agent
