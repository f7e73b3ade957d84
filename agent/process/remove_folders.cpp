#include "agent/process/remove_folders.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

#include "agent/process/shared_memory.hpp"

namespace dlaunch::agent {
namespace {

/// Readers of the caller's pipes need their end of file before a disk answers.
void close_descriptors() {
    constexpr int kMostWithoutCloseRange = 1024;  // a seccomp filter may refuse the call
    if (syscall(SYS_close_range, 0, ~0U, 0) == 0) return;
    for (int descriptor = 0; descriptor < kMostWithoutCloseRange; ++descriptor) close(descriptor);
}

/// Links are removed, not followed. Folders below kDeepest stay, as ranks of MPI make none of that depth.
void remove_folder(int parent, const char* name, int depth = 0) {
    constexpr int kDeepest = 16;
    DIR* const entries = fdopendir(openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!entries) return;
    while (const dirent* entry = readdir(entries)) {
        const std::string_view each = entry->d_name;
        if (each == "." || each == "..") continue;
        if (unlinkat(dirfd(entries), entry->d_name, 0) != 0 && errno == EISDIR && depth < kDeepest)
            remove_folder(dirfd(entries), entry->d_name, depth + 1);
    }
    closedir(entries);
    unlinkat(parent, name, AT_REMOVEDIR);
}

}  // namespace

pid_t begin_to_remove(const std::vector<std::string>& folders, bool with_shared_memory) {
    if (folders.empty() && !with_shared_memory) return 0;
    const pid_t child = fork();
    if (child != 0) return child > 0 ? child : 0;
    close_descriptors();
    if (with_shared_memory) remove_unused_segments(kSharedMemory);
    for (const std::string& folder : folders) remove_folder(AT_FDCWD, folder.c_str());
    _exit(0);
}

}  // namespace dlaunch::agent
