#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/start/messages.hpp"
#include "rendezvous/base/fd.hpp"

namespace dlaunch::launcher {

/// Sends the log files of a node to the front end when its dlaunch has ended: --collect-logs. Reads files of a new
/// folder of this node, piece by piece, as far as the front end has written the earlier ones.
class LogSender {
public:
    /// Makes an empty folder below `temporary`, or /tmp if that is empty; an empty path: it cannot be made.
    [[nodiscard]] static std::filesystem::path make_folder(const std::string& temporary);

    /// Removes `folder` at the end. `send` takes a frame.
    LogSender(std::filesystem::path folder, std::function<void(std::string_view frame)> send);
    ~LogSender();
    LogSender(const LogSender&) = delete;
    LogSender& operator=(const LogSender&) = delete;

    /// Lists the files, and sends the first bytes. True: everything has been sent.
    [[nodiscard]] bool begin();
    /// The front end has written so many bytes.
    [[nodiscard]] bool taken(std::size_t bytes);

private:
    [[nodiscard]] bool send_more();

    const std::filesystem::path folder_;
    const base::UniqueFd held_;  ///< its lock: another run may not remove it
    const std::function<void(std::string_view)> send_;
    std::vector<std::filesystem::path> files_;  ///< still to be sent, the next one last
    base::UniqueFd open_;
    std::size_t credit_ = kOutputCredit;
};

}  // namespace dlaunch::launcher
