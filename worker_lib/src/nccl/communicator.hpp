#pragma once
/// A non-blocking communicator: operations in progress are polled, so that a deadline, a lost peer or abort() can end
/// them.

#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>

#include "worker_lib/src/nccl/library.hpp"

namespace dlaunch::worker::nccl {

/// A result of NCCL other than success and in_progress.
class Failure : public std::runtime_error {
public:
    Failure(Result result, const std::string& text) : std::runtime_error(text), result_(result) {}
    [[nodiscard]] Result result() const { return result_; }
    /// NCCL has refused a call of this rank.
    [[nodiscard]] bool refused() const {
        return result_ == Result::invalid_argument || result_ == Result::invalid_usage;
    }

private:
    Result result_;
};

/// Any thread; its functions throw Failure.
class Communicator {
public:
    /// Called repeatedly while an operation is in progress; throws to abandon it.
    using Check = std::function<void()>;

    /// Starts the initialization; settle() completes it.
    Communicator(int ranks, const UniqueId& id, int rank);
    /// Aborts.
    ~Communicator();
    Communicator(const Communicator&) = delete;
    Communicator& operator=(const Communicator&) = delete;

    /// Runs `use(table, comm)`, which returns NCCL's result, under the communicator's lock.
    template <class Use>
    void call(Use&& use) {
        const std::lock_guard lock(mutex_);
        judge(comm_ ? use(nccl(), comm_) : Result::invalid_usage);
    }
    [[nodiscard]] Comm handle() const {
        const std::lock_guard lock(mutex_);
        return comm_;
    }
    /// Waits until NCCL has accepted the operations issued so far.
    void settle(const Check& check);
    /// Throws if NCCL has an asynchronous error.
    void look();
    /// Splits off a communicator of the ranks with the same color, ordered by key; called by all ranks. nullptr:
    /// `color` is kNoColor, or this NCCL has no ncclCommSplit.
    [[nodiscard]] std::unique_ptr<Communicator> split(int color, int key, const Check& check);
    /// Finalizes and destroys the communicator: waits until no peer needs this rank any more. Aborts if `check` throws.
    void leave(const Check& check) noexcept;
    /// Aborts pending operations and destroys the communicator.
    void abort() noexcept;

private:
    Communicator() = default;
    [[nodiscard]] Result state();
    void judge(Result result) const;

    mutable std::mutex mutex_;
    Comm comm_ = nullptr;
};

/// NCCL's text for a result, followed by the text of its last error if there is one.
[[nodiscard]] std::string error_text(Result result, Comm comm);

}  // namespace dlaunch::worker::nccl
