#pragma once
/// Functions that run when calls have ended: Work::then() and co_await.

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "worker_lib/src/core/work_state.hpp"

namespace dlaunch::worker {

/// Runs all continuations of the process in one thread, which the first of them starts. A thread of a backend must not
/// run them, because they may block, and not every backend has one. Any thread.
class Continuations {
public:
    using Id = std::uint64_t;

    static Continuations& instance();

    /// The number of a continuation to come; not 0. The caller stores it before add(), which may run the function
    /// before it returns.
    [[nodiscard]] Id next_id();
    /// Runs `function`, which must not throw, when the call has ended.
    void add(Id id, std::shared_ptr<WorkState> call, std::function<void()> function);
    /// The function will not be run, unless it has begun or ended already. 0 is ignored.
    void cancel(Id id);
    [[nodiscard]] bool is_current_thread() const { return std::this_thread::get_id() == thread_id_; }

private:
    struct Item {
        Id id;
        std::shared_ptr<WorkState> call;
        std::function<void()> function;
    };

    Continuations() = default;
    [[noreturn]] void serve();
    [[nodiscard]] bool run_one();

    const std::shared_ptr<Bell> bell_ = std::make_shared<Bell>();
    std::mutex mutex_;
    std::vector<Item> items_;  // in the order of add()
    Id last_id_ = 0;
    std::atomic<std::thread::id> thread_id_;
    bool started_ = false;
};

}  // namespace dlaunch::worker
