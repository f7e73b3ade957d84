#pragma once
/// A non-blocking communicator: operations in progress are polled, so that a deadline, a lost peer or abort() can end
/// them.

#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>

#include "worker_lib/src/nccl/background.hpp"
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
    Communicator(int ranks, const UniqueId& id, int rank, Config config);
    /// Aborts.
    ~Communicator();
    Communicator(const Communicator&) = delete;
    Communicator& operator=(const Communicator&) = delete;

    /// Runs `use(table, comm)`, which returns NCCL's result, under the communicator's lock.
    template <class Use>
    void call(Use&& use) {
        const std::lock_guard lock(shared_->mutex);
        judge(shared_->comm ? use(nccl(), shared_->comm) : Result::invalid_usage);
    }
    [[nodiscard]] Comm handle() const {
        const std::lock_guard lock(shared_->mutex);
        return shared_->comm;
    }
    /// Waits until NCCL has accepted the operations issued so far.
    void settle(const Check& check);
    /// Throws if NCCL has an asynchronous error.
    void look();
    /// Splits off a communicator of the ranks with the same color, ordered by key; called by all ranks. nullptr:
    /// `color` is kNoColor. Requires ncclCommSplit, and no other call on this communicator.
    [[nodiscard]] std::unique_ptr<Communicator> split(int color, int key, Config config, const Check& check);
    /// Finalizes and destroys the communicator: waits until no peer needs this rank any more. Aborts if `check` throws.
    void leave(const Check& check) noexcept;
    /// Aborts pending operations and destroys the communicator, in a thread of its own: ncclCommAbort waits for the
    /// streams of its calls, which may be stuck in a kernel of the program. False: it has not ended within
    /// kAbortPatience, and goes on.
    bool abort() noexcept;
    /// Ready when the abort, which has begun, has ended.
    [[nodiscard]] std::shared_future<void> aborted() const;

private:
    /// Outlives the Communicator while an abort goes on.
    struct Shared {
        std::mutex mutex;
        Comm comm = nullptr;
        /// Where NCCL writes the communicator of an initialization or a split: at the end of the job, also when it has
        /// failed, and at the latest when an abort joins the job.
        Comm made = nullptr;
        std::mutex abort_mutex;
        std::shared_future<void> aborted;  // valid: the abort has begun
        void abort();
    };

    explicit Communicator(Comm made) { shared_->comm = made; }
    [[nodiscard]] Result state();
    void judge(Result result) const;

    const std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
};

/// NCCL's text for a result, followed by the text of its last error if there is one.
[[nodiscard]] std::string error_text(Result result, Comm comm);

}  // namespace dlaunch::worker::nccl
