#include "launcher/start/log_sender.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include "agent/process/leftovers.hpp"

namespace dlaunch::launcher {

namespace fs = std::filesystem;

fs::path LogSender::make_folder(const std::string& temporary) {
    std::string path = (temporary.empty() ? "/tmp" : temporary) + "/dlaunch-logs.XXXXXX";
    return mkdtemp(path.data()) ? fs::path(path) : fs::path();
}

LogSender::LogSender(fs::path folder, std::function<void(std::string_view)> send)
    : folder_(std::move(folder)), held_(agent::hold_folder(folder_.string())), send_(std::move(send)) {}

LogSender::~LogSender() {
    std::error_code ignored;
    if (!folder_.empty()) fs::remove_all(folder_, ignored);
}

/// Below the folder are one run folder and links to it, which are left out.
bool LogSender::begin() {
    std::error_code failed;
    for (fs::recursive_directory_iterator entry(folder_, failed), end; !failed && entry != end; entry.increment(failed))
        if (entry->is_regular_file(failed) && !entry->is_symlink(failed)) files_.push_back(entry->path());
    std::ranges::sort(files_, std::greater());
    return send_more();
}

bool LogSender::taken(std::size_t bytes) {
    credit_ = std::min(kOutputCredit, credit_ + bytes);
    return send_more();
}

bool LogSender::send_more() {
    std::array<char, 64 << 10> bytes;
    while (credit_ > 0) {
        if (!open_) {
            if (files_.empty()) return credit_ == kOutputCredit;
            const fs::path path = std::exchange(files_.back(), {});
            files_.pop_back();
            open_ = base::UniqueFd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
            const fs::path below = path.lexically_relative(folder_);
            send_(encode(FrameKind::file, below.lexically_relative(*below.begin()).string()));
            continue;
        }
        const ssize_t count = read(open_.get(), bytes.data(), std::min(bytes.size(), credit_));
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) {
            open_.reset();
            continue;
        }
        credit_ -= static_cast<std::size_t>(count);
        send_(encode(FrameKind::data, {bytes.data(), static_cast<std::size_t>(count)}));
    }
    return false;
}

}  // namespace dlaunch::launcher
