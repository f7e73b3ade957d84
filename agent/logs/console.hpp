#pragma once

#include <sys/stat.h>

#include <chrono>
#include <functional>
#include <string>

#include "agent/logs/byte_queue.hpp"
#include "agent/logs/complaints.hpp"
#include "rendezvous/base/fd.hpp"
#include "rendezvous/base/loop.hpp"

namespace dlaunch::agent {

/// One of dlaunch's own outputs, behind a bounded queue. Writing never blocks the loop, unless it is a regular file.
///
/// Pipes and terminals are opened a second time for that: O_NONBLOCK belongs to the open file description, which
/// dlaunch shares with its parent shell and other processes. When the reader has gone, everything is discarded.
class Console {
public:
    static constexpr std::size_t kQueueBytes = 1 << 20;

    /// `fd` stays its owner's. `name` is for complaints ("standard output"); empty: complaints would go there, too.
    /// `on_progress` is posted to the loop when a full queue has room again and when a queue that waited for its
    /// reader is empty.
    Console(base::Loop& loop, int fd, std::string name, Complaints& complaints, std::function<void()> on_progress);

    [[nodiscard]] ByteQueue& queue() { return queue_; }
    /// From the moment the queue reaches its bound until it is half empty.
    [[nodiscard]] bool full() {
        if (queue_.size() >= kQueueBytes) full_ = true;
        return full_;
    }
    [[nodiscard]] bool terminal() const { return terminal_; }

    /// Whether two descriptors lead to the same terminal, pipe or file, so that their lines could tear each other.
    [[nodiscard]] static bool same(int one, int other);

    /// Writes what can be written now; the rest follows as the reader reads.
    void flush();

    /// When the reader took bytes last.
    [[nodiscard]] base::Time progressed_at() const { return progressed_at_; }

    /// Empties the queue and returns how many bytes were lost. The rest of a line of which a part is out stays.
    std::size_t drop();

private:
    enum class Kind { direct, reopened, socket, shared, dead };

    void find_kind(int fd);
    void watch();
    [[nodiscard]] ssize_t write_some();
    void fail(int error);

    base::Loop& loop_;
    std::string name_;
    Complaints& complaints_;
    std::function<void()> on_progress_;
    Kind kind_ = Kind::dead;
    bool terminal_ = false;
    bool full_ = false;
    bool inside_line_ = false;  ///< the last byte that went out was no newline
    int fd_ = -1;               ///< what is written to
    base::UniqueFd own_;        ///< the second description, or what tells when the shared one is ready
    base::Time progressed_at_{};
    ByteQueue queue_;
    base::Watch writable_;  ///< declared last: goes before own_ is closed
};

}  // namespace dlaunch::agent
