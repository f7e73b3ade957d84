#pragma once

#include <sys/stat.h>

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

#include "agent/logs/byte_queue.hpp"
#include "agent/logs/warnings.hpp"
#include "rendezvous/base/fd.hpp"
#include "rendezvous/base/loop.hpp"

namespace dlaunch::agent {

/// One of dlaunch's own outputs, behind a bounded queue. Writes never block the loop, except those to a regular file.
///
/// The console opens pipes and terminals a second time: O_NONBLOCK is a flag of the open file description, and dlaunch
/// shares the inherited description with its parent shell and other processes. When the reader has gone, the console
/// discards all bytes.
class Console {
public:
    static constexpr std::size_t kQueueBytes = 1 << 20;

    /// `fd` must stay open as long as the console. `name` ("standard output") appears in warnings; an empty name
    /// suppresses them, for the output that would carry them itself. `on_progress` is posted to the loop when a full
    /// queue has space again, when a queue that waited for its reader is empty, and by release().
    Console(base::Loop& loop, int fd, std::string name, Warnings& warnings, std::function<void()> on_progress);

    [[nodiscard]] ByteQueue& queue() { return queue_; }
    /// True from the moment when the queue reaches its bound until it is half empty.
    [[nodiscard]] bool full() {
        if (queue_.size() >= kQueueBytes) full_ = true;
        return full_;
    }
    [[nodiscard]] bool terminal() const { return terminal_; }

    /// Whether two descriptors lead to the same terminal, pipe or file: lines written to both could tear each other.
    [[nodiscard]] static bool same(int one, int other);

    /// Writes as much as the output accepts now; the rest follows when it accepts more.
    void flush();

    /// Writes nothing until release(), but the rest of a line that was written in part: a shell prints its prompt.
    void hold() { held_ = true; }
    void release();

    /// Time of the last successful write.
    [[nodiscard]] base::Time progressed_at() const { return progressed_at_; }

    /// Drops the queued bytes and returns their number. Keeps the rest of a line that was written in part.
    std::size_t drop();

private:
    enum class Kind { direct, reopened, socket, shared, dead };

    void find_kind(int fd);
    void watch();
    [[nodiscard]] std::string_view next() const;
    [[nodiscard]] ssize_t write_some(std::string_view bytes) const;
    void fail(int error);

    base::Loop& loop_;
    std::string name_;
    Warnings& warnings_;
    std::function<void()> on_progress_;
    Kind kind_ = Kind::dead;
    bool terminal_ = false;
    bool full_ = false;
    bool held_ = false;
    bool inside_line_ = false;  ///< the last byte written was no newline
    int fd_ = -1;               ///< the descriptor that write_some() uses
    base::UniqueFd own_;        ///< the second description, or an epoll set that watches the shared one
    base::Time progressed_at_{};
    ByteQueue queue_;
    base::Watch writable_;  ///< declared last: destroyed before own_ is closed
};

}  // namespace dlaunch::agent
