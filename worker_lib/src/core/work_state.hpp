#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <dlaunch/work.hpp>
#include "worker_lib/src/core/call.hpp"
#include "worker_lib/src/core/generation.hpp"

namespace dlaunch::worker {

/// Wakes a thread that waits for any of several calls.
class Bell {
public:
    void ring() {
        const std::lock_guard lock(mutex_);
        rung_ = true;
        changed_.notify_all();
    }
    /// Waits until the next ring() at most until `deadline`.
    void wait_until(Time deadline) {
        std::unique_lock lock(mutex_);
        changed_.wait_until(lock, deadline, [&] { return rung_; });
        rung_ = false;
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool rung_ = false;
};

/// The shared state behind a Work handle. The code that carries out the call holds it too and calls finish() once.
class WorkState {
public:
    virtual ~WorkState() = default;

    /// Waits; false: the call is still pending at the deadline. A backend may make progress in the caller's thread.
    virtual bool wait_until(Time deadline);
    /// Implements Work::wait(): blocks until the call is done, or makes the caller's stream wait for it.
    virtual void join();
    [[nodiscard]] virtual bool done();
    /// Remembers this process as the owner of the call.
    void bind_to_process() { generation_ = generation(); }
    [[nodiscard]] bool is_same_process() const { return generation_ == generation(); }
    /// Throws in a fork of the owner, where no thread would ever finish the call.
    void check_process() const;
    /// Throws the call's Error, if it has one.
    void rethrow();
    [[nodiscard]] Received received() const;

    /// Completes the call; only the first finish() has an effect.
    void finish(std::exception_ptr error = nullptr);
    void finish(Received received);
    /// Sets received() in advance, for a receive with fixed source, tag and count.
    void will_receive(Received received);

    /// finish() rings the bell until it is removed.
    void add_bell(const std::shared_ptr<Bell>& bell);
    void remove_bell(const std::shared_ptr<Bell>& bell);

    /// The last handle was destroyed: waits for the call and prints an error that no wait() has thrown. During stack
    /// unwinding, `abort` ends a pending call first.
    void abandon(const std::function<void()>& abort) noexcept;

private:
    void finish_locked();

    unsigned generation_ = 0;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    bool done_ = false, reported_ = false;
    std::exception_ptr error_;
    Received received_;
    std::vector<std::shared_ptr<Bell>> bells_;  // of the threads in wait_any()
};

}  // namespace dlaunch::worker
