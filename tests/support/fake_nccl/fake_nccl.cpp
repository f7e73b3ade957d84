/// The functions of NCCL that worker_lib uses. Environment:
///
///   FAKE_NCCL_VERSION       the result of ncclGetVersion
///   FAKE_NCCL_BREAK_AFTER   after this many groups of calls the next one hangs, with an asynchronous error
///   FAKE_NCCL_HANG_AFTER    the same without the error
///   FAKE_NCCL_REFUSE_AFTER  after this many groups of calls a call is refused with ncclInvalidArgument
///   FAKE_NCCL_ABORT_MS      how long ncclCommAbort waits before it does anything
///   FAKE_NCCL_SPLIT_HANGS   1: ncclCommSplit ends by an abort only
///   FAKE_NCCL_LAUNCH_MS     how long a communicator is ncclInProgress after a group of calls

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <thread>
#include <utility>

#include "tests/support/fake_nccl/communicator.hpp"
#include "tests/support/fake_nccl/streams.hpp"

namespace fake {
namespace {

static_assert(sizeof(Address) <= sizeof(UniqueId));

/// Never destroyed: threads may still read aborted communicators.
std::vector<Shared>& all() {
    static auto& every = *new std::vector<Shared>;
    return every;
}
std::mutex all_mutex;

Shared& remember(const Shared& made) {
    const std::lock_guard lock(all_mutex);
    all().push_back(made);
    return all().back();
}
Shared find(const void* handle) {
    const std::lock_guard lock(all_mutex);
    for (const Shared& one : all())
        if (one.get() == handle) return one;
    return nullptr;
}

void attach(const Shared& comm, const Address& address) {
    comm->region = map_region(address);
    if (!comm->region) return comm->fail(system_error, "the root has gone");
    comm->region->devices[comm->rank] = comm->device;
    ++comm->region->attached;
    if (!comm->wait_for(comm->region->attached, comm->ranks)) return;
    for (int r = 0; r < comm->ranks; ++r)
        for (int s = r + 1; s < comm->ranks; ++s)
            if (comm->region->devices[r] == comm->region->devices[s])
                return comm->fail(invalid_usage, "Duplicate GPU detected : rank " + std::to_string(r) + " and rank " +
                                                     std::to_string(s) + " both on CUDA device 1000");
    comm->succeed();
}

bool collect(Communicator& comm, const std::byte* in, std::size_t bytes, std::size_t stride, std::byte* out);

#ifndef FAKE_WITHOUT_SPLIT
/// `comm`: the part of this rank, to be filled in; nullptr: it is in none.
void split(const Shared& parent, const Shared& comm, int color, int key) {
    // With outstanding calls NCCL may deadlock.
    const bool hangs = setting("FAKE_NCCL_SPLIT_HANGS", 0) != 0 || parent->running > 0;
    while (hangs && !parent->aborted) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    struct Choice {
        int color, key, rank;
        Address address;
    };
    const Choice own{color, key, parent->rank, make_region()};
    std::vector<Choice> choices(static_cast<std::size_t>(parent->ranks));
    if (!collect(*parent, reinterpret_cast<const std::byte*>(&own), sizeof(own), 0,
                 reinterpret_cast<std::byte*>(choices.data())) ||
        !comm)
        return;
    std::erase_if(choices, [&](const Choice& other) { return other.color != color; });
    std::sort(choices.begin(), choices.end(),
              [](const Choice& a, const Choice& b) { return std::pair(a.key, a.rank) < std::pair(b.key, b.rank); });
    const auto at = std::find_if(choices.begin(), choices.end(), [&](const Choice& c) { return c.rank == own.rank; });
    comm->rank = static_cast<int>(at - choices.begin());
    comm->ranks = static_cast<int>(choices.size());
    comm->device = parent->device;
    attach(comm, choices.front().address);
}
#endif

// --- groups of calls, executed on the stream at the end of the group -------------------------------------------------

struct Given {
    Shared comm;
    void* stream;
    std::function<bool(Communicator&)> collective;  // or:
    Move move{};
};
thread_local int depth = 0;
thread_local Result group_error = success;
thread_local std::vector<Given> given;

void carry_out(const Shared& comm, const std::vector<Given>& calls, int number) {
    const int broken = setting("FAKE_NCCL_BREAK_AFTER", -1), hung = setting("FAKE_NCCL_HANG_AFTER", -1);
    if (number == broken) comm->fail(remote_error, "the fake failed as configured");
    while ((number == broken || number == hung) && !comm->aborted)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (comm->aborted) return;
    std::vector<Move> moves;
    for (const Given& one : calls)
        if (!one.collective)
            moves.push_back(one.move);
        else if (!one.collective(*comm))
            return;
    comm->exchange(std::move(moves));
}

Result end_group() {
    if (--depth > 0) return group_error;
    std::vector<Given> calls;
    calls.swap(given);
    if (const Result error = std::exchange(group_error, success); error != success) return error;
    if (calls.empty()) return success;
    const Shared comm = calls[0].comm;
    const int number = comm->given++;
    // Like a non-blocking communicator: success is reported later.
    comm->state = in_progress;
    ++comm->running;
    enqueue(calls[0].stream, [=] {
        carry_out(comm, calls, number);
        --comm->running;
    });
    std::thread([=] {
        const std::chrono::milliseconds launch(setting("FAKE_NCCL_LAUNCH_MS", 0));
        for (const auto end = std::chrono::steady_clock::now() + launch;
             !comm->aborted && std::chrono::steady_clock::now() < end;)
            std::this_thread::sleep_for(std::chrono::microseconds(100));
        comm->succeed();
    }).detach();
    return in_progress;
}

Result give(Given one) {
    ++depth;
    given.push_back(std::move(one));
    return end_group();
}

/// A call that is refused spoils its group, and a non-blocking communicator keeps the refusal as its state.
Result refuse(const Shared& comm, Result result, const char* why) {
    comm->fail(result, why);
    if (depth > 0) group_error = result;
    return result;
}

/// Why a call on the communicator is refused; success: it is accepted.
Result check_ready(const Shared& comm) {
    const Result state = comm->state;
    if (state == in_progress)
        return refuse(comm, invalid_argument,
                      "Attempt to use communicator before the previous operation returned ncclSuccess");
    if (state != success) return refuse(comm, state, comm->last_error.c_str());
    if (comm->given == setting("FAKE_NCCL_REFUSE_AFTER", -1))
        return refuse(comm, invalid_argument, "the fake refused as configured");
    return success;
}

bool fault(Communicator& comm) {
    comm.fail(cuda_error, "an illegal memory access was encountered");
    while (!comm.aborted) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return false;
}

/// Enqueues a collective; `in` and `out` have the given sizes in bytes. Like NCCL without NCCL_CHECK_POINTERS it does
/// not look at the pointers: one that the GPU cannot use ends the kernel, and with it the context. A communicator of
/// one rank has no kernel; it copies.
Result collective(void* handle, void* stream, const void* in, std::size_t in_bytes, const void* out,
                  std::size_t out_bytes, std::function<bool(Communicator&)> body) {
    const Shared comm = find(handle);
    if (!comm) return invalid_argument;
    if (const Result refused = check_ready(comm); refused != success) return refused;
    const bool faults =
        comm->ranks > 1 && !(is_reachable(in, in_bytes, comm->device) && is_reachable(out, out_bytes, comm->device));
    return give({comm, stream, faults ? std::function<bool(Communicator&)>(fault) : std::move(body)});
}

std::byte* bytes_of(const void* data) { return static_cast<std::byte*>(const_cast<void*>(data)); }

/// Sends the block at in + r * stride to each rank r, and concatenates the received blocks in `out`.
bool collect(Communicator& comm, const std::byte* in, std::size_t bytes, std::size_t stride, std::byte* out) {
    std::vector<std::byte> own(in + static_cast<std::size_t>(comm.rank) * stride,
                               in + static_cast<std::size_t>(comm.rank) * stride + bytes);
    std::vector<Move> moves;
    for (int r = 0; r < comm.ranks; ++r) {
        const auto index = static_cast<std::size_t>(r);
        if (r == comm.rank) continue;
        moves.push_back({r, true, bytes_of(in) + index * stride, bytes});
        moves.push_back({r, false, out + index * bytes, bytes});
    }
    // In place: do not overwrite input that peers still need.
    const bool done = comm.exchange(std::move(moves));
    std::copy(own.begin(), own.end(), out + static_cast<std::size_t>(comm.rank) * bytes);
    return done;
}

std::mutex factors_mutex;
auto& factors = *new std::map<int, std::vector<std::byte>>;  // by created reduction

Result reduction(const void* in, std::size_t stride, void* out, std::size_t count, int type, int op, int root,
                 void* handle, void* stream) {
    const Shared comm = find(handle);
    if (!comm) return invalid_argument;
    std::vector<std::byte> factor;
    if (op > 4) {
        const std::lock_guard lock(factors_mutex);
        if (!factors.contains(op)) return refuse(comm, invalid_argument, "no such reduction");
        factor = factors[op];
    }
    const std::size_t bytes = count * size_of(type), blocks = stride > 0 ? static_cast<std::size_t>(comm->ranks) : 1;
    const bool wanted = root < 0 || root == comm->rank;
    return collective(handle, stream, in, bytes * blocks, out, wanted ? bytes : 0, [=](Communicator& at) {
        std::vector<std::byte> all(bytes * static_cast<std::size_t>(at.ranks));
        if (!collect(at, bytes_of(in), bytes, stride, all.data())) return false;
        std::vector<const std::byte*> inputs;
        inputs.reserve(static_cast<std::size_t>(at.ranks));
        for (int r = 0; r < at.ranks; ++r) inputs.push_back(all.data() + static_cast<std::size_t>(r) * bytes);
        if (wanted) combine(type, op, factor.empty() ? nullptr : factor.data(), inputs, bytes_of(out), count);
        return true;
    });
}

}  // namespace
}  // namespace fake

using namespace fake;

// NOLINTBEGIN(readability-identifier-naming): the names are NCCL's
extern "C" {

Result ncclGetVersion(int* version) {
    *version = setting("FAKE_NCCL_VERSION", 22809);
    return success;
}
Result ncclGetUniqueId(UniqueId* id) {
    const Address address = make_region();
    std::memcpy(id->bytes, &address, sizeof(address));
    return address.fd < 0 ? system_error : success;
}
const char* ncclGetErrorString(Result result) {
    static constexpr const char* kTexts[] = {"no error",
                                             "unhandled cuda error",
                                             "unhandled system error",
                                             "internal error",
                                             "invalid argument",
                                             "invalid usage",
                                             "remote process exited or there was a network error",
                                             "in progress"};
    return kTexts[static_cast<int>(result)];
}
const char* ncclGetLastError(void* handle) {
    const Shared comm = find(handle);
    if (!comm) return "";
    const std::lock_guard lock(comm->mutex);
    return comm->last_error.c_str();
}
Result ncclCommInitRankConfig(void** made, int ranks, UniqueId id, int rank, Config* config) {
    *made = nullptr;
    if (!is_proper(config) || ranks > kMostRanks) return invalid_argument;
    const Shared comm = remember(std::make_shared<Communicator>());
    comm->rank = rank;
    comm->ranks = ranks;
    comm->device = current_device();
    *made = comm.get();
    Address address;
    std::memcpy(&address, id.bytes, sizeof(address));
    std::thread([=] { attach(comm, address); }).detach();
    return in_progress;
}
#ifndef FAKE_WITHOUT_SPLIT
/// Like NCCL's, writes the new communicator at the end of the job, also after a failure.
Result ncclCommSplit(void* handle, int color, int key, void** made, Config* config) {
    *made = nullptr;
    const Shared parent = find(handle);
    if (!parent || !is_proper(config)) return invalid_argument;
    if (const Result refused = check_ready(parent); refused != success) return refused;
    const Shared comm = color < 0 ? nullptr : remember(std::make_shared<Communicator>());
    if (comm) comm->parent = parent;
    parent->state = in_progress;
    ++parent->jobs;
    std::thread([=] {
        split(parent, comm, color, key);
        if (comm) comm->parent = nullptr;
        *made = comm.get();
        if (!parent->aborted) parent->succeed();
        --parent->jobs;
    }).detach();
    return in_progress;
}
#endif
Result ncclCommFinalize(void* handle) {
    const Shared comm = find(handle);
    if (!comm) return invalid_argument;
    if (const Result refused = check_ready(comm); refused != success) return refused;
    comm->state = in_progress;
    std::thread([=] {
        ++comm->region->left;
        if (comm->wait_for(comm->region->left, comm->ranks)) comm->succeed();
    }).detach();
    return in_progress;
}
Result ncclCommAbort(void* handle) {
    if (is_shut_down()) std::abort();  // real NCCL calls CUDA, and may hang
    const Shared comm = find(handle);
    if (!comm) return invalid_argument;
    // Waits for the streams, which may be stuck in a kernel of the program.
    std::this_thread::sleep_for(std::chrono::milliseconds(setting("FAKE_NCCL_ABORT_MS", 0)));
    comm->aborted = true;
    while (comm->jobs > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return success;
}
/// For tests: the number of communicators that were neither destroyed nor aborted.
int fakeNcclCountCommunicators() {
    const std::lock_guard lock(all_mutex);
    return static_cast<int>(
        std::count_if(all().begin(), all().end(), [](const Shared& comm) { return !comm->aborted; }));
}
Result ncclCommDestroy(void* handle) { return ncclCommAbort(handle); }
Result ncclCommGetAsyncError(void* handle, Result* state) {
    const Shared comm = find(handle);
    if (!comm) return invalid_argument;
    *state = comm->state;
    return success;
}
Result ncclGroupStart() {
    ++depth;
    return success;
}
Result ncclGroupEnd() { return end_group(); }
Result ncclRedOpCreatePreMulSum(int* op, void* scalar, int type, int residence, void* handle) {
    const Shared comm = find(handle);
    if (!comm || residence != 1) return invalid_argument;
    if (const Result refused = check_ready(comm); refused != success) return refused;
    const std::lock_guard lock(factors_mutex);
    static int next = 5;
    const auto* bytes = static_cast<const std::byte*>(scalar);
    factors[*op = next++].assign(bytes, bytes + size_of(type));
    return success;
}
Result ncclRedOpDestroy(int op, void*) {
    const std::lock_guard lock(factors_mutex);
    return factors.erase(op) == 1 ? success : invalid_argument;
}
Result ncclBroadcast(const void* in, void* out, std::size_t count, int type, int root, void* handle, void* stream) {
    const Shared comm = find(handle);
    if (!comm) return invalid_argument;
    const std::size_t bytes = count * size_of(type);
    return collective(handle, stream, in, comm->rank == root ? bytes : 0, out, bytes, [=](Communicator& at) {
        std::vector<Move> moves;
        if (at.rank != root) moves.push_back({root, false, bytes_of(out), bytes});
        for (int r = 0; at.rank == root && r < at.ranks; ++r)
            if (r != root) moves.push_back({r, true, bytes_of(in), bytes});
        if (at.rank == root && bytes > 0) std::memmove(out, in, bytes);
        return at.exchange(std::move(moves));
    });
}
Result ncclReduce(const void* in, void* out, std::size_t count, int type, int op, int root, void* comm, void* stream) {
    return reduction(in, 0, out, count, type, op, root, comm, stream);
}
Result ncclAllReduce(const void* in, void* out, std::size_t count, int type, int op, void* comm, void* stream) {
    return reduction(in, 0, out, count, type, op, -1, comm, stream);
}
Result ncclReduceScatter(const void* in, void* out, std::size_t count, int type, int op, void* comm, void* stream) {
    return reduction(in, count * size_of(type), out, count, type, op, -1, comm, stream);
}
Result ncclAllGather(const void* in, void* out, std::size_t count, int type, void* handle, void* stream) {
    const Shared comm = find(handle);
    if (!comm) return invalid_argument;
    const std::size_t bytes = count * size_of(type);
    return collective(handle, stream, in, bytes, out, bytes * static_cast<std::size_t>(comm->ranks),
                      [=](Communicator& at) { return collect(at, bytes_of(in), bytes, 0, bytes_of(out)); });
}
Result ncclSend(const void* data, std::size_t count, int type, int peer, void* handle, void* stream) {
    const Shared comm = find(handle);
    if (!comm) return invalid_argument;
    if (const Result refused = check_ready(comm); refused != success) return refused;
    if (!is_reachable(data, count * size_of(type), comm->device)) return give({comm, stream, fault});
    return give({comm, stream, nullptr, {peer, true, bytes_of(data), count * size_of(type)}});
}
Result ncclRecv(void* data, std::size_t count, int type, int peer, void* handle, void* stream) {
    const Shared comm = find(handle);
    if (!comm) return invalid_argument;
    if (const Result refused = check_ready(comm); refused != success) return refused;
    if (!is_reachable(data, count * size_of(type), comm->device)) return give({comm, stream, fault});
    return give({comm, stream, nullptr, {peer, false, bytes_of(data), count * size_of(type)}});
}
}
// NOLINTEND(readability-identifier-naming)
