#include "agent/logs/worker_pipes.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "agent/process/limits.hpp"

namespace dlaunch::agent {
namespace {

bool make_pipe(base::UniqueFd& reader, base::UniqueFd& writer) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return false;
    reader.reset(ends[0]);
    writer.reset(ends[1]);
    return fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0;
}

/// The master is the reader. The worker's end is found by its master: no path must lead to it.
bool make_terminal(base::UniqueFd& reader, base::UniqueFd& writer, WindowSize size) {
    reader.reset(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK));
    int locked = 0;
    if (!reader || ioctl(reader.get(), TIOCSPTLCK, &locked) != 0) return false;
    writer.reset(ioctl(reader.get(), TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC));
    termios modes{};
    if (!writer || tcgetattr(writer.get(), &modes) != 0) return false;
    modes.c_oflag &= ~static_cast<tcflag_t>(OPOST);
    modes.c_lflag &= ~static_cast<tcflag_t>(ECHO | ECHONL);
    if (tcsetattr(writer.get(), TCSANOW, &modes) != 0) return false;
    set_window_size(writer.get(), size);
    return true;
}

}  // namespace

void set_window_size(int terminal, WindowSize size) {
    winsize made{};
    made.ws_col = static_cast<unsigned short>(size.columns);
    made.ws_row = static_cast<unsigned short>(size.rows);
    ioctl(terminal, TIOCSWINSZ, &made);
}

base::Result<WorkerPipes> make_worker_terminals(WindowSize size) {
    WorkerPipes made;
    made.readers.are_terminals = made.writers.are_terminals = true;
    if (make_terminal(made.readers.out, made.writers.out, size) &&
        make_terminal(made.readers.err, made.writers.err, size))
        return made;
    const int error = errno;
    return base::Error{fmt::format("cannot make its terminals: {}{}; without --pty it needs none", std::strerror(error),
                                   open_files_hint(error)),
                       1};
}

base::Result<WorkerPipes> make_worker_pipes() {
    WorkerPipes made;
    if (make_pipe(made.readers.out, made.writers.out) && make_pipe(made.readers.err, made.writers.err)) return made;
    const int error = errno;
    return base::Error{fmt::format("cannot make its pipes: {}{}", std::strerror(error), open_files_hint(error)), 1};
}

}  // namespace dlaunch::agent
