#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include <dlaunch/work.hpp>
#include "worker_lib/src/core/call.hpp"
#include "worker_lib/src/core/generation.hpp"

namespace dlaunch::worker {

/// What a Work points at. Whoever carries the call out holds it too, and says finish() once.
class WorkState {
public:
    virtual ~WorkState() = default;

    /// Whether the call is done at the deadline. A backend may use the caller's time to get on with it.
    virtual bool wait_until(Time deadline);
    /// What Work::wait() does: waits for the end, or has the call's stream wait for it.
    virtual void join();
    [[nodiscard]] virtual bool done();
    /// For handles: which process's call it is. The other one throws in a fork of that, which nobody would ever tell.
    void made_here() { generation_ = generation(); }
    [[nodiscard]] bool is_from_here() const { return generation_ == generation(); }
    void check_process() const;
    /// Throws the call's Error, if it has one.
    void rethrow();
    [[nodiscard]] Received received() const;

    /// Once; what is said later does not count.
    void finish(std::exception_ptr error = nullptr);
    void finish(Received received);
    /// For a receive that can receive nothing else.
    void will_receive(Received received);

    /// The last handle has gone: waits, and sees that an error is not lost. Where an exception is the reason, `abort`
    /// ends the call first.
    void abandon(const std::function<void()>& abort) noexcept;

private:
    unsigned generation_ = 0;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    bool done_ = false, told_ = false;
    std::exception_ptr error_;
    Received received_;
};

}  // namespace dlaunch::worker
