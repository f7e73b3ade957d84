#pragma once
/// The two levels of a group on several hosts. Ranks on the same host communicate through shared memory, all ranks are
/// connected by TCP. A plane is the set of TCP connections between the i-th ranks of all hosts; there are as many
/// planes as the smallest host has ranks. The first rank of a host is its leader; leaders communicate on plane 0.

#include <functional>
#include <memory>
#include <vector>

#include "worker_lib/src/bootstrap/bootstrap.hpp"
#include "worker_lib/src/core/backend.hpp"

namespace dlaunch::worker::hierarchy {

/// The mapping of ranks to hosts. Hosts are numbered by their lowest rank; ranks of a host keep the group's order.
struct Layout {
    explicit Layout(const std::vector<Member>& members);

    [[nodiscard]] int hosts() const { return static_cast<int>(ranks.size()); }
    [[nodiscard]] const std::vector<int>& on(int host) const { return ranks[static_cast<std::size_t>(host)]; }
    [[nodiscard]] std::vector<int> plane(int number) const;

    std::vector<std::vector<int>> ranks;  ///< by host
    std::vector<int> host_of, local_of;   ///< by rank
    int planes = 0, most = 0;             ///< fewest and most ranks of a host
    bool regular = true;                  ///< equally many consecutive ranks on every host
};

/// Runs the steps of calls on either level and assigns their sequence numbers and deadlines.
class Levels {
public:
    Levels(const GroupInfo& group, const std::vector<Member>& members, const StoreHandle& store, Time deadline);

    const Layout layout;
    const int rank, host, local, local_size;

    /// The steps that follow belong to `call`.
    void begin_call(const Call& call);
    /// A step among the host's ranks. A step that depends on ranks which may be waiting themselves gets a later
    /// deadline, so that the ranks that can identify the late rank time out first and publish it. `extra_waits`: the
    /// number of such preceding waits, 0 for the first step.
    void on_host(Call step, int extra_waits) { host_ranks_->run(prepare(std::move(step), extra_waits, host_calls_)); }
    /// A step on this rank's plane.
    void between_hosts(Call step) { plane_(prepare(std::move(step), 1, plane_calls_)); }
    void everywhere(Call step) { all_->run(prepare(std::move(step), 1, all_calls_)); }
    [[nodiscard]] bool has_plane() const { return static_cast<bool>(plane_); }

    [[nodiscard]] std::shared_ptr<WorkState> post(const Transfer& transfer) { return all_->post(transfer); }
    [[nodiscard]] void* native_handle(std::string_view backend) { return all_->native_handle(backend); }
    /// give_up() on both levels; any thread.
    void give_up(const Error& why);

private:
    [[nodiscard]] Call prepare(Call step, int extra_waits, std::uint64_t& sequence) const;

    std::unique_ptr<Backend> host_ranks_, all_;
    Backend::Runner plane_;
    const Call* call_ = nullptr;
    std::chrono::nanoseconds extra_time_{};
    std::uint64_t host_calls_ = 0, plane_calls_ = 0, all_calls_ = 0;
};

}  // namespace dlaunch::worker::hierarchy
