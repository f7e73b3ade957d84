#include "rendezvous/net/port_owner.hpp"

#include <dirent.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <string_view>
#include <vector>

#include "rendezvous/base/escape.hpp"

namespace dlaunch::rendezvous {
namespace {

using Folder = std::unique_ptr<DIR, decltype([](DIR* open) { closedir(open); })>;

/// "socket:[INODE]", as a descriptor's link names them.
std::vector<std::string> listening_sockets(int port) {
    constexpr unsigned kListens = 0x0A;
    std::vector<std::string> sockets;
    for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
        std::ifstream lines(table);
        for (std::string line; std::getline(lines, line);) {
            unsigned at = 0, state = 0;
            unsigned long inode = 0;
            const bool is_row = std::sscanf(line.c_str(), "%*d: %*[0-9A-Fa-f]:%x %*s %x %*s %*s %*s %*s %*s %lu", &at,
                                            &state, &inode) == 3;
            if (is_row && state == kListens && at == static_cast<unsigned>(port))
                sockets.push_back(fmt::format("socket:[{}]", inode));
        }
    }
    return sockets;
}

bool has_one_of(const std::string& process, const std::vector<std::string>& sockets) {
    const std::string folder = "/proc/" + process + "/fd";
    const Folder descriptors(opendir(folder.c_str()));
    if (!descriptors) return false;
    while (const dirent* entry = readdir(descriptors.get())) {
        std::array<char, 64> link;
        const ssize_t length = readlink((folder + "/" + entry->d_name).c_str(), link.data(), link.size());
        if (length <= 0) continue;
        const std::string_view target(link.data(), static_cast<std::size_t>(length));
        if (std::find(sockets.begin(), sockets.end(), target) != sockets.end()) return true;
    }
    return false;
}

}  // namespace

std::string port_owner(int port) {
    const std::vector<std::string> sockets = listening_sockets(port);
    const Folder processes(sockets.empty() ? nullptr : opendir("/proc"));
    if (!processes) return {};
    while (const dirent* entry = readdir(processes.get())) {
        const std::string process = entry->d_name;
        if (!std::isdigit(static_cast<unsigned char>(process.front())) || !has_one_of(process, sockets)) continue;
        std::ifstream file("/proc/" + process + "/comm");
        std::string name;
        std::getline(file, name);
        return fmt::format("{} (pid {})", base::printable(name), process);
    }
    return {};
}

std::string with_port_owner(const std::string& error, int port) {
    const std::string owner = error.ends_with(std::strerror(EADDRINUSE)) ? port_owner(port) : std::string();
    return owner.empty() ? error : error + ", by " + owner;
}

}  // namespace dlaunch::rendezvous
