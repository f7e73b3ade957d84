#include "agent/status/write_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "agent/status/open_error.hpp"
#include "rendezvous/base/fd.hpp"
#include "rendezvous/base/files.hpp"
#include "rendezvous/base/random.hpp"

namespace dlaunch::agent {
namespace {

/// Creates a new file beside `path`. The random name keeps nodes that share the folder apart, even with equal pids.
/// O_EXCL and O_NOFOLLOW reject a link that another process has placed there.
base::UniqueFd create_beside(const std::string& path, std::string& name) {
    for (;;) {
        name = fmt::format("{}.{:016x}.part", path, base::random_number());
        base::UniqueFd file(open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
        if (file || errno != EEXIST) return file;
    }
}

/// Renames a new file over `path`, so that readers see the whole old text or the whole new text. `before`: status of
/// the replaced file; the new file takes over its owner and mode.
bool replace(const std::string& path, const std::string& text, const struct stat* before) {
    std::string fresh;
    base::UniqueFd file = create_beside(path, fresh);
    if (!file) return false;
    if (before) {
        if (fchown(file.get(), before->st_uid, before->st_gid) != 0) errno = 0;  // only root may change a file's owner
        fchmod(file.get(), before->st_mode & 07777);
    }
    if (base::write_all(file.get(), text) && std::rename(fresh.c_str(), path.c_str()) == 0) return true;
    const int why = errno;
    unlink(fresh.c_str());
    errno = why;
    return false;
}

std::string warning(const std::string& path) { return fmt::format("{}: {}", path, open_error(path, errno)); }

}  // namespace

std::string write_file(const std::string& path, const std::string& text) {
    struct stat about {};
    const bool is_there = lstat(path.c_str(), &about) == 0;
    if (!is_there || S_ISREG(about.st_mode)) {
        if (replace(path, text, is_there ? &about : nullptr)) return {};
        if (errno == ENOSPC || errno == EDQUOT) return warning(path);  // writing in place would lose the old text, too
    }
    // The path is a link, a mount point or a device, or its folder takes no new file: write in place. O_NONBLOCK: a
    // pipe without a reader must not block the end of the job.
    base::UniqueFd file(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK, 0644));
    if (file && base::write_all(file.get(), text)) return {};
    return warning(path);
}

}  // namespace dlaunch::agent
