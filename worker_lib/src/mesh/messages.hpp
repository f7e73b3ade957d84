#pragma once
/// Messages over a mesh. A message is an envelope of fixed size and a payload, one transfer each, so that the receiver
/// knows the length before it receives the payload. Each peer has a writer and a reader thread, started by the first
/// message.
///
/// A caller that waits for a message of one peer reads itself, if the transport permits it, and one that sends writes
/// itself what the connection takes at once: threads that wake each other cost more than the message.
///
/// MessageMatcher chooses the receive. An unmatched message is read only when it is held.

#include <condition_variable>
#include <deque>
#include <memory>
#include <thread>
#include <vector>

#include "worker_lib/src/core/message_matcher.hpp"
#include "worker_lib/src/mesh/mesh.hpp"

namespace dlaunch::worker::mesh {

class Messages : public std::enable_shared_from_this<Messages> {
public:
    explicit Messages(Mesh& mesh);
    ~Messages();
    Messages(const Messages&) = delete;
    Messages& operator=(const Messages&) = delete;

    std::shared_ptr<WorkState> post(const Transfer& transfer);
    /// Fails all pending and future calls and joins the threads; the mesh may be destroyed afterwards.
    void close(const Error& why);

private:
    struct Pending;
    using Call = std::shared_ptr<Pending>;
    struct Peer {
        std::thread reader, writer;
        bool is_read = false;       // a caller of wait() reads, and there is no reader thread
        bool needs_reader = false;  // as soon as that caller is done
        Incoming incoming;          // of the reader thread, or of the caller that reads
        std::deque<Call> sends;
        std::unique_ptr<Lane> in, out;  // of the threads
        std::unique_ptr<Error> lost;    // why the peer is lost; names no call
    };

    void start(int rank, bool reads);
    void read(int rank);
    void read_one(int rank, Time& began, Time until);
    void start_readers();
    void read_here(Pending& call, Time until);
    void find_place(int rank, Incoming& incoming, Time& began);
    bool caller_reads(const Transfer& transfer);
    bool send_now(Peer& peer, const Call& call);
    void write(int rank);
    void lose(int rank, const std::exception& thrown, Time began, bool reads);
    [[nodiscard]] const Error* why_no_sender(int rank) const;
    [[nodiscard]] Error lost(const Error& why, bool sends) const;
    bool wait(Pending& call, Time deadline);
    [[nodiscard]] Error::Where where(bool sends) const { return {sends ? "send" : "recv", 0, mesh_.group().name}; }

    Mesh& mesh_;
    std::mutex mutex_;
    std::condition_variable changed_;  // a call was posted, or the group has ended
    std::vector<Peer> peers_;
    MessageMatcher matcher_;
    std::unique_ptr<Error> closed_;
    std::mutex joining_;  // serializes concurrent close() of a failing call and an abort()
};

}  // namespace dlaunch::worker::mesh
