#pragma once
/// Calls on a stream of the backend's own: it waits for the caller's stream, and the caller's for it, so the host waits
/// for nobody. One thread, the watchdog, sees to all that the host would otherwise miss: deadlines, NCCL's asynchronous
/// errors, processes that are gone, other ranks' alarms. Whatever it is, it ends the group: the communicator is
/// aborted, pending calls get the Error, later ones are refused.

#include <condition_variable>
#include <deque>
#include <thread>

#include "worker_lib/src/core/group.hpp"
#include "worker_lib/src/core/sentinel.hpp"
#include "worker_lib/src/nccl/alarm.hpp"
#include "worker_lib/src/nccl/calls.hpp"
#include "worker_lib/src/nccl/communicator.hpp"
#include "worker_lib/src/nccl/work.hpp"

namespace dlaunch::worker::nccl {

class NcclBackend final : public Backend {
public:
    explicit NcclBackend(const GroupParts& parts);
    ~NcclBackend() override;

    /// Throws Error. `made` is the group's communicator, where its parent was split; else all members meet through the
    /// store.
    void connect(const std::vector<Member>& members, std::unique_ptr<Communicator> made, Time deadline);

    [[nodiscard]] std::string name() const override { return "nccl"; }
    void run(const Call& call) override;
    std::shared_ptr<WorkState> enqueue(const Call& call) override;
    std::shared_ptr<WorkState> post(const Transfer& transfer) override;
    std::vector<std::shared_ptr<WorkState>> post(std::span<const Transfer> transfers) override;
    void abort(const std::string& why) override;
    void give_up(const Error& why) override;
    std::unique_ptr<Backend> split(const Split& what) override;

private:
    using Work = std::shared_ptr<StreamWork>;

    [[nodiscard]] UniqueId exchange_id(Time deadline);
    void start_watching(const std::vector<Member>& members);
    void watch();
    void look_after(std::unique_lock<std::mutex>& lock);
    void hear(const Error& why, bool seen_only = false);
    [[nodiscard]] std::optional<Error> said_by_others();
    /// What others need to know of this rank's calls while that one is under way. With the mutex.
    [[nodiscard]] Alarm::Shown calls_around(std::uint64_t sequence) const;
    void end(const Error& why);
    [[nodiscard]] Error overdue(const StreamWork& late) const;

    [[nodiscard]] Lane lane(Comm comm) const { return {nccl(), comm, stream_, place_.rank, place_.size}; }
    [[nodiscard]] Work start(const Call& call);
    template <class Issue>
    [[nodiscard]] Work start(const Call& call, Issue&& issue);
    void wait_for_caller(Stream callers) const;
    void watch_over(const Work& work);
    void run_copied(const Call& call);
    void combine(const Call& call);
    /// Gives NCCL what `issue` does; errors of NCCL become ours.
    template <class Issue>
    void give(const Error::Where& where, Issue&& issue);
    [[nodiscard]] Error translate(const Failure& failure, const Error::Where& where) const;
    /// Ends a wait for NCCL when the watchdog has ended the group; the other, also when the time is over.
    [[nodiscard]] Communicator::Check while_going(const Error::Where& where) const;
    [[nodiscard]] Communicator::Check until(Time deadline, const Error::Where& where) const;
    [[nodiscard]] bool going() const;
    void check_going() const;
    [[nodiscard]] std::optional<Signature> called(std::uint64_t sequence) const;

    const Place place_;
    const StoreHandle store_;
    std::optional<Gpu> gpu_;
    Stream stream_ = nullptr;
    std::unique_ptr<Memory> byte_;  // of barriers
    Scratch in_, out_, gathered_;   // of calls with host memory
    std::unique_ptr<Communicator> communicator_;

    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Work> pending_;
    std::deque<Signature> history_;  // of the last calls, by sequence
    std::optional<Error> heard_;     // what the watchdog shall end the group with
    bool seen_only_ = false;         // it is that a rank has gone, and no rank has said it
    std::unique_ptr<Error> why_;     // why it has ended
    bool leaving_ = false;
    Time next_look_{};  // at what others show
    bool spans_hosts_ = false;

    std::optional<Alarm> alarm_;
    std::vector<Sentinel::Id> watches_;
    std::thread watchdog_;
};

}  // namespace dlaunch::worker::nccl
