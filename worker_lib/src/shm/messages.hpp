#pragma once
/// Messages between ranks on one host, through one ring per ordered pair of ranks.
///
/// A sender writes envelope and payload into its ring as capacity permits; a send is complete when all its bytes are in
/// the ring. The receiver reads the payload directly into the buffer of the receive that MessageMatcher chooses.
///
/// A thread that waits for one call makes progress on all calls. Calls without a waiting thread (isend, irecv) are
/// driven by a progress thread, which the first of them starts.

#include <condition_variable>
#include <deque>
#include <memory>
#include <thread>
#include <vector>

#include "worker_lib/src/core/message_matcher.hpp"
#include "worker_lib/src/shm/exchange.hpp"
#include "worker_lib/src/shm/pipe.hpp"

namespace dlaunch::worker::shm {

class Messages : public std::enable_shared_from_this<Messages> {
public:
    Messages(std::shared_ptr<Segment> segment, std::shared_ptr<Exchange> exchange, GroupInfo group);
    ~Messages();
    Messages(const Messages&) = delete;
    Messages& operator=(const Messages&) = delete;

    std::shared_ptr<WorkState> post(const Transfer& transfer);
    /// Fails all pending and all future calls.
    void abort(const Error& why);
    /// abort(), and joins the progress thread.
    void close();

private:
    struct Pending;
    using Call = std::shared_ptr<Pending>;
    /// The traffic from and to one rank.
    struct Peer {
        Pipe in, out;
        Incoming incoming;
        std::deque<Call> sends;
        bool ended = false;  // the peer had ended before its ring was last drained: no more bytes will come
    };

    void end_all(const Error& why);
    bool progress();
    bool push(int rank);
    bool pull(int rank);
    [[nodiscard]] bool drains(const Peer& peer) const;
    [[nodiscard]] bool has_pending() const;
    void wake_progress_thread();
    void note_ended_peers();
    void expire();
    void wait(Pending* call, Time deadline);
    void run_progress_thread();
    void ring(int rank);
    void find_place(int rank);
    [[nodiscard]] std::optional<Error> verdict(const Transfer& transfer, Time now) const;

    const std::shared_ptr<Segment> segment_;
    const std::shared_ptr<Exchange> exchange_;
    const GroupInfo group_;
    Control& own_;
    std::mutex mutex_;
    std::vector<Peer> peers_;
    MessageMatcher matcher_;
    std::unique_ptr<Error> ended_;
    std::condition_variable work_to_do_;
    std::thread progress_thread_;
    bool closing_ = false;
};

}  // namespace dlaunch::worker::shm
