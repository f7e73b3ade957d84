#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include <dlaunch/standard.hpp>

namespace dlaunch {

namespace worker {
class Group;
class WorkState;
}  // namespace worker

namespace detail {

class WorkAwaiter;

/// A function for Work::then(): callable with the ended Work, or without an argument.
template <class F, class Work>
concept Continues = std::is_invocable_v<std::decay_t<F>, Work> || std::is_invocable_v<std::decay_t<F>>;

}  // namespace detail

/// Result of a receive.
struct Received {
    int source = -1;  ///< rank in the group
    int tag = 0;
    std::size_t count = 0;  ///< elements
};

/// A handle of an asynchronous call; copies refer to the same call.
///
/// The destructor of the last handle waits for the call, because the call's buffers may be freed next, and prints an
/// error that no wait() has thrown to stderr. During stack unwinding it aborts the group first, so that the wait is
/// short. A handle keeps its group alive, even after destroy_process_group().
class [[nodiscard]] Work {
public:
    Work();  ///< a completed call
    explicit Work(std::shared_ptr<worker::WorkState> state, std::shared_ptr<worker::Group> group = nullptr);
    Work(const Work&) = default;
    Work(Work&&) = default;
    Work& operator=(const Work&) = default;
    Work& operator=(Work&&) = default;
    ~Work();

    /// Waits for the call and throws its Error; may be called repeatedly. For calls on device memory it makes the
    /// caller's stream wait instead of the host, and throws an Error that is known already.
    void wait();
    /// Blocks the host for at most `duration`, also for device memory; true: the call is done. Throws its Error.
    bool wait_for(std::chrono::nanoseconds duration);
    /// True: the call has completed or failed. Never blocks.
    [[nodiscard]] bool done() const;
    /// The result of a completed receive.
    [[nodiscard]] Received received() const;

    /// Runs `fn` once when the call has ended, for device memory when the GPU has completed it. The result ends when
    /// `fn` has returned, with the exception of `fn` if it throws. fn() runs only if the call has succeeded; the call's
    /// Error goes to the result. fn(Work ended) runs in any case; ended.wait() does not block, and throws the Error.
    ///
    /// All functions of a process run in one thread of the library, in the order in which the calls end: a long one
    /// delays the other functions. They may make calls, but waiting there for the result of a then() throws Error
    /// (invalid_argument), because it would wait for itself.
    template <detail::Continues<Work> F>
    Work then(F&& fn) const {
        auto function = std::make_shared<std::decay_t<F>>(std::forward<F>(fn));
        return this->then_run([function = std::move(function)](Work ended) {
            if constexpr (std::is_invocable_v<std::decay_t<F>, Work>) {
                (*function)(std::move(ended));
            } else {
                ended.wait();
                (*function)();
            }
        });
    }

    /// co_await work: resumes the coroutine, in the thread of the functions of then(), when the call has ended. Returns
    /// received() or throws the Error. A call that has ended already does not suspend. A coroutine that is destroyed
    /// while it waits is not resumed.
    [[nodiscard]] detail::WorkAwaiter operator co_await() const;

private:
    friend std::optional<std::size_t> wait_any(std::span<Work> works);
    friend class detail::WorkAwaiter;
    [[nodiscard]] Work then_run(std::function<void(Work ended)> fn) const;
    /// Stores a number in `continuation` for cancel(), before `resume` can run.
    void resume_later(std::uint64_t& continuation, std::function<void()> resume) const;
    static void cancel(std::uint64_t continuation);
    std::shared_ptr<worker::WorkState> state_;
};

namespace detail {

class WorkAwaiter {
public:
    explicit WorkAwaiter(Work work) : work_(std::move(work)) {}
    ~WorkAwaiter() {
        if (continuation_ != 0) Work::cancel(continuation_);
    }
    WorkAwaiter(const WorkAwaiter&) = delete;
    WorkAwaiter& operator=(const WorkAwaiter&) = delete;

    [[nodiscard]] bool await_ready() const { return work_.done(); }
    template <class Coroutine>
    void await_suspend(Coroutine coroutine) {
        work_.resume_later(continuation_, [coroutine]() mutable { coroutine.resume(); });
    }
    Received await_resume() {
        work_.wait();
        return work_.received();
    }

private:
    Work work_;
    std::uint64_t continuation_ = 0;
};

}  // namespace detail

inline detail::WorkAwaiter Work::operator co_await() const { return detail::WorkAwaiter(*this); }

/// Waits until all calls have ended, then throws the Error of the first one in the span that has failed, if any.
void wait_all(std::span<Work> works);
/// Waits until a call has ended and returns its index, or throws its Error; the element becomes Work(). Elements that
/// are Work() already are passed over; nullopt: there is no other. Blocks the host, also for device memory.
[[nodiscard]] std::optional<std::size_t> wait_any(std::span<Work> works);

}  // namespace dlaunch
