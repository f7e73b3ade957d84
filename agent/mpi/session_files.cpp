#include "agent/mpi/session_files.hpp"

#include <poll.h>

#include <filesystem>
#include <system_error>

namespace dlaunch::agent {
namespace {

constexpr int kServerEndsMs = 1000;  // after SIGKILL

}  // namespace

void remove_session_files(const base::UniqueFd& server, const std::vector<std::string>& folders) {
    pollfd ended{server.get(), POLLIN, 0};
    if (server) ::poll(&ended, 1, kServerEndsMs);
    std::error_code kept;
    for (const std::string& folder : folders) std::filesystem::remove_all(folder, kept);
}

}  // namespace dlaunch::agent
