#include "rendezvous/base/files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "rendezvous/base/fd.hpp"

namespace dlaunch::base {

Result<std::string> read_all(int fd, std::size_t most_bytes) {
    std::string text;
    std::array<char, 16384> part;
    for (;;) {
        const ssize_t got = ::read(fd, part.data(), part.size());
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return Error{std::strerror(errno)};
        if (got == 0) return text_result(std::move(text));
        text.append(part.data(), static_cast<std::size_t>(got));
        if (text.size() > most_bytes) return Error{fmt::format("larger than {} bytes", most_bytes)};
    }
}

std::string text_of(const std::string& path, std::size_t most_bytes) {
    const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (!file) return {};
    auto text = read_all(file.get(), most_bytes);
    return text ? std::move(*text) : std::string();
}

bool write_all(int fd, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t written = ::write(fd, bytes.data(), bytes.size());
        if (written < 0 && errno != EINTR) return false;
        if (written > 0) bytes.remove_prefix(static_cast<std::size_t>(written));
    }
    return true;
}

bool is_own_folder(const std::string& path) {
    struct stat about {};
    return ::lstat(path.c_str(), &about) == 0 && S_ISDIR(about.st_mode) && about.st_uid == ::geteuid();
}

}  // namespace dlaunch::base
