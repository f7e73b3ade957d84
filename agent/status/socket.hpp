#pragma once
/// The agent's local socket, DLAUNCH_AGENT_SOCKET: who connects as the same user gets one line of JSON about the node
/// and its workers, and the connection ends.

#include <functional>
#include <string>

#include "rendezvous/base/fd.hpp"
#include "rendezvous/base/loop.hpp"

namespace dlaunch::agent {

class StatusSocket {
public:
    /// Makes a folder of mode 0700 in $TMPDIR (else /tmp) with the socket in it. Where that fails path() is empty: the
    /// job runs without it. `status` gives the line, without a newline.
    StatusSocket(base::Loop& loop, std::function<std::string()> status);
    ~StatusSocket();

    [[nodiscard]] const std::string& path() const { return path_; }
    [[nodiscard]] const std::string& folder() const { return folder_; }

private:
    void serve();

    std::function<std::string()> status_;
    std::string folder_, path_;
    base::UniqueFd listener_;
    base::Watch watch_;
};

}  // namespace dlaunch::agent
