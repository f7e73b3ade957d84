#include "agent/services/job_link.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "rendezvous/base/files.hpp"

namespace dlaunch::agent {
namespace {

/// "dlaunch_abcdef" of "/tmp/dlaunch_abcdef/socket": unlike a pid it is unique among containers with one folder.
std::string folder_name(const std::string& socket) {
    const std::size_t end = socket.rfind('/');
    const std::size_t begin = end == std::string::npos || end == 0 ? std::string::npos : socket.rfind('/', end - 1);
    return begin == std::string::npos ? std::string() : socket.substr(begin + 1, end - begin - 1);
}

}  // namespace

void JobLink::make(const std::string& runtime, const std::string& socket) {
    const std::string name = folder_name(socket);
    // Under `sudo -E` the folder is another user's, and root's files are of no use there.
    if (runtime.empty() || name.empty() || !base::is_own_folder(runtime)) return;
    const std::string jobs = runtime + "/" + kJobsFolder;
    if (mkdir(jobs.c_str(), 0700) != 0 && (errno != EEXIST || !base::is_own_folder(jobs))) return;
    const std::string path = jobs + "/" + name;
    if (symlink(socket.c_str(), path.c_str()) == 0) path_ = path;
}

void JobLink::remove() {
    if (!path_.empty()) unlink(path_.c_str());
    path_.clear();
}

}  // namespace dlaunch::agent
