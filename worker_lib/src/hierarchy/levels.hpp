#pragma once
/// A group whose ranks are on several hosts, as one of them sees it. On each host its ranks share memory; the ranks of
/// all hosts are connected by TCP. Some of these connections are rails: rail i joins the i-th rank of every host, and
/// there are as many rails as the host with the fewest ranks has. A host's rank 0 speaks for it, on rail 0.

#include <functional>
#include <memory>
#include <vector>

#include "worker_lib/src/core/backend.hpp"
#include "worker_lib/src/meeting/meeting.hpp"

namespace dlaunch::worker::hierarchy {

/// Which ranks are on which host. Hosts are numbered by their lowest rank, ranks of a host are in the group's order.
struct Layout {
    explicit Layout(const std::vector<Member>& members);

    [[nodiscard]] int hosts() const { return static_cast<int>(ranks.size()); }
    [[nodiscard]] const std::vector<int>& on(int host) const { return ranks[static_cast<std::size_t>(host)]; }
    [[nodiscard]] std::vector<int> rail(int number) const;

    std::vector<std::vector<int>> ranks;  ///< by host
    std::vector<int> host_of, local_of;   ///< by rank
    int rails = 0, most = 0;              ///< the fewest ranks of a host, and the most
    bool regular = true;                  ///< all have as many, one behind the other
};

/// Carries out the steps of calls: sees to their numbers and their deadlines.
class Levels {
public:
    Levels(const Place& place, const std::vector<Member>& members, const StoreHandle& store, Time deadline);

    const Layout layout;
    const int rank, host, local, local_size;

    /// Of the steps that follow.
    void begin(const Call& call);
    /// A step of the call. What waits for ranks that may themselves be waiting has more patience than they: so those
    /// who know who is late can tell the others. `late` is 0 for the first of them.
    void on_host(Call step, int late) { host_ranks_->run(prepare(std::move(step), late, host_calls_)); }
    /// On this rank's rail.
    void between_hosts(Call step) { rail_(prepare(std::move(step), 1, rail_calls_)); }
    void everywhere(Call step) { all_->run(prepare(std::move(step), 1, all_calls_)); }
    [[nodiscard]] bool has_rail() const { return static_cast<bool>(rail_); }

    [[nodiscard]] std::shared_ptr<WorkState> post(const Transfer& transfer) { return all_->post(transfer); }
    /// Ends both levels; any thread.
    void give_up(const Error& why);

private:
    [[nodiscard]] Call prepare(Call step, int late, std::uint64_t& sequence) const;

    std::unique_ptr<Backend> host_ranks_, all_;
    Backend::Runner rail_;
    const Call* call_ = nullptr;
    std::chrono::nanoseconds patience_{};
    std::uint64_t host_calls_ = 0, rail_calls_ = 0, all_calls_ = 0;
};

}  // namespace dlaunch::worker::hierarchy
