#pragma once

#include <chrono>
#include <cstddef>
#include <memory>

namespace dlaunch {

namespace worker {
class Group;
class WorkState;
}  // namespace worker

/// What a receive received.
struct Received {
    int source = -1;  ///< rank in the group
    int tag = 0;
    std::size_t count = 0;  ///< elements
};

/// A call that is under way. Copies are the same call.
///
/// The last handle does what wait() does when it goes, as the call's buffers may go next; an error that nobody was told
/// is then said on standard error. Where an exception is the reason, the group is aborted first, so that nobody waits
/// for long. A handle keeps its group alive, whatever destroy_process_group() says.
class [[nodiscard]] Work {
public:
    Work();  ///< done already
    explicit Work(std::shared_ptr<worker::WorkState> state, std::shared_ptr<worker::Group> group = nullptr);
    Work(const Work&) = default;
    Work(Work&&) = default;
    Work& operator=(const Work&) = default;
    Work& operator=(Work&&) = default;
    ~Work();

    /// Returns when the call is done; throws its Error. May be called again. Of device memory it does not wait: it has
    /// the call's stream wait, and throws what is known by then.
    void wait();
    /// Waits, in any case, no longer than this: whether the call is done. Throws its Error.
    bool wait_for(std::chrono::nanoseconds duration);
    /// Whether the call has ended, well or not; never waits.
    [[nodiscard]] bool done() const;
    /// Of a receive that is done.
    [[nodiscard]] Received received() const;

private:
    std::shared_ptr<worker::WorkState> state_;
};

}  // namespace dlaunch
