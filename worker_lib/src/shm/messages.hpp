#pragma once
/// Messages between ranks on one host, through one ring per ordered pair of ranks.
///
/// A sender writes envelope and payload into its ring as capacity permits; a send is complete when all its bytes are in
/// the ring. The receiver reads the payload directly into the buffer of the first posted receive that matches source
/// and tag. An unmatched message stays in the ring until a receive is posted for a message behind it; the unmatched
/// message is then moved to private memory (an unexpected message), so that the receiver may choose the order of tags.
///
/// A thread that waits for one call makes progress on all calls. Calls without a waiting thread (isend, irecv) are
/// driven by a progress thread, which the first of them starts.

#include <condition_variable>
#include <deque>
#include <list>
#include <memory>
#include <thread>
#include <vector>

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
    /// A message that was read before a matching receive was posted.
    struct Unexpected {
        int source;
        Envelope envelope;
        std::vector<std::byte> bytes;
        std::size_t arrived = 0;
    };
    /// The traffic from and to one rank.
    struct Peer {
        Pipe in, out;
        bool opened = false;  // an envelope has been read, its payload not completely
        Envelope envelope;
        std::size_t arrived = 0;
        // Destination of the payload, at most one of three; none: no receive has been posted for it yet.
        Call receiver;
        Unexpected* unexpected = nullptr;
        bool discarding = false;
        std::deque<Call> sends;
        bool ended = false;  // the peer had ended before its ring was last drained: no more bytes will come
        bool draining =
            false;  // the discarded message counts as pending, so that its sender does not block on the ring
    };

    void end_all(const Error& why);
    bool progress();
    bool push(int rank);
    bool pull(int rank);
    bool match(int rank);
    void match_unexpected();
    bool deliver(const Call& call, Unexpected& unexpected);
    void end_message(int rank);
    void discard(Peer& peer);
    void finish_drain(Peer& peer);
    void wake_progress_thread();
    void note_ended_peers();
    void expire();
    void wait(Pending* call, Time deadline);
    void run_progress_thread();
    void ring(int rank);
    [[nodiscard]] bool accepts(const Call& call, int source, const Envelope& envelope) const;
    [[nodiscard]] bool fits(const Call& call, int source, const Envelope& envelope);
    [[nodiscard]] Error::Where where(const Pending& call) const;
    void fail(const Call& call, const Error& error);

    const std::shared_ptr<Segment> segment_;
    const std::shared_ptr<Exchange> exchange_;
    const GroupInfo group_;
    Control& own_;
    std::mutex mutex_;
    std::vector<Peer> peers_;
    std::list<Call> receives_;          // in the order of posting
    std::list<Unexpected> unexpected_;  // in the order of arrival
    std::size_t pending_ = 0;
    std::unique_ptr<Error> ended_;
    std::condition_variable work_to_do_;
    std::thread progress_thread_;
    bool closing_ = false;
};

}  // namespace dlaunch::worker::shm
