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

/// Carries out a group's collectives one after the other: those that may block their caller in the caller's thread,
/// the others in a thread of its own, which is started for the first of them.
class Lane {
public:
    using Job = std::function<void()>;

    Lane() = default;
    /// Carries out what is pending, then ends.
    ~Lane();
    Lane(const Lane&) = delete;
    Lane& operator=(const Lane&) = delete;

    /// Runs `job` when all before it are done; returns, or throws, as it does. Where its turn has not come by the
    /// deadline `late` must end those before it; what it returns is thrown, and the job does not run.
    template <class F, class Late>
    void run(const Deadline& deadline, F&& job, Late&& late) {
        const std::uint64_t ticket = next_ticket_++;
        const auto is_due = [&] { return now_serving_ == ticket; };
        if (is_due()) {
            const Done done{this};
            return job();
        }
        std::unique_lock lock(mutex_);
        const bool in_time = my_turn_.wait_until(lock, deadline.at(), is_due);
        lock.unlock();
        if (in_time) {
            const Done done{this};
            return job();
        }
        std::exception_ptr error;
        try {
            throw late();
        } catch (...) {  // whatever it is: others wait for this turn
            error = std::current_exception();
        }
        lock.lock();
        my_turn_.wait(lock, is_due);
        lock.unlock();
        const Done done{this};
        std::rethrow_exception(error);
    }
    /// Runs `job` in the lane's thread when all before it are done, and ends `state` as it ends.
    void start(std::shared_ptr<WorkState> state, Job job);

private:
    struct Item {
        std::uint64_t ticket;
        std::shared_ptr<WorkState> state;
        Job job;
    };
    struct Done {
        Lane* lane;
        ~Done() { lane->next(); }
    };
    void next();
    void serve();

    std::mutex mutex_;
    std::condition_variable my_turn_, more_;
    std::atomic<std::uint64_t> next_ticket_{0}, now_serving_{0};
    std::deque<Item> items_;
    std::thread thread_;
    bool ending_ = false;
};

}  // namespace dlaunch::worker
