/// Collectives over connections between all pairs of ranks.
///
/// Every call begins with a frame from everybody to everybody: the call's signature, and room for a few bytes of data.
/// When they are alike all lengths are known, and small calls are done. Larger ones move each block straight to where
/// it belongs; reductions are a reduce-scatter (blocks to their owners, who combine them in the order of the ranks)
/// and, where all want the result, an all-gather. That is what a ring moves, too, in two steps instead of 2(n-1).

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <numeric>

#include "worker_lib/src/gloo/mesh.hpp"
#include "worker_lib/src/reduce/kernels.hpp"

namespace dlaunch::worker::gloo_backend {
namespace {

struct Frame {
    Signature signature;
    std::array<std::byte, 216> data{};
};
static_assert(sizeof(Frame) == 256);

using Sizes = std::vector<std::size_t>;

void copy_bytes(void* to, const void* from, std::size_t bytes) {
    if (to != from && bytes > 0) std::memcpy(to, from, bytes);
}

/// One call of one rank.
class Collective {
public:
    Collective(Mesh& mesh, const Call& call)
        : mesh_(mesh),
          call_(call),
          element_(size_of(call.type)),
          ranks_(mesh.size()),
          rank_(mesh.rank()),
          begins_(static_cast<std::size_t>(ranks_) + 1) {
        for (int r = 0; r < ranks_; ++r) begins_[index(r) + 1] = begins_[index(r)] + call.count_of(r) * element_;
    }

    void run() {
        const std::size_t inline_bytes = small();
        meet(inline_bytes);
        if (inline_bytes > 0 || call_.op == Op::barrier) return finish_small(inline_bytes);
        switch (call_.op) {
            case Op::barrier: return;
            case Op::broadcast: return broadcast();
            case Op::gather: return gather(call_.out, call_.root);
            case Op::all_gather: return gather(call_.out, -1);
            case Op::scatter: return scatter();
            case Op::reduce:
            case Op::all_reduce: return reduce();
            case Op::reduce_scatter: return combine(begins_, call_.in, call_.out, call_.count_of(rank_));
            case Op::all_to_all: return all_to_all();
        }
    }

private:
    static std::size_t index(int rank) { return static_cast<std::size_t>(rank); }

    /// Bytes that this rank has for all others and that fit into a frame; 0: they go another way.
    [[nodiscard]] std::size_t small() const {
        const bool fits = call_.op == Op::broadcast || call_.op == Op::all_reduce ||
                          (call_.op == Op::all_gather && call_.counts.empty());
        const std::size_t bytes = call_.bytes(call_.count);
        return fits && bytes <= sizeof(Frame::data) ? bytes : 0;
    }

    void meet(std::size_t bytes) {
        frames_.resize(index(ranks_));
        Frame& own = frames_[index(rank_)];
        own.signature = Signature(call_);
        copy_bytes(own.data.data(), call_.in, bytes);
        Step step(mesh_, call_, 0);
        for (int r = 0; r < ranks_; ++r) {
            if (r == rank_) continue;
            step.receive(r, &frames_[index(r)], sizeof(Frame));
            step.send(r, &own, sizeof(Frame));
        }
        step.finish();
        std::vector<Signature> signatures;
        for (const Frame& frame : frames_) signatures.push_back(frame.signature);
        if (!all_alike(signatures)) throw mismatch(signatures, mesh_.group());
    }

    void finish_small(std::size_t bytes) {
        if (call_.op == Op::broadcast)
            copy_bytes(call_.out, rank_ == call_.root ? call_.out : frames_[index(call_.root)].data.data(), bytes);
        for (int r = 0; call_.op == Op::all_gather && r < ranks_; ++r)
            copy_bytes(call_.out + index(r) * bytes, frames_[index(r)].data.data(), bytes);
        if (call_.op != Op::all_reduce) return;
        std::vector<const void*> inputs;
        for (const Frame& frame : frames_) inputs.push_back(frame.data.data());
        kernel(call_.type, call_.reduce)(call_.out, inputs.data(), ranks_, call_.count, call_.reduce.factor(), ranks_);
    }

    /// Down a binomial tree whose root is the call's.
    void broadcast() {
        const std::size_t bytes = call_.bytes(call_.count);
        const int place = (rank_ - call_.root + ranks_) % ranks_;
        int reach = 1;
        while (reach < ranks_) reach *= 2;
        for (int distance = reach / 2; distance > 0; distance /= 2) {
            Step step(mesh_, call_, 1);
            if (place % (2 * distance) == 0 && place + distance < ranks_)
                step.send((rank_ + distance) % ranks_, call_.out, bytes);
            if (place % (2 * distance) == distance)
                step.receive((rank_ - distance + ranks_) % ranks_, call_.out, bytes);
            step.finish();
        }
    }

    /// Everybody's block to the root, or to all.
    void gather(std::byte* whole, int root) {
        const std::size_t own = call_.bytes(call_.count_of(rank_));
        Step step(mesh_, call_, 1);
        for (int r = 0; r < ranks_; ++r) {
            const bool receives = root < 0 || root == rank_, sends = root < 0 || root == r;
            if (r == rank_) continue;
            if (receives) step.receive(r, whole + begins_[index(r)], begins_[index(r) + 1] - begins_[index(r)]);
            if (sends) step.send(r, call_.in, own);
        }
        if (root < 0 || root == rank_) copy_bytes(whole + begins_[index(rank_)], call_.in, own);
        step.finish();
    }

    void scatter() {
        Step step(mesh_, call_, 1);
        const std::size_t own = call_.bytes(call_.count_of(rank_));
        if (rank_ != call_.root) step.receive(call_.root, call_.out, own);
        for (int r = 0; rank_ == call_.root && r < ranks_; ++r) {
            const std::byte* from = call_.in + begins_[index(r)];
            r == rank_ ? copy_bytes(call_.out, from, own)
                       : step.send(r, from, begins_[index(r) + 1] - begins_[index(r)]);
        }
        step.finish();
    }

    /// Blocks, from `begins` on, to their owners; of this rank's, `count` elements, the combination.
    void combine(const Sizes& begins, const std::byte* in, std::byte* out, std::size_t count) {
        const std::size_t bytes = count * element_;
        std::vector<std::byte> arrived(bytes * index(ranks_));
        std::vector<const void*> inputs;
        Step step(mesh_, call_, 1);
        for (int r = 0; r < ranks_; ++r) {
            inputs.push_back(r == rank_ ? in + begins[index(r)] : arrived.data() + index(r) * bytes);
            if (r == rank_) continue;
            step.receive(r, arrived.data() + index(r) * bytes, bytes);
            step.send(r, in + begins[index(r)], begins[index(r) + 1] - begins[index(r)]);
        }
        step.finish();
        if (count > 0)
            kernel(call_.type, call_.reduce)(out, inputs.data(), ranks_, count, call_.reduce.factor(), ranks_);
    }

    /// reduce and all_reduce: everybody combines a slice, then the slices go to the root, or to all.
    void reduce() {
        Sizes begins{0};
        const std::size_t share = (call_.count + index(ranks_) - 1) / index(ranks_);
        for (int r = 0; r < ranks_; ++r) begins.push_back(std::min(call_.count, share * (index(r) + 1)) * element_);
        const std::size_t begin = begins[index(rank_)], bytes = begins[index(rank_) + 1] - begin;
        std::vector<std::byte> slice(bytes);
        combine(begins, call_.in, slice.data(), bytes / element_);
        const bool wanted = call_.root < 0 || call_.root == rank_;
        Step step(mesh_, call_, 2);
        for (int r = 0; r < ranks_; ++r) {
            if (r == rank_) continue;
            if (wanted) step.receive(r, call_.out + begins[index(r)], begins[index(r) + 1] - begins[index(r)]);
            if (call_.root < 0 || call_.root == r) step.send(r, slice.data(), bytes);
        }
        if (wanted) copy_bytes(call_.out + begin, slice.data(), bytes);
        step.finish();
    }

    void all_to_all() {
        const bool plain = call_.counts.empty();
        const Sizes equal(plain ? index(ranks_) : 0, call_.count);
        const Sizes &out_counts = plain ? equal : call_.counts, &in_counts = plain ? equal : call_.out_counts;
        if (!plain) agree_on_counts();
        Step step(mesh_, call_, 2);
        std::size_t from = 0, to = 0;
        for (int r = 0; r < ranks_; ++r) {
            const std::size_t sent = out_counts[index(r)] * element_, received = in_counts[index(r)] * element_;
            if (r != rank_) step.receive(r, call_.out + to, received);
            if (r != rank_) step.send(r, call_.in + from, sent);
            if (r == rank_) own_from_ = from, own_to_ = to;
            from += sent;
            to += received;
        }
        copy_bytes(call_.out + own_to_, call_.in + own_from_, out_counts[index(rank_)] * element_);
        step.finish();
    }

    /// Shows everybody all counts, so that all find the same pair that does not fit.
    void agree_on_counts() {
        const std::size_t n = index(ranks_);
        std::vector<std::size_t> all(2 * n * n);
        std::size_t* own = &all[index(rank_) * 2 * n];
        std::copy(call_.counts.begin(), call_.counts.end(), own);
        std::copy(call_.out_counts.begin(), call_.out_counts.end(), own + n);
        Step step(mesh_, call_, 1);
        for (int r = 0; r < ranks_; ++r) {
            if (r == rank_) continue;
            step.receive(r, &all[index(r) * 2 * n], 2 * n * sizeof(std::size_t));
            step.send(r, own, 2 * n * sizeof(std::size_t));
        }
        step.finish();
        for (std::size_t i = 0; i < n; ++i)
            for (std::size_t j = 0; j < n; ++j)
                if (const std::size_t sent = all[i * 2 * n + j], expected = all[j * 2 * n + n + i]; sent != expected)
                    throw failure(
                        ErrorCode::mismatch, where(call_, mesh_.group()), {static_cast<int>(i), static_cast<int>(j)},
                        fmt::format("rank {} sends {} elements to rank {}, which expects {}", i, sent, j, expected));
    }

    Mesh& mesh_;
    const Call& call_;
    const std::size_t element_;
    const int ranks_, rank_;
    Sizes begins_;  // of the ranks' blocks, in bytes
    std::vector<Frame> frames_;
    std::size_t own_from_ = 0, own_to_ = 0;
};

}  // namespace

void run_collective(Mesh& mesh, const Call& call) { Collective(mesh, call).run(); }

}  // namespace dlaunch::worker::gloo_backend
