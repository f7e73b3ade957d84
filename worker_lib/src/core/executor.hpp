#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "worker_lib/src/core/deadline.hpp"
#include "worker_lib/src/core/work_state.hpp"

namespace dlaunch::worker {

/// Runs the collectives of a group one at a time, in the order of their tickets. Blocking calls run in the caller's
/// thread; asynchronous calls run in the executor's own thread, which the first of them starts.
class Executor {
public:
    using Job = std::function<void()>;

    Executor() = default;
    /// Runs all pending jobs, then joins the thread.
    ~Executor();
    Executor(const Executor&) = delete;
    Executor& operator=(const Executor&) = delete;

    /// Runs `job` after all earlier jobs and returns its result or throws its exception. If the job's turn has not come
    /// by the deadline, `late` must make the earlier jobs end; the error that `late` returns is thrown and `job` is
    /// skipped.
    template <class F, class Late>
    void run(const Deadline& deadline, F&& job, Late&& late) {
        const std::uint64_t ticket = next_ticket_++;
        const auto is_due = [&] { return now_serving_ == ticket; };
        if (is_due()) {
            const TurnGuard guard{this};
            return job();
        }
        std::unique_lock lock(mutex_);
        const bool in_time = my_turn_.wait_until(lock, deadline.at(), is_due);
        lock.unlock();
        if (in_time) {
            const TurnGuard guard{this};
            return job();
        }
        std::exception_ptr error;
        try {
            throw late();
        } catch (...) {  // any exception: the ticket must still be served, later tickets wait for it
            error = std::current_exception();
        }
        lock.lock();
        my_turn_.wait(lock, is_due);
        lock.unlock();
        const TurnGuard guard{this};
        std::rethrow_exception(error);
    }
    /// Runs `job` in the executor's thread after all earlier jobs and finishes `state` with its outcome.
    void start(std::shared_ptr<WorkState> state, Job job);

private:
    struct Item {
        std::uint64_t ticket;
        std::shared_ptr<WorkState> state;
        Job job;
    };
    struct TurnGuard {
        Executor* executor;
        ~TurnGuard() { executor->finish_turn(); }
    };
    void finish_turn();
    void serve();

    std::mutex mutex_;
    std::condition_variable my_turn_, work_available_;
    std::atomic<std::uint64_t> next_ticket_{0}, now_serving_{0};
    std::deque<Item> items_;
    std::thread thread_;
    bool stopping_ = false;
};

}  // namespace dlaunch::worker
