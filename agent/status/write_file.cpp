#include "agent/status/write_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "rendezvous/base/fd.hpp"
#include "rendezvous/base/random.hpp"

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

/// A new file that nobody else has open, beside `path`: other nodes that share the folder, with equal pids, get another
/// name, and no link that waits there is followed.
base::UniqueFd create_beside(const std::string& path, std::string& name) {
    for (;;) {
        name = fmt::format("{}.{:016x}.part", path, base::random_number());
        base::UniqueFd file(open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
        if (file || errno != EEXIST) return file;
    }
}

/// Readers see the old text or the new one, whole. `before`: the file that is replaced, whose owner and mode stay.
bool replace(const std::string& path, const std::string& text, const struct stat* before) {
    std::string fresh;
    base::UniqueFd file = create_beside(path, fresh);
    if (!file) return false;
    if (before) {
        if (fchown(file.get(), before->st_uid, before->st_gid) != 0) errno = 0;  // only root may give files away
        fchmod(file.get(), before->st_mode & 07777);
    }
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
        if (replace(path, text, is_there ? &about : nullptr)) return {};
        if (errno == ENOSPC || errno == EDQUOT) return complaint(path);  // what is there would be lost, too
    }
    // A link, a mount point, a device, a folder in which nothing can be made. O_NONBLOCK: a pipe nobody reads must not
    // hold the end of the job.
    base::UniqueFd file(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK, 0644));
    if (file && write_all(file.get(), text)) return {};
    return complaint(path);
}

}  // namespace dlaunch::agent
