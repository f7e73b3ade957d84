#include "launcher/mpi/local_files.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>

#include "rendezvous/base/files.hpp"

namespace dlaunch::launcher {
namespace {

constexpr unsigned long kXfs = 0x58465342, kZfs = 0x2fc12fc1;  // not in <linux/magic.h>

/// Also refuses links of /proc, which lead anywhere.
base::UniqueFd open_within(int folder, const char* path, int flags, unsigned long more_rules = 0) {
    open_how how{};
    how.flags = static_cast<unsigned>(flags | O_CLOEXEC);
    how.resolve = RESOLVE_NO_XDEV | RESOLVE_NO_MAGICLINKS | more_rules;
    return base::UniqueFd(static_cast<int>(::syscall(SYS_openat2, folder, path, &how, sizeof how)));
}

bool is_local(const char* folder) {
    constexpr std::array<unsigned long, 9> kLocal{EXT4_SUPER_MAGIC,      kXfs,           BTRFS_SUPER_MAGIC,
                                                  F2FS_SUPER_MAGIC,      TMPFS_MAGIC,    RAMFS_MAGIC,
                                                  OVERLAYFS_SUPER_MAGIC, SQUASHFS_MAGIC, kZfs};
    struct statfs about {};
    return ::statfs(folder, &about) == 0 &&
           std::ranges::find(kLocal, static_cast<unsigned long>(about.f_type)) != kLocal.end();
}

constexpr int kToRead = O_RDONLY | O_NONBLOCK | O_NOCTTY;  // a FIFO must not wait for its writer

/// Other errors than these show that the path ends within the file system.
bool leads_elsewhere(int error) { return error == EXDEV || error == ENOSYS || error == EPERM || error == EAGAIN; }

}  // namespace

base::UniqueFd LocalFiles::open(const std::string& path) {
    if (met_foreign_) return {};
    if (!root_is_local_) root_is_local_ = is_local("/");
    if (!*root_is_local_) {
        met_foreign_ = true;
        return {};
    }
    base::UniqueFd file = open_within(AT_FDCWD, path.c_str(), kToRead);
    if (file || !leads_elsewhere(errno)) return file;
    return open_below_mount(std::filesystem::path(path).lexically_normal().string());
}

base::UniqueFd LocalFiles::open_below_mount(const std::string& path) {
    if (!mounts_) mounts_.emplace(base::text_of("/proc/self/mountinfo"));
    met_foreign_ = true;  // unless a file system's own look-up answers
    const auto place = mounts_->local_place_of(path);
    if (!place) return {};
    open_how how{};
    how.flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
    how.resolve = RESOLVE_NO_SYMLINKS;
    const base::UniqueFd top(static_cast<int>(::syscall(SYS_openat2, AT_FDCWD, place->c_str(), &how, sizeof how)));
    if (!top) return {};
    const std::string rest = path.size() > place->size() ? path.substr(place->size() + (place->size() > 1)) : ".";
    base::UniqueFd file = open_within(top.get(), rest.c_str(), kToRead);
    if (file || !leads_elsewhere(errno)) met_foreign_ = false;
    return file;
}

}  // namespace dlaunch::launcher
