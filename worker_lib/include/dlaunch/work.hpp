#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>

#include <dlaunch/standard.hpp>

namespace dlaunch {

namespace worker {
class Group;
class WorkState;
}  // namespace worker

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

private:
    friend std::optional<std::size_t> wait_any(std::span<Work> works);
    std::shared_ptr<worker::WorkState> state_;
};

/// Waits until all calls have ended, then throws the Error of the first one in the span that has failed, if any.
void wait_all(std::span<Work> works);
/// Waits until a call has ended and returns its index, or throws its Error; the element becomes Work(). Elements that
/// are Work() already are passed over; nullopt: there is no other. Blocks the host, also for device memory.
[[nodiscard]] std::optional<std::size_t> wait_any(std::span<Work> works);

}  // namespace dlaunch
