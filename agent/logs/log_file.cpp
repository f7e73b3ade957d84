#include "agent/logs/log_file.hpp"

#include <fcntl.h>

#include <cerrno>
#include <cstdio>

namespace dlaunch::agent {

Cut next_cut(std::uint64_t size, bool at_line_start, std::string_view data, std::uint64_t most_bytes) {
    if (most_bytes == 0 || size + data.size() <= most_bytes) return {data.size(), false};
    const std::uint64_t room = size < most_bytes ? most_bytes - size : 0;
    if (room > 0) {
        const std::size_t inside = data.rfind('\n', room - 1);
        if (inside != std::string_view::npos) return {inside + 1, true};
    }
    if (at_line_start && size > 0) return {0, true};

    const std::uint64_t stretched = size < 2 * most_bytes ? 2 * most_bytes - size : 0;
    const std::size_t beyond = data.find('\n');
    if (beyond < stretched) return {beyond + 1, beyond + 1 < data.size()};
    if (data.size() <= stretched) return {data.size(), false};
    return {static_cast<std::size_t>(stretched), true};
}

void LogFile::open(std::string path, Rotation rotation, Warnings& warnings) {
    path_ = std::move(path);
    rotation_ = rotation;
    warnings_ = &warnings;
    if (create() || errno == EMFILE || errno == ENFILE) return;
    warnings_->about_files(errno, path_);
}

/// False with errno set: the file could not be created.
bool LogFile::create() {
    base::UniqueFd file(::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0666));
    if (!file) return false;
    file_ = std::move(file);
    size_ = 0;
    at_line_start_ = true;
    return true;
}

std::string_view LogFile::write(std::string_view data) {
    if (path_.empty()) return {};
    if (!file_ && !create()) {
        warnings_->about_files(errno, path_);
        return data;
    }
    while (!data.empty()) {
        const Cut cut = next_cut(size_, at_line_start_, data, rotation_.most_bytes);
        const std::size_t refused = put(data.substr(0, cut.bytes));
        data.remove_prefix(cut.bytes - refused);
        if (refused > 0) return data;
        if (cut.then_rotate) rotate();
    }
    return {};
}

/// Returns the number of bytes at the end that the file has not taken.
std::size_t LogFile::put(std::string_view data) {
    while (!data.empty()) {
        const ssize_t written = ::write(file_.get(), data.data(), data.size());
        if (written < 0) {
            if (errno == EINTR) continue;
            warnings_->about_files(errno, path_);
            return data.size();
        }
        const auto bytes = static_cast<std::size_t>(written);
        size_ += bytes;
        if (bytes > 0) at_line_start_ = data[bytes - 1] == '\n';
        data.remove_prefix(bytes);
    }
    return 0;
}

void LogFile::rotate() {
    // If the rotation fails, writes continue in the old file. Count that file as new, so that the next attempt comes
    // only after another `most_bytes`.
    size_ = 0;
    at_line_start_ = true;
    for (int n = rotation_.keep; n > 0; --n) {
        const std::string from = n == 1 ? path_ : fmt::format("{}.{}", path_, n - 1);
        if (std::rename(from.c_str(), fmt::format("{}.{}", path_, n).c_str()) == 0) continue;
        if (n > 1 && errno == ENOENT) continue;
        return warnings_->about_files(errno, path_);
    }
    if (!create()) warnings_->about_files(errno, path_);
}

}  // namespace dlaunch::agent
