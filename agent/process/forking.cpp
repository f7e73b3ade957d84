#include "agent/process/forking.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <string>

#include "agent/process/pidfd.hpp"
#include "rendezvous/base/pass_descriptors.hpp"

namespace dlaunch::agent {
namespace {

SpawnError failed(std::string step, int number) { return {.step = std::move(step), .number = number}; }

/// Variables travel in a file, so that the message stays short.
base::UniqueFd file_of(const std::vector<std::string>& variables) {
    base::UniqueFd file(memfd_create("dlaunch-variables", MFD_CLOEXEC));
    std::string text;
    for (const std::string& variable : variables) text.append(variable).push_back('\0');
    for (std::size_t at = 0; file && at < text.size();) {
        const ssize_t size = write(file.get(), text.data() + at, text.size() - at);
        if (size < 0 && errno == EINTR) continue;
        if (size <= 0) return {};
        at += static_cast<std::size_t>(size);
    }
    return file;
}

base::UniqueFd copy(int descriptor) { return base::UniqueFd(fcntl(descriptor, F_DUPFD_CLOEXEC, 0)); }

/// Sets cgroup and CPUs. A cgroup that accepts no processes is not an error.
std::optional<SpawnError> give_place(pid_t pid, const Forking::Place& place) {
    if (place.cgroup) {
        const base::UniqueFd members(openat(place.cgroup.get(), "cgroup.procs", O_WRONLY | O_CLOEXEC));
        if (members) dprintf(members.get(), "%d\n", pid);
    }
    if (place.processors.empty()) return std::nullopt;
    const std::vector<unsigned long> mask = affinity_mask(place.processors);
    const long done = syscall(SYS_sched_setaffinity, pid, mask.size() * sizeof mask.front(), mask.data());
    if (done >= 0 || errno == ESRCH) return std::nullopt;  // its pidfd reports the exit
    return failed("bind to processors", errno);
}

}  // namespace

std::optional<Forking::Place> Forking::place(const SpawnRequest& request) {
    Place place;
    place.processors = request.processors;
    if (request.cgroup >= 0 && !(place.cgroup = copy(request.cgroup))) return std::nullopt;
    for (std::size_t at = 0; at < request.files.size(); ++at)
        if (!(place.files[at] = copy(request.files[at] >= 0 ? request.files[at] : static_cast<int>(at))))
            return std::nullopt;
    if (!(place.files[wire::kForkVariables] = file_of(request.variables))) return std::nullopt;
    return place;
}

Forking::Step Forking::step() {
    wire::ForkMessage message;
    ssize_t got = 0;
    do got = recv(line_.get(), &message, sizeof message, MSG_DONTWAIT);
    while (got < 0 && errno == EINTR);
    if (got < 0 && errno == EAGAIN) return Nothing{};
    if (got != sizeof message) return Silence{};
    switch (message.kind) {
        case wire::ForkMessage::Kind::made: return begin(message.value);
        case wire::ForkMessage::Kind::runs: return Runs{};
        case wire::ForkMessage::Kind::killed: return Killed{message.value};
        case wire::ForkMessage::Kind::cannot: break;
    }
    return failed(made_ ? "set up the fork" : "fork", message.value);
}

Forking::Step Forking::begin(pid_t pid) {
    if (made_ || pid <= 1) return Silence{};
    made_ = true;
    base::UniqueFd pidfd = open_pidfd(pid);
    auto error = pidfd ? give_place(pid, place_) : failed("pidfd_open", errno);
    std::array<int, wire::kForkFiles> files{};
    std::transform(place_.files.begin(), place_.files.end(), files.begin(),
                   [](const auto& file) { return file.get(); });
    // EPIPE and ECONNRESET: the fork is dead, and its pidfd reports the exit.
    if (!error && !base::send_descriptors(line_.get(), files) && errno != EPIPE && errno != ECONNRESET)
        error = failed("send files to the fork", errno);
    place_ = {};
    if (!error) return Made{pid, std::move(pidfd)};
    kill(pid, SIGKILL);
    return *error;
}

}  // namespace dlaunch::agent
