#pragma once
/// The nccl backend. Calls run on the backend's own stream; events order this stream after the caller's stream and the
/// caller's stream after the call, so that the host never blocks. A watchdog thread monitors deadlines, NCCL's
/// asynchronous errors, lost processes and other ranks' failure notices. Each of these ends the group: the communicator
/// is aborted, pending calls fail with the Error, later calls are refused.

#include <condition_variable>
#include <deque>
#include <thread>

#include "worker_lib/src/core/group.hpp"
#include "worker_lib/src/core/pid_watcher.hpp"
#include "worker_lib/src/nccl/calls.hpp"
#include "worker_lib/src/nccl/communicator.hpp"
#include "worker_lib/src/nccl/failure_notice.hpp"
#include "worker_lib/src/nccl/work.hpp"

namespace dlaunch::worker::nccl {

class NcclBackend final : public Backend {
public:
    explicit NcclBackend(const GroupParts& parts);
    ~NcclBackend() override;

    /// Throws Error. `made`: the communicator split from the parent's; nullptr: create one through the store.
    void connect(const std::vector<Member>& members, std::unique_ptr<Communicator> made, Time deadline);

    [[nodiscard]] std::string name() const override { return "nccl"; }
    void run(const Call& call) override;
    std::shared_ptr<WorkState> enqueue(const Call& call) override;
    std::shared_ptr<WorkState> post(const Transfer& transfer) override;
    std::vector<std::shared_ptr<WorkState>> post(std::span<const Transfer> transfers) override;
    void abort(const std::string& why) override;
    void give_up(const Error& why) override;
    void* native_handle(std::string_view backend) override;
    std::unique_ptr<Backend> split(const Split& what) override;
    void refuse_split(int number, const Error& why) override;

private:
    using Work = std::shared_ptr<StreamWork>;

    /// Before ncclCommSplit: waits until this rank's calls are done, because NCCL may deadlock otherwise, then until
    /// all ranks have come, members of the new group or not. A failure leaves the group usable. False: the group has
    /// ended.
    [[nodiscard]] bool await_split(int number, Time deadline, const Error::Where& where);
    void leave();
    void dispose();
    [[nodiscard]] UniqueId exchange_id(Time deadline);
    void start_watching(const std::vector<Member>& members);
    void watch();
    void poll_pending(std::unique_lock<std::mutex>& lock);
    void report_failure(const Error& why, bool inferred = false);
    [[nodiscard]] std::optional<Error> peer_notice();
    /// This rank's calls around `sequence`, to publish while that call is pending. Requires the mutex.
    [[nodiscard]] FailureNotice::CallRecord calls_around(std::uint64_t sequence) const;
    void end(const Error& why);
    [[nodiscard]] Error overdue(const StreamWork& late) const;

    [[nodiscard]] Channel channel(Comm comm) const { return {nccl(), comm, stream_, group_.rank, group_.size}; }
    [[nodiscard]] Work start(const Call& call);
    template <class Issue>
    [[nodiscard]] Work start(const Call& call, Issue&& issue);
    /// Refuses device memory that the GPU cannot use, before anything is sent: NCCL does not look at pointers, and a
    /// kernel that uses a wrong one ends the GPU's context. Refuses streams that are being captured: the call's end
    /// could not be found. Throws Error (invalid_argument).
    void check_device_part(const Call& call) const;
    void check_stream(const Error::Where& where, Stream stream) const;
    void check_memory(const Error::Where& where, const char* name, const void* data, std::size_t elements) const;
    void wait_for_caller(Stream callers) const;
    void track(const Work& work);
    void run_copied(const Call& call);
    void combine(const Call& call);
    /// Runs `issue` on the communicator and settles it. Any failure of NCCL ends the group: a non-blocking communicator
    /// keeps it. Requires launching_.
    template <class Issue>
    void submit(const Error::Where& where, Issue&& issue);
    [[nodiscard]] Error translate(const Failure& failure, const Error::Where& where) const;
    /// Checks that end a wait for NCCL: unless_ended() when the watchdog has ended the group, until() also at a
    /// deadline.
    [[nodiscard]] Communicator::Check unless_ended(const Error::Where& where) const;
    [[nodiscard]] Communicator::Check until(Time deadline, const Error::Where& where) const;
    [[nodiscard]] bool is_usable() const;
    void check_usable() const;
    [[nodiscard]] std::optional<Signature> called(std::uint64_t sequence) const;

    const GroupInfo group_;
    const StoreHandle store_;
    const NcclOptions options_;
    std::optional<Gpu> gpu_;
    bool checks_memory_ = false;
    Stream stream_ = nullptr;
    std::unique_ptr<Memory> byte_;  // reduced by barriers
    Scratch in_, out_, gathered_;   // staging buffers of calls with host memory
    std::unique_ptr<Communicator> communicator_;
    /// Held from a call until NCCL has accepted it, because a communicator refuses the next one before. A holder ends
    /// when the watchdog ends the group; therefore calls are tracked before they wait for it.
    std::mutex launching_;

    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Work> pending_;
    std::deque<Signature> history_;  // of the last calls, by sequence number
    std::optional<Error> reported_;  // the failure with which the watchdog is to end the group
    bool inferred_ = false;          // reported_ is a loss observed by this process, not a rank's own notice
    std::unique_ptr<Error> why_;     // why the group has ended
    bool leaving_ = false;
    Time next_compare_{};  // with other ranks' calls
    bool spans_hosts_ = false;

    std::optional<FailureNotice> notice_;
    std::vector<PidWatcher::Id> watches_;
    std::thread watchdog_;
};

}  // namespace dlaunch::worker::nccl
