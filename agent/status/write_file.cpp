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

/// Readers see the old text or the new one, whole.
bool replace(const std::string& path, const std::string& text) {
    const std::string fresh = fmt::format("{}.{}.part", path, getpid());
    base::UniqueFd file(open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    if (!file) return false;
    if (write_all(file.get(), text) && std::rename(fresh.c_str(), path.c_str()) == 0) return true;
    const int why = errno;
    unlink(fresh.c_str());
    errno = why;
    return false;
}

std::string complaint(const std::string& path) {
    return fmt::format("{}: {}", path, errno == ENXIO ? "a FIFO that nobody reads" : std::strerror(errno));
}

}  // namespace

std::string write_file(const std::string& path, const std::string& text) {
    struct stat about {};
    const bool is_there = lstat(path.c_str(), &about) == 0;
    if (!is_there || S_ISREG(about.st_mode)) {
        if (replace(path, text)) return {};
        if (errno == ENOSPC || errno == EDQUOT) return complaint(path);  // what is there would be lost, too
    }
    // A link, a mount point, a device, a folder in which nothing can be made. O_NONBLOCK: a pipe nobody reads must not
    // hold the end of the job.
    base::UniqueFd file(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK, 0644));
    if (file && write_all(file.get(), text)) return {};
    return complaint(path);
}

}  // namespace dlaunch::agent
