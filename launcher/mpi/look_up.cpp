#include "launcher/mpi/look_up.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <string>

#include "agent/process/pidfd.hpp"
#include "launcher/mpi/local_files.hpp"

namespace dlaunch::launcher {
namespace {

using agent::MpiFamily;
using std::chrono::milliseconds;

/// A look-up ends at once when it is killed, unless the kernel itself hangs.
constexpr milliseconds kEndsSoon{200};

constexpr std::size_t kMostAnswerBytes = 256;

base::UniqueFd open_anywhere(const std::string& path) {
    return base::UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
}

/// One write: the family's number, 'p' or 'l' for Python or a linked program, then the library's name.
[[noreturn]] void answer(const ProgramFiles& files, int to, pid_t parent) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    const Linked linked = linked_with(files, open_anywhere);
    std::string text(1, static_cast<char>('0' + static_cast<int>(linked.family)));
    text += linked.by_mpi4py ? 'p' : 'l';
    text += linked.library.substr(0, kMostAnswerBytes - 2);
    ::_exit(::write(to, text.data(), text.size()) < 0 ? 1 : 0);
}

Linked read_answer(int from, milliseconds limit) {
    pollfd what{from, POLLIN, 0};
    std::array<char, kMostAnswerBytes> text;
    if (::poll(&what, 1, static_cast<int>(limit.count())) <= 0) return {};
    const ssize_t got = ::read(from, text.data(), text.size());
    if (got < 2) return {};
    const auto family = static_cast<MpiFamily>(text[0] - '0');
    return {family, std::string(text.data() + 2, static_cast<std::size_t>(got - 2)), text[1] == 'p'};
}

/// Kills and reaps the process. One that survives SIGKILL is left to the agent, which reaps every child.
void end(pid_t child) {
    const base::UniqueFd pidfd = agent::open_pidfd(child);
    ::kill(child, SIGKILL);
    pollfd ended{pidfd.get(), POLLIN, 0};
    ::poll(&ended, 1, static_cast<int>(kEndsSoon.count()));
    ::waitpid(child, nullptr, WNOHANG);
}

Linked look_up_aside(const ProgramFiles& files, milliseconds limit) {
    std::array<int, 2> ends;
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return {};
    const base::UniqueFd from(ends[0]);
    base::UniqueFd to(ends[1]);
    const pid_t self = ::getpid(), child = ::fork();
    if (child < 0) return {};
    if (child == 0) answer(files, to.get(), self);
    to.reset();
    Linked linked = read_answer(from.get(), limit);
    end(child);
    return linked;
}

}  // namespace

Linked look_up(const ProgramFiles& files, milliseconds limit) {
    LocalFiles local;
    Linked linked = linked_with(files, [&local](const std::string& path) { return local.open(path); });
    return local.met_foreign() ? look_up_aside(files, limit) : linked;
}

}  // namespace dlaunch::launcher
