#include "agent/process/remove_folders.hpp"

#include <dirent.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/process/shared_memory.hpp"

namespace dlaunch::agent {
namespace {

/// Readers of the caller's pipes need their end of file before a disk answers.
void close_descriptors() {
    constexpr int kMostWithoutCloseRange = 1024;  // a seccomp filter may refuse the call
    if (syscall(SYS_close_range, 0, ~0U, 0) == 0) return;
    for (int descriptor = 0; descriptor < kMostWithoutCloseRange; ++descriptor) close(descriptor);
}

void remove_flat_folder(const char* folder) {
    DIR* entries = opendir(folder);
    if (!entries) return;
    while (const dirent* entry = readdir(entries)) unlinkat(dirfd(entries), entry->d_name, 0);
    closedir(entries);
    rmdir(folder);
}

}  // namespace

pid_t begin_to_remove(const std::vector<std::string>& folders, bool with_shared_memory) {
    if (folders.empty() && !with_shared_memory) return 0;
    const pid_t child = fork();
    if (child != 0) return child > 0 ? child : 0;
    close_descriptors();
    if (with_shared_memory) remove_unused_segments(kSharedMemory);
    for (const std::string& folder : folders) remove_flat_folder(folder.c_str());
    _exit(0);
}

}  // namespace dlaunch::agent
