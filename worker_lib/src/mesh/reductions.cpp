/// Reductions. Every element is combined by a single rank, in rank order, so that the result does not depend on sizes,
/// timing or topology.
///
/// Arrays that fit into frames go from all ranks to all ranks, and every rank combines them. Longer arrays are cut into
/// one block per rank, its owner, and blocks into segments. A segment is sent to its owner, which combines it and, in
/// reduce and all_reduce, sends the result to the root or to all ranks. Each rank sends 2(n-1)/n of the array, as in a
/// ring, but in two steps instead of 2(n-1). Segments are pipelined: while one is combined the next ones are in flight.
/// The first segment travels in the frame.

#include <algorithm>
#include <bit>

#include "worker_lib/src/mesh/frames.hpp"
#include "worker_lib/src/reduce/combine.hpp"

namespace dlaunch::worker::mesh {
namespace {

/// Limits in bytes of one segment, and of the segments of one number that a rank receives from all peers. Long segments
/// cost fewer messages; short ones are still in the cache when they are combined.
constexpr std::size_t kMaxSegment = std::size_t{512} << 10, kMaxSegments = std::size_t{2} << 20, kMinSegment = 4096;
/// Number of segments in flight.
constexpr std::size_t kAhead = 2;

class Reduction {
public:
    Reduction(const RankSubset& subset, const Call& call)
        : subset_(subset),
          call_(call),
          element_(size_of(call.type)),
          ranks_(subset.size()),
          rank_(subset.rank()),
          in_frame_(!call.part_of),
          capacity_(subset.mesh().frames().capacity()),
          gets_result_(call.root < 0 || call.root == rank_),
          begins_(1) {}

    void run() {
        if (call_.op == Op::reduce_scatter) {
            for (int r = 0; r < ranks_; ++r) begins_.push_back(begins_.back() + call_.count_of(r) * element_);
            return reduce_segments(call_.out, false);
        }
        if (in_frame_ && call_.bytes(call_.count) <= capacity_) return reduce_in_frames();
        const std::size_t share = (call_.count + index(ranks_) - 1) / index(ranks_);
        for (int r = 0; r < ranks_; ++r) begins_.push_back(std::min(call_.count, share * (index(r) + 1)) * element_);
        if (gets_result_) return reduce_segments(call_.out + begins_[index(rank_)], true);
        const auto own = std::make_unique_for_overwrite<std::byte[]>(bytes_of(rank_));
        reduce_segments(own.get(), true);
    }

private:
    static std::size_t index(int rank) { return static_cast<std::size_t>(rank); }
    [[nodiscard]] std::size_t bytes_of(int r) const { return begins_[index(r) + 1] - begins_[index(r)]; }
    [[nodiscard]] bool gets_result(int r) const { return call_.root < 0 || call_.root == r; }

    void reduce_in_frames() {
        Frames& frames = subset_.mesh().frames();
        const std::size_t bytes = call_.bytes(call_.count);
        for (int r = 0; r < ranks_; ++r)
            if (r != rank_ && gets_result(r)) frames.attach(r, call_.in, bytes);
        frames.exchange(call_);
        if (!gets_result_ || bytes == 0) return;
        std::vector<const void*> inputs(static_cast<std::size_t>(ranks_));
        for (int r = 0; r < ranks_; ++r) inputs[static_cast<std::size_t>(r)] = r == rank_ ? call_.in : frames.data(r);
        combine(call_, call_.out, inputs.data(), ranks_, bytes / element_, ranks_);
    }

    /// Rounded down to whole elements.
    [[nodiscard]] std::size_t whole(std::size_t bytes) const { return bytes / element_ * element_; }

    struct Segment {
        std::size_t offset, bytes;  // in its block; 0 where the block has no more
    };
    /// The segment with this number of a block. Segment 0 has the capacity of a frame if it travels in one.
    [[nodiscard]] Segment segment(int block, std::size_t number) const {
        const std::size_t begin = number == 0 ? 0 : first_ + (number - 1) * length_, all = bytes_of(block);
        return {begin, begin >= all ? 0 : std::min(all - begin, number == 0 ? first_ : length_)};
    }

    /// The flows between this rank and one peer.
    struct Peer {
        Flow* pieces_in = nullptr;  // of this rank's block
        Flow* pieces_out = nullptr;
        Flow* results_in = nullptr;
        Flow* results_out = nullptr;
        std::byte* stage = nullptr;
    };

    /// Combines this rank's block into `own`; with `all`, also sends it to the ranks that get the result.
    void reduce_segments(std::byte* own, bool all) {
        length_ = whole(std::clamp(std::bit_floor(kMaxSegments / index(ranks_)), kMinSegment, kMaxSegment));
        length_ = std::max(length_, element_);
        first_ = in_frame_ ? std::min(whole(capacity_), length_) : length_;
        std::size_t longest = 0;
        for (int r = 0; r < ranks_; ++r) longest = std::max(longest, bytes_of(r));
        const std::size_t numbers = longest == 0 ? 0 : longest <= first_ ? 1 : 2 + (longest - first_ - 1) / length_;
        if (in_frame_) exchange_frames();

        std::byte* const stage = subset_.mesh().scratch(index(ranks_) * kAhead * length_);
        Step pieces(subset_, call_, 1), results(subset_, call_, 2);
        std::vector<Peer> peers(index(ranks_));
        for (int r = 0; r < ranks_; ++r) {
            if (r == rank_) continue;
            std::byte* staged = stage + index(r) * kAhead * length_;
            peers[index(r)] = {
                &pieces.flow(r, false, staged, kAhead * length_),
                &pieces.flow(r, true, call_.in + begins_[index(r)], bytes_of(r)),
                all && gets_result_ ? &results.flow(r, false, call_.out + begins_[index(r)], bytes_of(r)) : nullptr,
                all && gets_result(r) ? &results.flow(r, true, own, bytes_of(rank_)) : nullptr, staged};
        }
        const auto begin = [&](std::size_t number) {
            for (int r = 0; r < ranks_; ++r) {
                if (r == rank_) continue;
                const Peer& peer = peers[index(r)];
                const auto [offset, bytes] = segment(r, number);
                const bool in_frame = number == 0 && in_frame_;
                if (!in_frame) peer.pieces_in->begin(number % kAhead * length_, segment(rank_, number).bytes);
                if (peer.results_in) peer.results_in->begin(offset, bytes);
                if (!in_frame) peer.pieces_out->begin(offset, bytes);
            }
        };
        for (std::size_t number = 0; number < std::min(kAhead, numbers); ++number) begin(number);
        std::vector<const void*> inputs(index(ranks_));
        for (std::size_t number = 0; number < numbers; ++number) {
            const auto [offset, bytes] = segment(rank_, number);
            const bool in_frame = number == 0 && in_frame_;
            for (int r = 0; bytes > 0 && r < ranks_; ++r) {
                const Peer& peer = peers[index(r)];
                if (r != rank_ && !in_frame) peer.pieces_in->wait(call_);
                inputs[index(r)] = r == rank_ ? call_.in + begins_[index(rank_)] + offset
                                   : in_frame ? subset_.mesh().frames().data(r)
                                              : peer.stage + number % kAhead * length_;
            }
            if (bytes > 0) combine(call_, own + offset, inputs.data(), ranks_, bytes / element_, ranks_);
            for (const Peer& peer : peers)
                if (peer.results_out) peer.results_out->begin(offset, bytes);
            if (number + kAhead < numbers) begin(number + kAhead);
        }
        pieces.finish();
        results.finish();
    }

    /// Exchanges frames, which compare the calls and carry segment 0.
    void exchange_frames() {
        Frames& frames = subset_.mesh().frames();
        for (int r = 0; r < ranks_; ++r)
            if (r != rank_ && bytes_of(r) > 0) frames.attach(r, call_.in + begins_[index(r)], segment(r, 0).bytes);
        frames.exchange(call_);
    }

    const RankSubset& subset_;
    const Call& call_;
    const std::size_t element_;
    const int ranks_, rank_;
    const bool in_frame_;                 // frames are exchanged and carry the first segment
    const std::size_t capacity_;          // of frames
    const bool gets_result_;              // this rank
    std::vector<std::size_t> begins_;     // of the ranks' blocks, in bytes
    std::size_t first_ = 0, length_ = 0;  // of segments
};

}  // namespace

void run_reduction(const RankSubset& subset, const Call& call) { Reduction(subset, call).run(); }

}  // namespace dlaunch::worker::mesh
