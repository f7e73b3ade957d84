#pragma once
/// Propagation of failures among the ranks of an nccl group, through the group's store: NCCL has no channel for it.
///
/// A thread of every rank waits for one key of its own; a rank that gives up sets the keys of all other ranks. Before a
/// time-out is reported to the program, all ranks publish the signatures of their calls, so that the late or
/// mismatching rank is named equally on all ranks. Ranks with long-running calls publish their recent signatures
/// earlier and read those of two others, so that mismatching calls end long before their time-out.

#include <functional>
#include <memory>
#include <optional>

#include "worker_lib/src/core/backend.hpp"
#include "worker_lib/src/store/handle.hpp"

namespace dlaunch::worker::nccl {

class FailureNotice {
public:
    /// Calls `on_notice` at most once, from another thread, with the Error that another rank has published.
    FailureNotice(StoreHandle store, GroupInfo group, std::function<void(const Error& why)> on_notice);
    /// After the destructor `on_notice` is not called any more.
    ~FailureNotice();
    FailureNotice(const FailureNotice&) = delete;
    FailureNotice& operator=(const FailureNotice&) = delete;

    /// Sends the reason of this rank's failure to all other ranks. A failure of the store is ignored.
    void publish(const Error& why) noexcept;
    /// The Error that another rank has published to this rank, also if `on_notice` has not been called yet.
    [[nodiscard]] std::optional<Error> received() noexcept;
    /// After a time-out or a mismatch, called by every rank: publishes this rank's signature of the failed call (unset:
    /// not called yet), reads those of all ranks and returns the Error to report.
    [[nodiscard]] Error diagnose(const Error& found, const std::optional<Signature>& ours) noexcept;
    /// The recent calls of one rank.
    struct CallRecord {
        std::uint64_t last = 0;        ///< sequence number of the last call
        bool left = false;             ///< the rank left the group after its last call
        std::vector<Signature> calls;  ///< the recent ones
    };
    void publish_calls(const CallRecord& ours) noexcept;
    /// Compares this rank's recent calls with the published ones of rank 0 and the next rank. Returns an Error if rank
    /// 0 made another call with the same number, or if one of them left the group before the pending call.
    [[nodiscard]] std::optional<Error> compare_calls(const Error::Where& pending, const CallRecord& ours) noexcept;

private:
    [[nodiscard]] std::optional<CallRecord> record_of(int rank);
    struct Shared;
    const StoreHandle store_;
    const GroupInfo group_;
    const std::shared_ptr<Shared> shared_;
};

}  // namespace dlaunch::worker::nccl
