#pragma once

#include <atomic>

#include "worker_lib/src/core/work_state.hpp"
#include "worker_lib/src/nccl/device.hpp"

namespace dlaunch::worker::nccl {

/// A call that a stream holds. To join() it is to have the caller's stream wait; whoever wants to know the end on the
/// host looks at the mark behind the call.
class StreamWork final : public WorkState {
public:
    StreamWork(const Gpu& device, Stream callers, Error::Where what, Time until)
        : where(std::move(what)), began(Clock::now()), deadline(until), gpu_(device), callers_(callers) {}

    /// Where the call ends: what the stream holds so far.
    void mark_end(Stream stream) {
        end_.set(stream);
        marked_ = true;
    }
    /// The call will be ended by force, so its mark says nothing any more; finish() follows.
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
    const Mark end_;
    std::atomic<bool> marked_{false}, doomed_{false};
};

}  // namespace dlaunch::worker::nccl
