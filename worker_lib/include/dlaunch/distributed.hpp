#pragma once
/// The default group and functions on it, in the style of torch.distributed.

#include <dlaunch/mistakes.hpp>  // first: compile errors show a short chain of headers

#include <dlaunch/process_group.hpp>

namespace dlaunch {

/// Creates the default group, the world, together with all other ranks. Returns when all ranks have joined. Throws
/// Error that names the missing ranks, or the missing environment variable and how to start the program. Sets C's
/// stdout, and std::cout with it, to line buffering, so that lines reach the log when they end.
ProcessGroup init_process_group(const InitOptions& options = {});
/// Creates a group in the same way, but does not make it the default: a process may join several worlds.
[[nodiscard]] ProcessGroup join_process_group(const InitOptions& options);
/// Releases the default group without waiting for other ranks; pending calls run to completion. Optional: a program may
/// end without this call.
void destroy_process_group();
[[nodiscard]] bool is_initialized();
/// Throws Error (invalid_argument) before init_process_group().
[[nodiscard]] ProcessGroup default_group();

[[nodiscard]] inline int get_rank() { return default_group().rank(); }
[[nodiscard]] inline int get_world_size() { return default_group().size(); }
[[nodiscard]] inline std::string get_backend() { return default_group().backend(); }
[[nodiscard]] inline ProcessGroup new_group(std::span<const int> ranks, const GroupOptions& options = {}) {
    return default_group().new_group(ranks, options);
}
[[nodiscard]] inline ProcessGroup new_group(std::initializer_list<int> ranks, const GroupOptions& options = {}) {
    return new_group(std::span(ranks.begin(), ranks.size()), options);
}

[[nodiscard]] inline ProcessGroup split(int color, int key = 0, const GroupOptions& options = {}) {
    return default_group().split(color, key, options);
}

inline void send(ConstBuffer data, int to, const SendOptions& options = {}) { default_group().send(data, to, options); }
inline Received recv(MutableBuffer data, int from = kAnySource, const RecvOptions& options = {}) {
    return default_group().recv(data, from, options);
}
inline Work isend(AsyncConstBuffer data, int to, const SendOptions& options = {}) {
    return default_group().isend(data, to, options);
}
inline Work irecv(MutableBuffer data, int from = kAnySource, const RecvOptions& options = {}) {
    return default_group().irecv(data, from, options);
}
inline Received sendrecv(ConstBuffer out, int to, MutableBuffer in, int from = kAnySource,
                         const SendRecvOptions& options = {}) {
    return default_group().sendrecv(out, to, in, from, options);
}
[[nodiscard]] inline std::vector<Work> batch_isend_irecv(std::span<const P2POp> ops, const CallOptions& options = {}) {
    return default_group().batch_isend_irecv(ops, options);
}

inline void barrier(const CallOptions& options = {}) { default_group().barrier(options); }
inline Work barrier_async(const CallOptions& options = {}) { return default_group().barrier_async(options); }
inline void monitored_barrier(const BarrierOptions& options = {}) { default_group().monitored_barrier(options); }
inline void broadcast(MutableBuffer data, int root = 0, const CallOptions& options = {}) {
    default_group().broadcast(data, root, options);
}
inline Work broadcast_async(MutableBuffer data, int root = 0, const CallOptions& options = {}) {
    return default_group().broadcast_async(data, root, options);
}
inline void all_reduce(Numbers<MutableBuffer> data, ReduceOp op = ReduceOp::sum(), const CallOptions& options = {}) {
    default_group().all_reduce(data, op, options);
}
inline Work all_reduce_async(Numbers<MutableBuffer> data, ReduceOp op = ReduceOp::sum(),
                             const CallOptions& options = {}) {
    return default_group().all_reduce_async(data, op, options);
}
inline void all_reduce(Numbers<ConstBuffer> in, Numbers<MutableBuffer> out, ReduceOp op = ReduceOp::sum(),
                       const CallOptions& options = {}) {
    default_group().all_reduce(in, out, op, options);
}
inline Work all_reduce_async(Numbers<AsyncConstBuffer> in, Numbers<MutableBuffer> out, ReduceOp op = ReduceOp::sum(),
                             const CallOptions& options = {}) {
    return default_group().all_reduce_async(in, out, op, options);
}
inline void reduce(Numbers<MutableBuffer> data, int root = 0, ReduceOp op = ReduceOp::sum(),
                   const CallOptions& options = {}) {
    default_group().reduce(data, root, op, options);
}
inline Work reduce_async(Numbers<MutableBuffer> data, int root = 0, ReduceOp op = ReduceOp::sum(),
                         const CallOptions& options = {}) {
    return default_group().reduce_async(data, root, op, options);
}
inline void reduce(Numbers<ConstBuffer> in, Numbers<MutableBuffer> out, int root = 0, ReduceOp op = ReduceOp::sum(),
                   const CallOptions& options = {}) {
    default_group().reduce(in, out, root, op, options);
}
inline void gather(ConstBuffer in, MutableBuffer out, int root = 0, const CallOptions& options = {}) {
    default_group().gather(in, out, root, options);
}
inline Work gather_async(AsyncConstBuffer in, MutableBuffer out, int root = 0, const CallOptions& options = {}) {
    return default_group().gather_async(in, out, root, options);
}
inline void gatherv(ConstBuffer in, MutableBuffer out, Counts counts, int root = 0, const CallOptions& options = {}) {
    default_group().gatherv(in, out, counts, root, options);
}
inline Work gatherv_async(AsyncConstBuffer in, MutableBuffer out, Counts counts, int root = 0,
                          const CallOptions& options = {}) {
    return default_group().gatherv_async(in, out, counts, root, options);
}
inline void scatter(ConstBuffer in, MutableBuffer out, int root = 0, const CallOptions& options = {}) {
    default_group().scatter(in, out, root, options);
}
inline Work scatter_async(AsyncConstBuffer in, MutableBuffer out, int root = 0, const CallOptions& options = {}) {
    return default_group().scatter_async(in, out, root, options);
}
inline void scatterv(ConstBuffer in, MutableBuffer out, Counts counts, int root = 0, const CallOptions& options = {}) {
    default_group().scatterv(in, out, counts, root, options);
}
inline Work scatterv_async(AsyncConstBuffer in, MutableBuffer out, Counts counts, int root = 0,
                           const CallOptions& options = {}) {
    return default_group().scatterv_async(in, out, counts, root, options);
}
inline void all_gather(ConstBuffer in, MutableBuffer out, const CallOptions& options = {}) {
    default_group().all_gather(in, out, options);
}
inline Work all_gather_async(AsyncConstBuffer in, MutableBuffer out, const CallOptions& options = {}) {
    return default_group().all_gather_async(in, out, options);
}
inline void all_gatherv(ConstBuffer in, MutableBuffer out, Counts counts, const CallOptions& options = {}) {
    default_group().all_gatherv(in, out, counts, options);
}
inline Work all_gatherv_async(AsyncConstBuffer in, MutableBuffer out, Counts counts, const CallOptions& options = {}) {
    return default_group().all_gatherv_async(in, out, counts, options);
}
inline void reduce_scatter(Numbers<ConstBuffer> in, Numbers<MutableBuffer> out, ReduceOp op = ReduceOp::sum(),
                           const CallOptions& options = {}) {
    default_group().reduce_scatter(in, out, op, options);
}
inline Work reduce_scatter_async(Numbers<AsyncConstBuffer> in, Numbers<MutableBuffer> out,
                                 ReduceOp op = ReduceOp::sum(), const CallOptions& options = {}) {
    return default_group().reduce_scatter_async(in, out, op, options);
}
inline void reduce_scatterv(Numbers<ConstBuffer> in, Numbers<MutableBuffer> out, Counts counts,
                            ReduceOp op = ReduceOp::sum(), const CallOptions& options = {}) {
    default_group().reduce_scatterv(in, out, counts, op, options);
}
inline Work reduce_scatterv_async(Numbers<AsyncConstBuffer> in, Numbers<MutableBuffer> out, Counts counts,
                                  ReduceOp op = ReduceOp::sum(), const CallOptions& options = {}) {
    return default_group().reduce_scatterv_async(in, out, counts, op, options);
}
inline void scan(Numbers<MutableBuffer> data, ReduceOp op = ReduceOp::sum(), const CallOptions& options = {}) {
    default_group().scan(data, op, options);
}
inline void scan(Numbers<ConstBuffer> in, Numbers<MutableBuffer> out, ReduceOp op = ReduceOp::sum(),
                 const CallOptions& options = {}) {
    default_group().scan(in, out, op, options);
}
inline Work scan_async(Numbers<MutableBuffer> data, ReduceOp op = ReduceOp::sum(), const CallOptions& options = {}) {
    return default_group().scan_async(data, op, options);
}
inline Work scan_async(Numbers<AsyncConstBuffer> in, Numbers<MutableBuffer> out, ReduceOp op = ReduceOp::sum(),
                       const CallOptions& options = {}) {
    return default_group().scan_async(in, out, op, options);
}
inline void exscan(Numbers<MutableBuffer> data, ReduceOp op = ReduceOp::sum(), const CallOptions& options = {}) {
    default_group().exscan(data, op, options);
}
inline void exscan(Numbers<ConstBuffer> in, Numbers<MutableBuffer> out, ReduceOp op = ReduceOp::sum(),
                   const CallOptions& options = {}) {
    default_group().exscan(in, out, op, options);
}
inline Work exscan_async(Numbers<MutableBuffer> data, ReduceOp op = ReduceOp::sum(), const CallOptions& options = {}) {
    return default_group().exscan_async(data, op, options);
}
inline Work exscan_async(Numbers<AsyncConstBuffer> in, Numbers<MutableBuffer> out, ReduceOp op = ReduceOp::sum(),
                         const CallOptions& options = {}) {
    return default_group().exscan_async(in, out, op, options);
}
inline void all_to_all(ConstBuffer in, MutableBuffer out, const CallOptions& options = {}) {
    default_group().all_to_all(in, out, options);
}
inline Work all_to_all_async(AsyncConstBuffer in, MutableBuffer out, const CallOptions& options = {}) {
    return default_group().all_to_all_async(in, out, options);
}
inline void all_to_allv(ConstBuffer in, Counts in_counts, MutableBuffer out, Counts out_counts,
                        const CallOptions& options = {}) {
    default_group().all_to_allv(in, in_counts, out, out_counts, options);
}
inline Work all_to_allv_async(AsyncConstBuffer in, Counts in_counts, MutableBuffer out, Counts out_counts,
                              const CallOptions& options = {}) {
    return default_group().all_to_allv_async(in, in_counts, out, out_counts, options);
}

inline void broadcast_coalesced(std::span<const MutableBuffer> arrays, int root = 0, const CallOptions& options = {}) {
    default_group().broadcast_coalesced(arrays, root, options);
}
inline Work broadcast_coalesced_async(std::span<const MutableBuffer> arrays, int root = 0,
                                      const CallOptions& options = {}) {
    return default_group().broadcast_coalesced_async(arrays, root, options);
}
inline void all_reduce_coalesced(std::span<const MutableBuffer> arrays, ReduceOp op = ReduceOp::sum(),
                                 const CallOptions& options = {}) {
    default_group().all_reduce_coalesced(arrays, op, options);
}
inline Work all_reduce_coalesced_async(std::span<const MutableBuffer> arrays, ReduceOp op = ReduceOp::sum(),
                                       const CallOptions& options = {}) {
    return default_group().all_reduce_coalesced_async(arrays, op, options);
}

template <class Data, Combines<Data> F>
void all_reduce(Data&& data, F&& fn, const CallOptions& options = {}) {
    default_group().all_reduce(data, fn, options);
}
template <class Data, Combines<Data> F>
void reduce(Data&& data, int root, F&& fn, const CallOptions& options = {}) {
    default_group().reduce(data, root, fn, options);
}
template <class Data, Combines<Data> F>
void scan(Data&& data, F&& fn, const CallOptions& options = {}) {
    default_group().scan(data, fn, options);
}
template <class Data, Combines<Data> F>
void exscan(Data&& data, F&& fn, const CallOptions& options = {}) {
    default_group().exscan(data, fn, options);
}

inline void broadcast_object(std::string& object, int root = 0, const CallOptions& options = {}) {
    default_group().broadcast_object(object, root, options);
}
[[nodiscard]] inline std::vector<std::string> all_gather_object(const std::string& object,
                                                                const CallOptions& options = {}) {
    return default_group().all_gather_object(object, options);
}
[[nodiscard]] inline std::vector<std::string> gather_object(const std::string& object, int root = 0,
                                                            const CallOptions& options = {}) {
    return default_group().gather_object(object, root, options);
}

}  // namespace dlaunch
