#pragma once
/// A mesh of Gloo's connections. Gloo's collectives are not used, because they abort the process when ranks disagree on
/// a length and report errors without the rank.

#include <gloo/rendezvous/context.h>

#include "worker_lib/src/mesh/mesh.hpp"

namespace dlaunch::worker::gloo_backend {

class WaitTimers;
class SubmissionQueue;

class GlooMesh final : public mesh::Mesh {
public:
    /// Connects all ranks; throws Error.
    GlooMesh(const GroupInfo& group, const std::vector<Member>& members, const StoreHandle& store, Time deadline);
    ~GlooMesh() override;

    using Buffer = std::unique_ptr<gloo::transport::UnboundBuffer>;
    [[nodiscard]] Buffer buffer(const void* data, std::size_t bytes);
    /// Waits for a transfer of a collective; end_waits() ends the wait. False: the wait was aborted.
    bool await(gloo::transport::UnboundBuffer& buffer, bool sends, int peer, Time deadline);
    /// The same for messages; end_waits() does not end this wait.
    bool wait(gloo::transport::UnboundBuffer& buffer, bool sends, int peer, Time deadline);
    [[nodiscard]] SubmissionQueue& submission_queue() const { return *submission_queue_; }

    [[nodiscard]] std::unique_ptr<mesh::Flow> flow(int peer, bool sends, std::uint64_t slot, const void* data,
                                                   std::size_t bytes) override;
    [[nodiscard]] std::unique_ptr<mesh::Lane> lane(int peer, bool sends) override;
    [[nodiscard]] bool is_broken(int peer) override;
    /// For Gloo's own collectives, whose slots are none of ours.
    [[nodiscard]] void* native_handle(std::string_view backend) override {
        return backend == "gloo" ? context_.get() : nullptr;
    }

private:
    void connect(const std::vector<Member>& members, Time deadline, int& peer);
    void end_waits() override;
    void close_connections() override;

    std::unique_ptr<WaitTimers> timers_;
    std::unique_ptr<SubmissionQueue> submission_queue_;
    std::shared_ptr<gloo::rendezvous::Context> context_;
    std::mutex awaiting_;
    gloo::transport::UnboundBuffer* awaited_ = nullptr;  // at most one: collectives do not overlap
    std::mutex probing_;
    std::vector<Buffer> probes_;  // receives in kProbeSlot, which fail when the connection closes; by rank
};

/// No rank ever sends in this slot.
inline constexpr std::uint64_t kProbeSlot = mesh::kMessageSlots - 1;

class GlooFlow final : public mesh::Flow {
public:
    GlooFlow(GlooMesh& mesh, int peer, bool sends, std::uint64_t slot, const void* data, std::size_t bytes)
        : Flow(mesh, peer), mesh_(mesh), sends_(sends), slot_(slot), buffer_(mesh.buffer(data, bytes)) {}
    ~GlooFlow() override;
    /// Starts a transfer; runs in Gloo's thread.
    void begin_now(std::size_t offset, std::size_t bytes) noexcept;

private:
    /// Queues the transfer; the next wait for any flow of the mesh submits the queue.
    void add(std::size_t offset, std::size_t bytes) override;
    void await(Time until) override;

    GlooMesh& mesh_;
    const bool sends_;
    const std::uint64_t slot_;
    GlooMesh::Buffer buffer_;
    std::exception_ptr failed_;  // a transfer could not start; an aborted wait signals it to the waiting thread
};

}  // namespace dlaunch::worker::gloo_backend
