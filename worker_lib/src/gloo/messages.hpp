#pragma once
/// Messages over a mesh: an envelope of fixed size, then the bytes, each in a slot of its own, so that a length is
/// known before it is used. Each peer has a thread that writes to it and one that reads from it, from the first message
/// on.
///
/// As on shared memory a message goes to the first receive that fits by source and tag; one that fits none is left
/// where it is until a message behind it is wanted.

#include <condition_variable>
#include <deque>
#include <list>
#include <memory>
#include <thread>
#include <vector>

#include "worker_lib/src/gloo/mesh.hpp"

namespace dlaunch::worker::gloo_backend {

class Messages : public std::enable_shared_from_this<Messages> {
public:
    explicit Messages(Mesh& mesh);
    ~Messages();
    Messages(const Messages&) = delete;
    Messages& operator=(const Messages&) = delete;

    std::shared_ptr<WorkState> post(const Transfer& transfer);
    /// Ends what is pending and all that comes, and the threads. The mesh may go afterwards.
    void close(const Error& why);

private:
    struct Envelope {
        std::uint64_t bytes = 0;
        std::int32_t tag = 0;
        DType type = DType::uint8;
        std::uint8_t zero[3] = {};
    };
    struct Pending;
    using Call = std::shared_ptr<Pending>;
    struct Early {
        int source;
        Envelope envelope;
        std::vector<std::byte> bytes;
    };
    struct Peer {
        std::thread reader, writer;
        std::deque<Call> sends;
        gloo::transport::UnboundBuffer* reading = nullptr;  // what its reader waits for
        gloo::transport::UnboundBuffer* writing = nullptr;
        std::unique_ptr<Error> lost;  // why; not yet said of any call
    };

    void start(int rank, bool reads);
    void read(int rank);
    void read_one(int rank, std::uint64_t number, Time& began);
    void write(int rank);
    void await(int rank, Mesh::Buffer& buffer, bool reads, Time deadline);
    void lose(int rank, const std::exception& thrown, Time began, bool reads);
    [[nodiscard]] const Error* nobody_sends(int rank) const;
    [[nodiscard]] Error lost(const Error& why, bool sends) const;
    void match_early();
    bool accepts(const Call& call, int source, const Envelope& envelope) const;
    bool fits(const Call& call, int source, const Envelope& envelope) const;
    bool wait(Pending& call, Time deadline);
    [[nodiscard]] Error::Where where(bool sends) const { return {sends ? "send" : "recv", 0, mesh_.group()}; }

    Mesh& mesh_;
    std::mutex mutex_;
    std::condition_variable changed_;  // a call came, or it is over
    std::vector<Peer> peers_;
    std::list<Call> receives_;
    std::list<Early> earlies_;
    std::unique_ptr<Error> closed_;
    std::mutex joining_;  // of the peers' threads: a call that fails and who aborts it may close at a time
};

}  // namespace dlaunch::worker::gloo_backend
