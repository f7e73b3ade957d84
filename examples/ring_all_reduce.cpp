/// An all-reduce by messages around a ring: first of whole vectors, then of chunks. The second is a reduce-scatter
/// followed by an all-gather, in which the bytes sent per rank do not grow with the number of ranks. Prints `rank r:
/// ring v`, `rank r: chunked v` and `rank r: all_reduce v`, with equal values.

#include <dlaunch/dlaunch.hpp>

#include <span>
#include <utility>
#include <vector>

#include "examples/print.hpp"

namespace {

/// Passes every vector around the whole ring; every rank adds up all of them.
std::vector<float> ring(const std::vector<float>& data, int rank, int ranks) {
    const int left = (rank + ranks - 1) % ranks, right = (rank + 1) % ranks;
    std::vector<float> sum = data, travelling = data, arriving(data.size());
    for (int step = 1; step < ranks; ++step) {
        dlaunch::Work sent = dlaunch::isend(travelling, right);
        dlaunch::recv(arriving, left);
        sent.wait();
        for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += arriving[i];
        std::swap(travelling, arriving);
    }
    return sum;
}

/// Chunk c starts at rank c, accumulates every rank's values once around the ring, then goes around again complete.
std::vector<float> chunked(std::vector<float> data, int rank, int ranks) {
    const int left = (rank + ranks - 1) % ranks, right = (rank + 1) % ranks;
    const auto begin = [&](int c) {
        return data.size() * static_cast<std::size_t>(c) / static_cast<std::size_t>(ranks);
    };
    const auto chunk = [&](int c) { return std::span(data).subspan(begin(c), begin(c + 1) - begin(c)); };
    for (int step = 0; step < 2 * (ranks - 1); ++step) {
        const int out = (rank - step + 2 * ranks) % ranks, in = (rank - step - 1 + 2 * ranks) % ranks;
        std::vector<float> arriving(chunk(in).size());
        dlaunch::Work sent = dlaunch::isend(chunk(out), right);
        dlaunch::recv(arriving, left);
        sent.wait();
        const bool adds = step < ranks - 1;
        for (std::size_t i = 0; i < arriving.size(); ++i) chunk(in)[i] = arriving[i] + (adds ? chunk(in)[i] : 0);
    }
    return data;
}

}  // namespace

int main() {
    dlaunch::init_process_group();
    const int rank = dlaunch::get_rank(), ranks = dlaunch::get_world_size();
    std::vector<float> data;
    for (int i = 0; i < 8; ++i) data.push_back(static_cast<float>((rank + 1) * (i + 1)));
    print("rank ", rank, ": ring ", list(ring(data, rank, ranks)));
    print("rank ", rank, ": chunked ", list(chunked(data, rank, ranks)));
    dlaunch::all_reduce(data);
    print("rank ", rank, ": all_reduce ", list(data));
}
