#include "rendezvous/discovery/part_file.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>

#include "rendezvous/base/files.hpp"

namespace dlaunch::rendezvous {
namespace {

constexpr std::int64_t kOld_ms = 60'000;  // a part lives for milliseconds, unless the file server does not answer

base::Error error_of_call() { return {std::strerror(errno)}; }

}  // namespace

std::int64_t modified_at_ms(const struct stat& file) {
    return std::int64_t{file.st_mtim.tv_sec} * 1'000 + file.st_mtim.tv_nsec / 1'000'000;
}

PartFile::~PartFile() {
    if (file_) unlink(path_.c_str());
}

base::Result<void> PartFile::create() {
    path_ = prefix_ + "part.XXXXXX";  // host name and pid may be equal in two containers
    file_.reset(mkostemp(path_.data(), O_CLOEXEC));
    struct stat about {};
    if (!file_ || fchmod(file_.get(), 0644) != 0 || futimens(file_.get(), nullptr) != 0 ||
        fstat(file_.get(), &about) != 0)
        return error_of_call();
    created_at_ms_ = modified_at_ms(about);
    remove_old_parts();
    return {};
}

/// Compares times of one clock, the file server's. A process that waits longer than kOld_ms for the file server loses
/// its part here, and its link_as() fails.
void PartFile::remove_old_parts() const {
    const auto slash = prefix_.find_last_of('/');
    const std::string begin = prefix_.substr(slash + 1) + "part.";
    const std::unique_ptr<DIR, int (*)(DIR*)> entries(opendir(prefix_.substr(0, slash).c_str()), closedir);
    if (!entries) return;
    while (const dirent* entry = readdir(entries.get())) {
        struct stat about {};
        if (std::string_view(entry->d_name).starts_with(begin) &&
            fstatat(dirfd(entries.get()), entry->d_name, &about, AT_SYMLINK_NOFOLLOW) == 0 &&
            created_at_ms_ - modified_at_ms(about) > kOld_ms)
            unlinkat(dirfd(entries.get()), entry->d_name, 0);
    }
}

base::Result<void> PartFile::write(const std::string& content) {
    if (!base::write_all(file_.get(), content) || fsync(file_.get()) != 0) return error_of_call();
    return {};
}

/// Uses link(2): for one name only one process succeeds, on NFS too.
base::Result<bool> PartFile::link_as(const std::string& name) const {
    if (link(path_.c_str(), name.c_str()) == 0) return true;
    if (errno == EEXIST) return false;
    return base::Error{std::string("no hard link: ") + std::strerror(errno)};
}

}  // namespace dlaunch::rendezvous
