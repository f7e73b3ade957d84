#include "launcher/jobs/registry.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <set>
#include <string_view>
#include <system_error>

#include "agent/process/proc.hpp"
#include "agent/services/job_link.hpp"
#include "rendezvous/base/fd.hpp"
#include "rendezvous/base/files.hpp"

namespace dlaunch::launcher {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr auto kPatience = std::chrono::seconds(2);  // an agent answers within milliseconds, unless it is suspended

struct Place {
    std::string socket;
    std::string link;  ///< that led there; may be empty
};

struct Connection {
    base::UniqueFd socket;
    pid_t agent = 0;
    std::string reply;
    bool is_over = false;
};

/// Names of the folders in which agents make their sockets.
bool may_hold_socket(std::string_view name) {
    return name.starts_with("dlaunch_") || name.starts_with("dlaunch-agent-");
}

std::vector<Place> places_of_sockets(const JobPlaces& places) {
    std::vector<Place> found;
    std::set<std::string> known;
    std::error_code failed;
    const fs::path jobs = fs::path(places.runtime) / agent::kJobsFolder;
    if (!places.runtime.empty() && base::is_own_folder(jobs.string()))
        for (fs::directory_iterator entry(jobs, failed), end; !failed && entry != end; entry.increment(failed)) {
            std::error_code no_link;
            const std::string socket = fs::read_symlink(entry->path(), no_link).string();
            if (!no_link && known.insert(socket).second) found.push_back({socket, entry->path().string()});
        }
    for (fs::directory_iterator entry(places.temporary, failed), end; !failed && entry != end;
         entry.increment(failed)) {
        const std::string name = entry->path().filename().string(), socket = entry->path().string() + "/socket";
        if (may_hold_socket(name) && base::is_own_folder(entry->path().string()) && known.insert(socket).second)
            found.push_back({socket, ""});
    }
    return found;
}

/// Connects and sends the request. None: no process listens there, or one of another user.
base::UniqueFd ask(const std::string& path, ucred& peer) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path) {
        errno = ENAMETOOLONG;
        return {};
    }
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    base::UniqueFd connection(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    socklen_t size = sizeof peer;
    constexpr std::string_view kRequest = "status\n";
    if (!connection || connect(connection.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
        getsockopt(connection.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
        return {};
    errno = 0;
    if (peer.uid != geteuid() ||
        send(connection.get(), kRequest.data(), kRequest.size(), MSG_NOSIGNAL) != std::ssize(kRequest))
        return {};
    return connection;
}

void receive(Connection& connection) {
    std::array<char, 65536> bytes;
    const ssize_t got = recv(connection.socket.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got > 0) connection.reply.append(bytes.data(), static_cast<std::size_t>(got));
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) connection.is_over = true;
}

void receive_all(std::vector<Connection>& connections) {
    for (const auto end = Clock::now() + kPatience;;) {
        std::vector<pollfd> waiting;
        for (const Connection& connection : connections)
            waiting.push_back({connection.is_over ? -1 : connection.socket.get(), POLLIN, 0});
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
        const bool any = !std::ranges::all_of(connections, &Connection::is_over);
        if (!any || left <= 0) return;
        if (poll(waiting.data(), waiting.size(), static_cast<int>(left)) <= 0) continue;
        for (std::size_t at = 0; at < waiting.size(); ++at)
            if (waiting[at].revents != 0) receive(connections[at]);
    }
}

std::string command_line_of(pid_t pid) { return base::text_of(fmt::format("/proc/{}/cmdline", pid)); }

/// The guard, which the user started, is the agent's parent, and has its command line. An agent without it ends by
/// itself. Of an agent with a token, whose memory is hidden, only root could see the program.
pid_t guard_of(pid_t agent) {
    const auto about = agent::stat_of(agent);
    const std::string line = command_line_of(agent);
    return about && !line.empty() && command_line_of(about->parent) == line ? about->parent : agent;
}

}  // namespace

JobPlaces places_in(const std::vector<std::pair<std::string, std::string>>& environment) {
    JobPlaces places{"", "/tmp"};
    for (const auto& [name, value] : environment) {
        if (name == "XDG_RUNTIME_DIR" && value.starts_with('/')) places.runtime = value;
        std::error_code unknown;
        if (name == "TMPDIR" && !value.empty()) places.temporary = fs::absolute(value, unknown).string();
    }
    return places;
}

std::vector<JobProcess> find_processes(const JobPlaces& places) {
    std::vector<Connection> connections;
    for (const Place& place : places_of_sockets(places)) {
        ucred peer{};
        base::UniqueFd socket = ask(place.socket, peer);
        const bool is_dead = !socket && (errno == ECONNREFUSED || errno == ENOENT);
        if (is_dead && !place.link.empty()) unlink(place.link.c_str());
        if (socket && peer.pid > 0) connections.push_back({std::move(socket), peer.pid, {}, false});  // 0: elsewhere
    }
    receive_all(connections);
    std::vector<JobProcess> processes;
    for (const Connection& connection : connections) {
        const bool has_died = connection.is_over && connection.reply.empty();
        if (!has_died) processes.push_back(read_process(guard_of(connection.agent), connection.reply));
    }
    return processes;
}

}  // namespace dlaunch::launcher
