#include "agent/status/write_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "rendezvous/base/fd.hpp"

namespace dlaunch::agent {
namespace {

bool write_all(int fd, const std::string& text) {
    for (std::size_t done = 0; done < text.size();) {
        const ssize_t put = write(fd, text.data() + done, text.size() - done);
        if (put < 0 && errno != EINTR) return false;
        if (put > 0) done += static_cast<std::size_t>(put);
    }
    return true;
}

}  // namespace

std::string write_file(const std::string& path, const std::string& text) {
    struct stat about {};
    const bool replaceable = stat(path.c_str(), &about) != 0 || S_ISREG(about.st_mode);
    const std::string target = replaceable ? fmt::format("{}.{}.part", path, getpid()) : path;
    // O_NONBLOCK: a pipe nobody reads must not hold the end of the job.
    base::UniqueFd file(open(target.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK | (replaceable ? O_CREAT | O_TRUNC : 0), 0644));
    const bool written = file && write_all(file.get(), text);
    if (written && (!replaceable || std::rename(target.c_str(), path.c_str()) == 0)) return {};
    const int number = errno;
    if (replaceable && file) unlink(target.c_str());
    return fmt::format("{}: {}", path, std::strerror(number));
}

}  // namespace dlaunch::agent
