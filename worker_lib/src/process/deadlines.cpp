#include "worker_lib/src/process/deadlines.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <mutex>

#include "worker_lib/src/bootstrap/environment.hpp"
#include "worker_lib/src/core/agent_link.hpp"
#include "worker_lib/src/core/process_singleton.hpp"
#include "worker_lib/src/process/error_record.hpp"

namespace dlaunch::worker {
namespace {

constexpr int kWriteTimeoutMs = 1000;       // for an agent that is slow to read
constexpr std::size_t kLongestScope = 500;  // in bytes, each of which may be six in JSON

/// Writes to the FIFO of torch's file timers, which torchrun has, too, else to a connection to the agent.
class DeadlineWriter {
public:
    static DeadlineWriter& instance() {
        return process_singleton<DeadlineWriter>([] { return new DeadlineWriter; });
    }

    /// False: the agent does not read. True without an agent.
    bool write(const std::string& line) {
        const std::lock_guard lock(mutex_);
        const int fifo = open_fifo();
        if (fifo < 0) return write_socket(line);
        const bool written = write_fifo(fifo, line);
        close(fifo);
        return written;
    }

private:
    static int open_fifo() {
        const auto path = variable("TORCHELASTIC_TIMER_FILE");
        // Opened for reading too, so that a write raises no SIGPIPE when the agent closes its end.
        return path ? open(path->c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC) : -1;
    }

    /// The kernel writes lines shorter than PIPE_BUF atomically. Waits for space: if the end of a section is lost, the
    /// agent takes the worker for hung.
    static bool write_fifo(int fifo, const std::string& line) {
        pollfd writable{fifo, POLLOUT, 0};
        ssize_t written = -1;
        while ((written = ::write(fifo, line.data(), line.size())) < 0 && errno == EAGAIN &&
               poll(&writable, 1, kWriteTimeoutMs) > 0) {}
        return written >= 0;
    }

    /// One connection keeps the order of the lines; connect_to_agent() bounds the wait for space.
    bool write_socket(const std::string& line) {
        const bool is_first = !socket_;
        errno = 0;
        if (is_first) socket_ = connect_to_agent();
        if (!socket_) return errno != EAGAIN;  // the agent's queue of connections stayed full
        const std::string text = is_first ? "timers\n" + line : line;
        const ssize_t sent = send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL);
        if (sent == static_cast<ssize_t>(text.size())) return true;
        const bool is_gone = sent < 0 && errno != EAGAIN;
        socket_ = {};  // a part of the line may have been sent
        return is_gone;
    }

    std::mutex mutex_;
    base::UniqueFd socket_;
};

void write_deadline(const std::string& name, double expires, int signal) {
    const std::string line =
        fmt::format(R"({{"version": 1, "pid": {}, "scope_id": {}, "expiration_time": {:.3f}, "signal": {}}})", getpid(),
                    json_string(name.substr(0, kLongestScope)), expires, signal) +
        "\n";
    if (!DeadlineWriter::instance().write(line))
        fmt::print(stderr, "dlaunch: the agent does not read timers, section {} is not watched\n", name);
}

}  // namespace

void set_deadline(const std::string& name, std::chrono::milliseconds after) {
    using Seconds = std::chrono::duration<double>;  // floating point cannot overflow here
    const Seconds now(std::chrono::system_clock::now().time_since_epoch());
    write_deadline(name, (now + Seconds(after)).count(), SIGKILL);
}

void clear_deadline(const std::string& name) { write_deadline(name, -1, 0); }

}  // namespace dlaunch::worker
