#pragma once

#include <atomic>

#include "worker_lib/src/core/work_state.hpp"
#include "worker_lib/src/nccl/device.hpp"

namespace dlaunch::worker::nccl {

/// A call enqueued on a stream. join() makes the caller's stream wait for it, or waits
/// itself while that stream is being captured; done() queries the event that is recorded
/// behind the call.
class StreamWork final : public WorkState {
public:
    StreamWork(const Gpu& device, Stream callers, Error::Where what, Time until)
        : where(std::move(what)), began(Clock::now()), deadline(until), gpu_(device), callers_(callers) {
        end_.emplace();
    }
    ~StreamWork() override;

    /// Records the event behind the call.
    void record_end(Stream stream) {
        end_->record(stream);
        recorded_ = true;
    }
    /// The communicator is about to be aborted, which makes the event meaningless; finish() follows.
    void doom() { doomed_ = true; }

    bool wait_until(Time deadline) override;
    void join() override;
    [[nodiscard]] bool done() override;

    const Error::Where where;
    const Time began, deadline;
    int peer = -1;  ///< of a message

private:
    const Gpu gpu_;
    const Stream callers_;
    std::optional<StreamEvent> end_;
    std::atomic<bool> recorded_{false}, doomed_{false};
};

}  // namespace dlaunch::worker::nccl
