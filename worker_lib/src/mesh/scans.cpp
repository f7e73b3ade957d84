/// scan and exscan. Each rank sends its input to all higher ranks, and combines those of the lower ones with its own,
/// in rank order. Data that fits into frames goes there; longer data goes in segments, one at a time: a segment's input
/// has been sent before its result overwrites it, in place.

#include <algorithm>

#include "worker_lib/src/mesh/frames.hpp"
#include "worker_lib/src/reduce/combine.hpp"

namespace dlaunch::worker::mesh {
namespace {

constexpr std::size_t kSegment = std::size_t{512} << 10;

std::size_t index(int rank) { return static_cast<std::size_t>(rank); }

}  // namespace

void run_scan(const RankSubset& subset, const Call& call) {
    const int ranks = subset.size(), rank = subset.rank(), count = call.op == Op::scan ? rank + 1 : rank;
    const std::size_t element = size_of(call.type), bytes = call.bytes(call.count);
    Frames& frames = subset.mesh().frames();
    const bool in_frames = !call.part_of && bytes <= frames.capacity();
    if (in_frames)
        for (int r = rank + 1; r < ranks; ++r) frames.attach(r, call.in, bytes);
    if (!call.part_of) frames.exchange(call);
    std::vector<const void*> inputs(index(rank + 1));
    if (in_frames) {
        for (int r = 0; r < rank; ++r) inputs[index(r)] = frames.data(r);
        inputs[index(rank)] = call.in;
        if (count > 0) combine(call, call.out, inputs.data(), count, call.count, count);
        return;
    }
    const std::size_t segment = std::max(kSegment / element, std::size_t{1}) * element;
    std::byte* const stage = subset.mesh().scratch(index(rank) * segment);
    Step step(subset, call, 1);
    std::vector<Flow*> from, to;
    for (int r = 0; r < rank; ++r) from.push_back(&step.flow(r, false, stage + index(r) * segment, segment));
    for (int r = rank + 1; r < ranks; ++r) to.push_back(&step.flow(r, true, call.in, bytes));
    for (std::size_t at = 0; at < bytes; at += segment) {
        const std::size_t size = std::min(segment, bytes - at);
        for (Flow* flow : from) flow->begin(0, size);
        for (Flow* flow : to) flow->begin(at, size);
        for (Flow* flow : from) flow->wait(call);
        for (Flow* flow : to) flow->wait(call);
        for (int r = 0; r < rank; ++r) inputs[index(r)] = stage + index(r) * segment;
        inputs[index(rank)] = call.in + at;
        if (count > 0) combine(call, call.out + at, inputs.data(), count, size / element, count);
    }
    step.finish();
}

}  // namespace dlaunch::worker::mesh
