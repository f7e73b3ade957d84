#pragma once
/// Transport of the fake NCCL: ranks exchange bytes through shared memory, with one mailbox per ordered pair and a loop
/// that makes progress on all transfers. All operations are built on it.

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "worker_lib/src/nccl/library.hpp"

namespace fake {

inline constexpr int kMostRanks = 8;
inline constexpr std::size_t kBoxBytes = 256 << 10;

using dlaunch::worker::nccl::Config;
using dlaunch::worker::nccl::Result;
using dlaunch::worker::nccl::UniqueId;
using enum Result;

struct Box {
    std::atomic<bool> full;
    std::size_t bytes;
    std::byte data[kBoxBytes];
};
/// Valid when zero-initialized, like new shared memory.
struct Region {
    std::atomic<int> attached, left;
    std::atomic<int> devices[kMostRanks];
    Box boxes[kMostRanks][kMostRanks];  // from, to
};

/// Location of a shared region: a process and its descriptor.
struct Address {
    int pid, fd;
};
[[nodiscard]] Address make_region();
[[nodiscard]] Region* map_region(const Address& address);

struct Move {
    int peer;
    bool sends;
    std::byte* data;  ///< only read by a send
    std::size_t bytes;
    std::size_t done = 0;
};

struct Communicator {
    Region* region = nullptr;
    int rank = 0, ranks = 1, device = 0;
    std::atomic<Result> state{in_progress};
    std::atomic<bool> aborted{false};
    std::atomic<int> given{0};             ///< number of groups so far
    std::atomic<int> running{0};           ///< number of groups that their stream has not completed
    std::atomic<int> jobs{0};              ///< number of threads that ncclCommAbort joins
    std::shared_ptr<Communicator> parent;  ///< while it is being split: its abort ends the split
    std::mutex mutex;
    std::string last_error;

    /// Runs all transfers concurrently; false: aborted.
    bool exchange(std::vector<Move> moves);
    void fail(Result result, const std::string& text);
    /// The operation in progress has succeeded, unless the communicator has failed meanwhile.
    void succeed() {
        Result expected = in_progress;
        state.compare_exchange_strong(expected, success);
    }
    [[nodiscard]] bool is_aborted() const { return aborted || (parent && parent->aborted); }
    /// Waits until `count` is reached; false: aborted.
    bool wait_for(const std::atomic<int>& counter, int count) const;
};
using Shared = std::shared_ptr<Communicator>;

/// Like NCCL's, takes the fields of `config` that the caller's version has, and judges them.
[[nodiscard]] bool is_proper(const Config* config);

/// out[i] = in[0][i] op in[1][i] ...; `factor` is premul_sum's.
void combine(int type, int op, const void* factor, const std::vector<const std::byte*>& in, std::byte* out,
             std::size_t count);
[[nodiscard]] std::size_t size_of(int type);

}  // namespace fake
