#pragma once

#include <chrono>
#include <cstddef>
#include <memory>

namespace dlaunch {

namespace worker {
class WorkState;
}

/// What a receive received.
struct Received {
    int source = -1;  ///< rank in the group
    int tag = 0;
    std::size_t count = 0;  ///< elements
};

/// A call that is under way. Copies are the same call.
///
/// The last handle waits for the call when it goes, as the call's buffers may go next; an error that nobody was told
/// is then said on standard error. Where an exception is the reason, the group is aborted first, so that nobody waits
/// for long.
class [[nodiscard]] Work {
public:
    Work();  ///< done already
    explicit Work(std::shared_ptr<worker::WorkState> state);
    Work(const Work&) = default;
    Work(Work&&) = default;
    Work& operator=(const Work&) = default;
    Work& operator=(Work&&) = default;
    ~Work();

    /// Returns when the call is done; throws its Error. May be called again.
    void wait();
    /// Waits no longer than this: whether the call is done. Throws its Error.
    bool wait_for(std::chrono::nanoseconds duration);
    /// Whether the call has ended, well or not; never waits.
    [[nodiscard]] bool done() const;
    /// Of a receive that is done.
    [[nodiscard]] Received received() const;

private:
    std::shared_ptr<worker::WorkState> state_;
};

}  // namespace dlaunch
