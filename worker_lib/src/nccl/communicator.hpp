#pragma once
/// A communicator that never blocks its caller: what NCCL has begun is polled, so that a deadline, a lost peer or
/// abort() can end it.

#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>

#include "worker_lib/src/nccl/library.hpp"

namespace dlaunch::worker::nccl {

/// What NCCL says when it refuses or fails.
class Failure : public std::runtime_error {
public:
    Failure(Result result, const std::string& text) : std::runtime_error(text), result_(result) {}
    [[nodiscard]] Result result() const { return result_; }
    /// Arguments were refused; the communicator can be used on.
    [[nodiscard]] bool harmless() const {
        return result_ == Result::invalid_argument || result_ == Result::invalid_usage;
    }

private:
    Result result_;
};

/// Any thread; its functions throw Failure.
class Communicator {
public:
    /// Called while something is in progress; throws to give it up.
    using Check = std::function<void()>;

    /// Begins to join the others; settle() ends it.
    Communicator(int ranks, const UniqueId& id, int rank);
    /// Aborts.
    ~Communicator();
    Communicator(const Communicator&) = delete;
    Communicator& operator=(const Communicator&) = delete;

    /// `use(table, comm)` gives work to NCCL and returns its result.
    template <class Use>
    void call(Use&& use) {
        const std::lock_guard lock(mutex_);
        judge(comm_ ? use(nccl(), comm_) : Result::invalid_usage);
    }
    /// Waits until NCCL has taken what it was given.
    void settle(const Check& check);
    /// Throws where something has gone wrong behind our back.
    void look();
    /// A communicator of the ranks that give the same color, in the order of their keys; kNoColor: none. All ranks call
    /// it. nullptr: this library cannot, or no color.
    [[nodiscard]] std::unique_ptr<Communicator> split(int color, int key, const Check& check);
    /// Waits, until `check` throws, for the others to have all they need of this rank; what is left is aborted.
    void leave(const Check& check) noexcept;
    /// Ends what is under way, and the communicator.
    void abort() noexcept;

private:
    Communicator() = default;
    [[nodiscard]] Result state();
    void judge(Result result) const;

    mutable std::mutex mutex_;
    Comm comm_ = nullptr;
};

/// The text of the library for a result and, where it has one, for its last error.
[[nodiscard]] std::string error_text(Result result, Comm comm);

}  // namespace dlaunch::worker::nccl
