#pragma once
/// Groups of processes, and all that they do together.
///
/// Every rank of a group makes the same collective calls in the same order; a call that differs in kind, type, count,
/// root or operation is a mismatch Error on every rank, and the group goes on (on nccl: libdlaunch(3)). A time-out, a
/// lost peer or abort() end the group: later calls are refused with that cause, and a new group may be made of those
/// who are left.
///
/// Ranks, roots, sources and destinations are ranks in the group. Counts are elements. Every call has a blocking form
/// and one that returns a Work and has `_async` (collectives) or `i` (messages) in its name. Collectives of a group are
/// carried out one after the other, in the order of the calls, whichever form was used; messages overtake them. Several
/// threads may use one group as long as their order is the same on all ranks, and different groups as they like.

#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <dlaunch/buffer.hpp>
#include <dlaunch/error.hpp>
#include <dlaunch/options.hpp>
#include <dlaunch/reduce_op.hpp>
#include <dlaunch/store.hpp>
#include <dlaunch/work.hpp>

namespace dlaunch {

namespace worker {
class Group;
}

using Counts = std::span<const std::size_t>;  ///< one for each rank

/// One message of a batch.
struct P2POp {
    enum class Kind { send, recv } kind;
    MutableBuffer data;  ///< only read by a send
    int peer;            ///< a receive may name kAnySource
    int tag = 0;
};

/// A handle: copies are the same group. In a process outside the group every call returns at once and does nothing.
class ProcessGroup {
public:
    ProcessGroup() = default;
    explicit ProcessGroup(std::shared_ptr<worker::Group> group) : group_(std::move(group)) {}

    [[nodiscard]] int rank() const;  ///< -1 outside the group
    [[nodiscard]] int size() const;
    [[nodiscard]] const std::string& name() const;
    [[nodiscard]] std::string backend() const;            ///< "shm", "gloo", "auto"
    [[nodiscard]] const std::vector<int>& ranks() const;  ///< by rank in the group: rank in the world
    [[nodiscard]] bool is_member() const { return rank() >= 0; }
    [[nodiscard]] Store store() const;  ///< for the program's own keys

    /// A group of some of this one's ranks, in that order. Every rank of this group calls it, members or not, in the
    /// same order as other calls of new_group.
    [[nodiscard]] ProcessGroup new_group(std::span<const int> ranks, const GroupOptions& options = {}) const;
    [[nodiscard]] ProcessGroup new_group(std::initializer_list<int> ranks, const GroupOptions& options = {}) const {
        return new_group(std::span(ranks.begin(), ranks.size()), options);
    }
    /// Ends pending and later calls with an `aborted` Error, here and, as soon as they wait for us, at the others.
    void abort(const std::string& why = "abort() was called");

    // --- messages ---------------------------------------------------------------------------------------------------
    // Messages of one sender to one receiver with one tag arrive in their order.

    void send(ConstBuffer data, int to, const SendOptions& options = {}) const;
    Received recv(MutableBuffer data, int from = kAnySource, const RecvOptions& options = {}) const;
    Work isend(ConstBuffer data, int to, const SendOptions& options = {}) const;
    Work irecv(MutableBuffer data, int from = kAnySource, const RecvOptions& options = {}) const;
    [[nodiscard]] std::vector<Work> batch_isend_irecv(std::span<const P2POp> ops,
                                                      const CallOptions& options = {}) const;

    // --- collectives ------------------------------------------------------------------------------------------------

    void barrier(const CallOptions& options = {}) const;
    Work barrier_async(const CallOptions& options = {}) const;
    /// A barrier that names the ranks that did not come.
    void monitored_barrier(const BarrierOptions& options = {}) const;

    void broadcast(MutableBuffer data, int root = 0, const CallOptions& options = {}) const;
    Work broadcast_async(MutableBuffer data, int root = 0, const CallOptions& options = {}) const;

    /// In place, or from `in` to `out`; both have the same count on all ranks.
    void all_reduce(MutableBuffer data, ReduceOp op = ReduceOp::sum(), const CallOptions& options = {}) const;
    void all_reduce(ConstBuffer in, MutableBuffer out, ReduceOp op = ReduceOp::sum(),
                    const CallOptions& options = {}) const;
    Work all_reduce_async(MutableBuffer data, ReduceOp op = ReduceOp::sum(), const CallOptions& options = {}) const;
    Work all_reduce_async(ConstBuffer in, MutableBuffer out, ReduceOp op = ReduceOp::sum(),
                          const CallOptions& options = {}) const;

    /// The result is the root's; the others' buffers stay as they were. `out` counts at the root only.
    void reduce(MutableBuffer data, int root = 0, ReduceOp op = ReduceOp::sum(), const CallOptions& options = {}) const;
    void reduce(ConstBuffer in, MutableBuffer out, int root = 0, ReduceOp op = ReduceOp::sum(),
                const CallOptions& options = {}) const;
    Work reduce_async(MutableBuffer data, int root = 0, ReduceOp op = ReduceOp::sum(),
                      const CallOptions& options = {}) const;

    /// `in` of every rank, one after the other, into `out` of the root; elsewhere `out` is not looked at.
    void gather(ConstBuffer in, MutableBuffer out, int root = 0, const CallOptions& options = {}) const;
    Work gather_async(ConstBuffer in, MutableBuffer out, int root = 0, const CallOptions& options = {}) const;
    /// The same where lengths differ; every rank gives all counts.
    void gatherv(ConstBuffer in, MutableBuffer out, Counts counts, int root = 0, const CallOptions& options = {}) const;

    /// The r-th part of the root's `in` goes into `out` of rank r; elsewhere `in` is not looked at.
    void scatter(ConstBuffer in, MutableBuffer out, int root = 0, const CallOptions& options = {}) const;
    Work scatter_async(ConstBuffer in, MutableBuffer out, int root = 0, const CallOptions& options = {}) const;
    void scatterv(ConstBuffer in, MutableBuffer out, Counts counts, int root = 0,
                  const CallOptions& options = {}) const;

    /// `in` of every rank into everybody's `out`. In place: `in` is this rank's part of `out`.
    void all_gather(ConstBuffer in, MutableBuffer out, const CallOptions& options = {}) const;
    Work all_gather_async(ConstBuffer in, MutableBuffer out, const CallOptions& options = {}) const;
    void all_gatherv(ConstBuffer in, MutableBuffer out, Counts counts, const CallOptions& options = {}) const;

    /// Of the element-wise reduction of everybody's `in`, the r-th part goes to rank r.
    void reduce_scatter(ConstBuffer in, MutableBuffer out, ReduceOp op = ReduceOp::sum(),
                        const CallOptions& options = {}) const;
    Work reduce_scatter_async(ConstBuffer in, MutableBuffer out, ReduceOp op = ReduceOp::sum(),
                              const CallOptions& options = {}) const;
    void reduce_scatterv(ConstBuffer in, MutableBuffer out, Counts counts, ReduceOp op = ReduceOp::sum(),
                         const CallOptions& options = {}) const;

    /// The j-th part of `in` goes to rank j, as the r-th part of its `out`.
    void all_to_all(ConstBuffer in, MutableBuffer out, const CallOptions& options = {}) const;
    Work all_to_all_async(ConstBuffer in, MutableBuffer out, const CallOptions& options = {}) const;
    void all_to_allv(ConstBuffer in, Counts in_counts, MutableBuffer out, Counts out_counts,
                     const CallOptions& options = {}) const;

    // --- strings of any length --------------------------------------------------------------------------------------

    void broadcast_object(std::string& object, int root = 0, const CallOptions& options = {}) const;
    [[nodiscard]] std::vector<std::string> all_gather_object(const std::string& object,
                                                             const CallOptions& options = {}) const;
    /// Empty but at the root.
    [[nodiscard]] std::vector<std::string> gather_object(const std::string& object, int root = 0,
                                                         const CallOptions& options = {}) const;

private:
    std::shared_ptr<worker::Group> group_;
};

}  // namespace dlaunch
