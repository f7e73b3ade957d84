/// Collectives over connections between all pairs of ranks.
///
/// Every call starts with an exchange of frames between all ranks (frames.hpp); steps of a call that has been compared
/// already skip it. Equal signatures determine all lengths. Data that fits into the frames has then been delivered;
/// larger data goes directly from its source to its destination.

#include <fmt/format.h>

#include <cstring>

#include "worker_lib/src/mesh/frames.hpp"

namespace dlaunch::worker::mesh {
namespace {

void copy_bytes(void* to, const void* from, std::size_t bytes) {
    if (to != from && bytes > 0) std::memcpy(to, from, bytes);
}

/// One call that moves data without combining it, as one rank executes it.
class Movement {
public:
    Movement(const RankSubset& subset, const Call& call)
        : subset_(subset),
          call_(call),
          ranks_(subset.size()),
          rank_(subset.rank()),
          capacity_(call.part_of ? 0 : subset.mesh().frames().capacity()),
          to_(index(ranks_)),
          from_(index(ranks_)) {}

    void run() {
        plan();
        const bool tree = call_.op == Op::broadcast && !fits(call_.bytes(call_.count));
        const bool differing = call_.op == Op::all_to_all && !call_.counts.empty();
        if (!call_.part_of) exchange_frames(tree || differing ? 0 : capacity_);
        if (tree) return broadcast();
        if (differing) {
            agree_on_counts();
            capacity_ = 0;
        }
        Step step(subset_, call_, 2);
        for (int r = 0; r < ranks_; ++r) {
            if (r == rank_) continue;
            if (!fits(from_[index(r)].bytes)) step.receive(r, from_[index(r)].data, from_[index(r)].bytes);
            if (!fits(to_[index(r)].bytes)) step.send(r, to_[index(r)].data, to_[index(r)].bytes);
        }
        copy_bytes(from_[index(rank_)].data, to_[index(rank_)].data, from_[index(rank_)].bytes);
        step.finish();
    }

private:
    static std::size_t index(int rank) { return static_cast<std::size_t>(rank); }
    [[nodiscard]] bool fits(std::size_t bytes) const { return bytes <= capacity_; }

    /// Fills to_ and from_: the data for each rank, and the destination of each rank's data; this rank included.
    void plan() {
        std::size_t in = 0, out = 0;
        for (int r = 0; r < ranks_; ++r) {
            const bool root = call_.root == rank_ || call_.root < 0, of_root = call_.root == r || call_.root < 0;
            const std::size_t part = call_.bytes(call_.count_of(r)), own = call_.bytes(call_.count_of(rank_));
            switch (call_.op) {
                case Op::broadcast:
                    if (root) to_[index(r)] = {call_.in, own};
                    if (of_root) from_[index(r)] = {call_.out, own};
                    break;
                case Op::gather:
                case Op::all_gather:
                    if (of_root) to_[index(r)] = {call_.in, own};
                    if (root) from_[index(r)] = {call_.out + out, part};
                    out += part;
                    break;
                case Op::scatter:
                    if (root) to_[index(r)] = {call_.in + in, part};
                    if (of_root) from_[index(r)] = {call_.out, own};
                    in += part;
                    break;
                case Op::all_to_all:
                    to_[index(r)] = {call_.in + in, part};
                    from_[index(r)] = {call_.out + out,
                                       call_.counts.empty() ? part : call_.bytes(call_.out_counts[index(r)])};
                    in += part;
                    out += from_[index(r)].bytes;
                    break;
                default: break;
            }
        }
    }

    /// Exchanges frames; blocks of at most `capacity` bytes travel in them.
    void exchange_frames(std::size_t capacity) {
        Frames& frames = subset_.mesh().frames();
        for (int r = 0; r < ranks_; ++r)
            if (r != rank_ && to_[index(r)].bytes <= capacity)
                frames.attach(r, to_[index(r)].data, to_[index(r)].bytes);
        frames.exchange(call_);
        for (int r = 0; r < ranks_; ++r)
            if (r != rank_ && from_[index(r)].bytes <= capacity)
                copy_bytes(from_[index(r)].data, frames.data(r), from_[index(r)].bytes);
    }

    /// Sends down a binomial tree from the call's root.
    void broadcast() {
        const std::size_t bytes = call_.bytes(call_.count);
        const int position = (rank_ - call_.root + ranks_) % ranks_;
        int reach = 1;
        while (reach < ranks_) reach *= 2;
        for (int distance = reach / 2; distance > 0; distance /= 2) {
            Step step(subset_, call_, 1);
            if (position % (2 * distance) == 0 && position + distance < ranks_)
                step.send((rank_ + distance) % ranks_, call_.out, bytes);
            if (position % (2 * distance) == distance)
                step.receive((rank_ - distance + ranks_) % ranks_, call_.out, bytes);
            step.finish();
        }
    }

    /// Exchanges all counts, so that all ranks find the same mismatched pair.
    void agree_on_counts() {
        const std::size_t n = index(ranks_);
        std::vector<std::size_t> all(2 * n * n);
        std::size_t* own = &all[index(rank_) * 2 * n];
        std::copy(call_.counts.begin(), call_.counts.end(), own);
        std::copy(call_.out_counts.begin(), call_.out_counts.end(), own + n);
        Step step(subset_, call_, 1);
        for (int r = 0; r < ranks_; ++r) {
            if (r == rank_) continue;
            step.receive(r, &all[index(r) * 2 * n], 2 * n * sizeof(std::size_t));
            step.send(r, own, 2 * n * sizeof(std::size_t));
        }
        step.finish();
        for (std::size_t i = 0; i < n; ++i)
            for (std::size_t j = 0; j < n; ++j)
                if (const std::size_t sent = all[i * 2 * n + j], expected = all[j * 2 * n + n + i]; sent != expected)
                    throw mismatch(where(call_, subset_.mesh().group().name), subset_.mesh().group(),
                                   static_cast<int>(i), sent, static_cast<int>(j), expected);
    }

    struct Source {
        const std::byte* data = nullptr;
        std::size_t bytes = 0;
    };
    struct Target {
        std::byte* data = nullptr;
        std::size_t bytes = 0;
    };
    const RankSubset& subset_;
    const Call& call_;
    const int ranks_, rank_;
    std::size_t capacity_;  // of frames, for this call
    std::vector<Source> to_;
    std::vector<Target> from_;
};

}  // namespace

void run_collective(const RankSubset& subset, const Call& call) {
    if (call.op == Op::scan || call.op == Op::exscan) return run_scan(subset, call);
    reduces(call.op) ? run_reduction(subset, call) : Movement(subset, call).run();
}

}  // namespace dlaunch::worker::mesh
