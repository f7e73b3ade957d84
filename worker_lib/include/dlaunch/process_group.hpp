#pragma once
/// Groups of processes, their messages and collectives.
///
/// Every rank of a group makes the same collective calls in the same order. If calls differ in kind, type, count, root
/// or operation, all ranks throw Error (mismatch) and the group remains usable (for nccl see libdlaunch(3)). A
/// time-out, a lost peer or abort() ends the group: later calls throw Error (aborted) with the cause, and the remaining
/// ranks may create a new group.
///
/// `in` and `out` of a call must not overlap, except in place: the same range in all_reduce, reduce, scan and exscan;
/// `in` as this rank's block of `out` in all_gather and, at the root, gather; `out` as this rank's block of `in` in
/// reduce_scatter and, at the root, scatter; the same for the v-forms. Other overlaps throw Error (invalid_argument).
///
/// Ranks, roots, sources and destinations are ranks in the group. Counts are numbers of elements. Every call has a
/// blocking form and one that returns a Work, named with `_async` (collectives) or `i` (messages). The collectives of a
/// group run one at a time in the order of the calls, in either form; messages may overtake them. Several threads may
/// use one group if the order of their calls is the same on all ranks; different groups need no common order.
///
/// On nccl the messages and collectives of a group share one communicator and one stream: each begins when the one
/// before has ended, and all ranks must make them in the same order. An isend() before an all_reduce() on one rank and
/// an irecv() after it on the other wait for their time-out; so may two ranks that send to each other, unless with
/// batch_isend_irecv(). Calls of several threads on one group are launched one at a time. NCCL forbids concurrent calls
/// on groups that share a GPU, unless all ranks launch them in the same order: use such groups from one thread.

#include <dlaunch/mistakes.hpp>  // first: compile errors show a short chain of headers

#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <dlaunch/buffer.hpp>
#include <dlaunch/combination.hpp>
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
    MutableBuffer data;  ///< a send only reads it
    int peer;            ///< kAnySource is allowed for a receive
    int tag = 0;
};
[[nodiscard]] P2POp send_op(AsyncConstBuffer data, int to, int tag = 0);
[[nodiscard]] P2POp recv_op(MutableBuffer data, int from = kAnySource, int tag = kAnyTag);

/// The color of a rank that belongs to none of the groups of split().
inline constexpr int kNoColor = -1;

/// A handle of a group; copies refer to the same group. On a rank outside the group rank(), size(), name(), backend(),
/// ranks(), is_member() and store() work; every call throws Error (invalid_argument), which names the group's ranks.
class ProcessGroup {
public:
    ProcessGroup() = default;
    explicit ProcessGroup(std::shared_ptr<worker::Group> group) : group_(std::move(group)) {}

    [[nodiscard]] int rank() const;  ///< -1 outside the group
    [[nodiscard]] int size() const;
    [[nodiscard]] const std::string& name() const;
    [[nodiscard]] std::string backend() const;            ///< "shm", "tcp", "gloo", "auto"
    [[nodiscard]] const std::vector<int>& ranks() const;  ///< ranks in the world, by rank in the group
    [[nodiscard]] bool is_member() const { return rank() >= 0; }
    [[nodiscard]] Store store() const;  ///< for keys of the program

    /// A group of the given ranks of this group, in that order. All ranks of this group must call it, also those that
    /// are not given, in the same order relative to other calls of new_group. On nccl it waits until the calls of this
    /// group are done, and no other thread may start messages on this group meanwhile.
    [[nodiscard]] ProcessGroup new_group(std::span<const int> ranks, const GroupOptions& options = {}) const;
    [[nodiscard]] ProcessGroup new_group(std::initializer_list<int> ranks, const GroupOptions& options = {}) const {
        return new_group(std::span(ranks.begin(), ranks.size()), options);
    }
    /// One group for each color, of the ranks that pass it, ordered by key, then by rank. All ranks of this group must
    /// call it, like new_group(). The result is outside the group on ranks that pass kNoColor.
    [[nodiscard]] ProcessGroup split(int color, int key = 0, const GroupOptions& options = {}) const;
    /// The communicator of a backend, for calls of the backend's own: of "gloo" its gloo::Context*, fully connected and
    /// free for use while no call of this group is under way; of "nccl" the ncclComm_t. Empty: the group's backend.
    /// nullptr: there is none, as for shm and tcp, and for auto without a GPU. Valid as long as the group.
    [[nodiscard]] void* native_handle(std::string_view backend = {}) const;
    /// Ends pending and later calls with Error (aborted): on this rank at once, on other ranks when they wait for it.
    void abort(const std::string& why = "abort() was called");

    // --- messages ---------------------------------------------------------------------------------------------------
    // Messages with the same sender, receiver and tag arrive in order.

    void send(ConstBuffer data, int to, const SendOptions& options = {}) const;
    Received recv(MutableBuffer data, int from = kAnySource, const RecvOptions& options = {}) const;
    Work isend(AsyncConstBuffer data, int to, const SendOptions& options = {}) const;
    Work irecv(MutableBuffer data, int from = kAnySource, const RecvOptions& options = {}) const;
    /// Sends `out` to one rank and receives `in` from the same or another one, both at once: ranks that all call it, in
    /// a ring or in pairs, do not wait for each other in turn. `out` and `in` must not overlap. An error is thrown when
    /// both have ended.
    Received sendrecv(ConstBuffer out, int to, MutableBuffer in, int from = kAnySource,
                      const SendRecvOptions& options = {}) const;
    [[nodiscard]] std::vector<Work> batch_isend_irecv(std::span<const P2POp> ops,
                                                      const CallOptions& options = {}) const;

    // --- collectives ------------------------------------------------------------------------------------------------

    void barrier(const CallOptions& options = {}) const;
    Work barrier_async(const CallOptions& options = {}) const;
    /// A barrier that names the missing ranks at its time-out.
    void monitored_barrier(const BarrierOptions& options = {}) const;

    void broadcast(MutableBuffer data, int root = 0, const CallOptions& options = {}) const;
    Work broadcast_async(MutableBuffer data, int root = 0, const CallOptions& options = {}) const;

    /// Reduces in place, or from `in` to `out`; counts are equal on all ranks.
    void all_reduce(Numbers<MutableBuffer> data, ReduceOp op = ReduceOp::sum(), const CallOptions& options = {}) const;
    void all_reduce(Numbers<ConstBuffer> in, Numbers<MutableBuffer> out, ReduceOp op = ReduceOp::sum(),
                    const CallOptions& options = {}) const;
    Work all_reduce_async(Numbers<MutableBuffer> data, ReduceOp op = ReduceOp::sum(),
                          const CallOptions& options = {}) const;
    Work all_reduce_async(Numbers<AsyncConstBuffer> in, Numbers<MutableBuffer> out, ReduceOp op = ReduceOp::sum(),
                          const CallOptions& options = {}) const;

    /// Stores the result at the root; buffers of other ranks remain unchanged. `out` is used at the root only.
    void reduce(Numbers<MutableBuffer> data, int root = 0, ReduceOp op = ReduceOp::sum(),
                const CallOptions& options = {}) const;
    void reduce(Numbers<ConstBuffer> in, Numbers<MutableBuffer> out, int root = 0, ReduceOp op = ReduceOp::sum(),
                const CallOptions& options = {}) const;
    Work reduce_async(Numbers<MutableBuffer> data, int root = 0, ReduceOp op = ReduceOp::sum(),
                      const CallOptions& options = {}) const;

    /// Concatenates `in` of all ranks in the root's `out`; `out` is ignored on other ranks.
    void gather(ConstBuffer in, MutableBuffer out, int root = 0, const CallOptions& options = {}) const;
    Work gather_async(AsyncConstBuffer in, MutableBuffer out, int root = 0, const CallOptions& options = {}) const;
    /// gather() with different lengths; every rank passes the counts of all ranks.
    void gatherv(ConstBuffer in, MutableBuffer out, Counts counts, int root = 0, const CallOptions& options = {}) const;
    Work gatherv_async(AsyncConstBuffer in, MutableBuffer out, Counts counts, int root = 0,
                       const CallOptions& options = {}) const;

    /// Sends the r-th block of the root's `in` to `out` of rank r; `in` is ignored on other ranks.
    void scatter(ConstBuffer in, MutableBuffer out, int root = 0, const CallOptions& options = {}) const;
    Work scatter_async(AsyncConstBuffer in, MutableBuffer out, int root = 0, const CallOptions& options = {}) const;
    void scatterv(ConstBuffer in, MutableBuffer out, Counts counts, int root = 0,
                  const CallOptions& options = {}) const;
    Work scatterv_async(AsyncConstBuffer in, MutableBuffer out, Counts counts, int root = 0,
                        const CallOptions& options = {}) const;

    /// Concatenates `in` of all ranks in `out` of every rank.
    void all_gather(ConstBuffer in, MutableBuffer out, const CallOptions& options = {}) const;
    Work all_gather_async(AsyncConstBuffer in, MutableBuffer out, const CallOptions& options = {}) const;
    void all_gatherv(ConstBuffer in, MutableBuffer out, Counts counts, const CallOptions& options = {}) const;
    Work all_gatherv_async(AsyncConstBuffer in, MutableBuffer out, Counts counts,
                           const CallOptions& options = {}) const;

    /// Reduces `in` of all ranks element by element; rank r gets the r-th block of the result.
    void reduce_scatter(Numbers<ConstBuffer> in, Numbers<MutableBuffer> out, ReduceOp op = ReduceOp::sum(),
                        const CallOptions& options = {}) const;
    Work reduce_scatter_async(Numbers<AsyncConstBuffer> in, Numbers<MutableBuffer> out, ReduceOp op = ReduceOp::sum(),
                              const CallOptions& options = {}) const;
    void reduce_scatterv(Numbers<ConstBuffer> in, Numbers<MutableBuffer> out, Counts counts,
                         ReduceOp op = ReduceOp::sum(), const CallOptions& options = {}) const;

    Work reduce_scatterv_async(Numbers<AsyncConstBuffer> in, Numbers<MutableBuffer> out, Counts counts,
                               ReduceOp op = ReduceOp::sum(), const CallOptions& options = {}) const;

    /// Reduces `in` of the ranks 0 to this one: all of them (scan), or all before this one (exscan, which leaves `out`
    /// of rank 0 unchanged). avg is taken over these ranks.
    void scan(Numbers<MutableBuffer> data, ReduceOp op = ReduceOp::sum(), const CallOptions& options = {}) const;
    void scan(Numbers<ConstBuffer> in, Numbers<MutableBuffer> out, ReduceOp op = ReduceOp::sum(),
              const CallOptions& options = {}) const;
    Work scan_async(Numbers<MutableBuffer> data, ReduceOp op = ReduceOp::sum(), const CallOptions& options = {}) const;
    Work scan_async(Numbers<AsyncConstBuffer> in, Numbers<MutableBuffer> out, ReduceOp op = ReduceOp::sum(),
                    const CallOptions& options = {}) const;
    void exscan(Numbers<MutableBuffer> data, ReduceOp op = ReduceOp::sum(), const CallOptions& options = {}) const;
    void exscan(Numbers<ConstBuffer> in, Numbers<MutableBuffer> out, ReduceOp op = ReduceOp::sum(),
                const CallOptions& options = {}) const;
    Work exscan_async(Numbers<MutableBuffer> data, ReduceOp op = ReduceOp::sum(),
                      const CallOptions& options = {}) const;
    Work exscan_async(Numbers<AsyncConstBuffer> in, Numbers<MutableBuffer> out, ReduceOp op = ReduceOp::sum(),
                      const CallOptions& options = {}) const;

    /// Sends the j-th block of `in` to rank j, which stores it as the r-th block of `out` (r: the sender's rank).
    void all_to_all(ConstBuffer in, MutableBuffer out, const CallOptions& options = {}) const;
    Work all_to_all_async(AsyncConstBuffer in, MutableBuffer out, const CallOptions& options = {}) const;
    void all_to_allv(ConstBuffer in, Counts in_counts, MutableBuffer out, Counts out_counts,
                     const CallOptions& options = {}) const;
    /// The counts are copied: they may be temporaries, as in every asynchronous call.
    Work all_to_allv_async(AsyncConstBuffer in, Counts in_counts, MutableBuffer out, Counts out_counts,
                           const CallOptions& options = {}) const;

    /// The broadcast, or the reduction in place, of several arrays of one type as one call, which waits for the other
    /// ranks once: for many small arrays. All ranks pass arrays of the same lengths in the same order; they must not
    /// overlap. The list is copied, the arrays are not.
    void broadcast_coalesced(std::span<const MutableBuffer> arrays, int root = 0,
                             const CallOptions& options = {}) const;
    Work broadcast_coalesced_async(std::span<const MutableBuffer> arrays, int root = 0,
                                   const CallOptions& options = {}) const;
    void all_reduce_coalesced(std::span<const MutableBuffer> arrays, ReduceOp op = ReduceOp::sum(),
                              const CallOptions& options = {}) const;
    Work all_reduce_coalesced_async(std::span<const MutableBuffer> arrays, ReduceOp op = ReduceOp::sum(),
                                    const CallOptions& options = {}) const;

    // --- reductions by a function of the program --------------------------------------------------------------------
    // fn(T* into, const T* from, std::size_t count) computes into[i] = into[i] op from[i], for elements of any
    // trivially copyable type T in host memory. It is called with the ranks' elements in rank order, so op must be
    // associative and need not be commutative. All ranks must pass the same function. It must not call the library; an
    // exception of it ends the group. Elements are at most 512 KiB long.

    template <class Data, Combines<Data> F>
    void all_reduce(Data&& data, F&& fn, const CallOptions& options = {}) const {
        all_reduce_by(data, detail::Combination::of<detail::ElementsOf<Data>>(fn), options);
    }
    template <class Data, Combines<Data> F>
    void reduce(Data&& data, int root, F&& fn, const CallOptions& options = {}) const {
        reduce_by(data, root, detail::Combination::of<detail::ElementsOf<Data>>(fn), options);
    }
    template <class Data, Combines<Data> F>
    void scan(Data&& data, F&& fn, const CallOptions& options = {}) const {
        scan_by(data, detail::Combination::of<detail::ElementsOf<Data>>(fn), options);
    }
    template <class Data, Combines<Data> F>
    void exscan(Data&& data, F&& fn, const CallOptions& options = {}) const {
        exscan_by(data, detail::Combination::of<detail::ElementsOf<Data>>(fn), options);
    }

    // --- strings of any length --------------------------------------------------------------------------------------

    void broadcast_object(std::string& object, int root = 0, const CallOptions& options = {}) const;
    [[nodiscard]] std::vector<std::string> all_gather_object(const std::string& object,
                                                             const CallOptions& options = {}) const;
    /// The strings of all ranks at the root; empty on other ranks.
    [[nodiscard]] std::vector<std::string> gather_object(const std::string& object, int root = 0,
                                                         const CallOptions& options = {}) const;

private:
    void all_reduce_by(MutableBuffer data, const detail::Combination& fn, const CallOptions& options) const;
    void reduce_by(MutableBuffer data, int root, const detail::Combination& fn, const CallOptions& options) const;
    void scan_by(MutableBuffer data, const detail::Combination& fn, const CallOptions& options) const;
    void exscan_by(MutableBuffer data, const detail::Combination& fn, const CallOptions& options) const;

    std::shared_ptr<worker::Group> group_;
};

}  // namespace dlaunch
