#include "worker_lib/src/shm/segment.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <cerrno>
#include <cstring>
#include <new>
#include <sstream>

#include "rendezvous/base/random.hpp"

namespace dlaunch::worker::shm {
namespace {

constexpr std::size_t kPage = 4096;
/// Sizes from 256 KiB to 1 MiB measure the same; smaller halves are slower.
constexpr std::size_t kHalfBytes = 512 << 10;
static_assert(kHalfBytes >= kMaxCombinedBytes);
/// Size of a ring with its counters. Groups of more than kFewRanks use small rings, because the number of rings grows
/// with the square of the number of ranks.
constexpr std::size_t kRingBytes = 256 << 10, kSmallRingBytes = 64 << 10;
constexpr int kFewRanks = 16;

std::size_t whole_pages(std::size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

[[noreturn]] void fail(const GroupInfo& group, const std::string& what, int number) {
    throw Error(ErrorCode::backend,
                fmt::format("shm: group {}: {}: {}; DLAUNCH_BACKEND=gloo does without shared memory", group.name, what,
                            std::strerror(number)));
}

/// ftruncate() that fails with EFBIG above RLIMIT_FSIZE, where the system call would raise SIGXFSZ.
int truncate(int fd, std::size_t bytes) {
    rlimit most{};
    if (getrlimit(RLIMIT_FSIZE, &most) == 0 && bytes > most.rlim_cur) {
        errno = EFBIG;
        return -1;
    }
    return ftruncate(fd, static_cast<off_t>(bytes));
}

/// The location of rank 0's segment, from the store: "PID FD TOKEN".
std::string wait_for_rank_0(const GroupInfo& group, const StoreHandle& store, Time deadline) {
    const Time began = Clock::now();
    try {
        return store.get("shm", deadline);
    } catch (const Error& error) {
        if (error.code() != ErrorCode::timeout || !error.ranks().empty()) throw;
        throw failure(ErrorCode::timeout, {"new_group", 0, group.name}, {group.label(0)},
                      fmt::format("rank {} waited {} for rank {}", group.named(group.rank),
                                  describe(Clock::now() - began), group.named(0)));
    }
}

}  // namespace

Segment::Segment(int size, base::UniqueFd fd)
    : size_(size),
      fd_(std::move(fd)),
      half_bytes_(kHalfBytes),
      ring_stride_(size <= kFewRanks ? kRingBytes : kSmallRingBytes) {
    const auto ranks = static_cast<std::size_t>(size);
    bytes_ = kPage + whole_pages(ranks * sizeof(Control)) + ranks * 2 * half_bytes_ + ranks * ranks * ring_stride_;
}

Segment::~Segment() {
    if (base_) munmap(base_, bytes_);
}

void Segment::map() {
    void* memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0);
    if (memory == MAP_FAILED) return;
    const auto ranks = static_cast<std::size_t>(size_);
    base_ = static_cast<std::byte*>(memory);
    controls_ = reinterpret_cast<Control*>(base_ + kPage);
    slots_ = base_ + kPage + whole_pages(ranks * sizeof(Control));
    rings_ = slots_ + ranks * 2 * half_bytes_;
}

std::shared_ptr<Segment> Segment::create_or_join(const GroupInfo& group, const StoreHandle& store, Time deadline) {
    if (group.rank == 0) {
        std::shared_ptr<Segment> segment(new Segment(group.size, base::UniqueFd(memfd_create("dlaunch", MFD_CLOEXEC))));
        if (!segment->fd_) fail(group, "memfd_create", errno);
        if (truncate(segment->fd_.get(), segment->bytes_) != 0)
            fail(group, fmt::format("a file of {} MiB", segment->bytes_ >> 20), errno);
        segment->map();
        if (!segment->base_) fail(group, "mmap", errno);
        for (int r = 0; r < group.size; ++r) new (segment->controls_ + r) Control();
        const std::uint64_t token = base::random_number();
        std::memcpy(segment->base_, &token, sizeof token);
        if (group.size > 1) store.set("shm", fmt::format("{} {} {}", getpid(), segment->fd_.get(), token), deadline);
        return segment;
    }
    int pid = 0, fd = 0;
    std::uint64_t token = 0, found = 0;
    std::istringstream(wait_for_rank_0(group, store, deadline)) >> pid >> fd >> token;
    const std::string path = fmt::format("/proc/{}/fd/{}", pid, fd);
    std::shared_ptr<Segment> segment(new Segment(group.size, base::UniqueFd(open(path.c_str(), O_RDWR | O_CLOEXEC))));
    if (!segment->fd_ && errno == ENOENT && access("/proc/self/fd", F_OK) == 0)
        throw Error(ErrorCode::peer_lost,
                    fmt::format("shm: group {}: rank {} (pid {}) is gone", group.name, group.named(0), pid),
                    {group.label(0)}, {"new_group", 0, group.name});
    if (!segment->fd_) fail(group, fmt::format("open {} of rank {}", path, group.named(0)), errno);
    if (lseek(segment->fd_.get(), 0, SEEK_END) != static_cast<off_t>(segment->bytes_))
        fail(group, fmt::format("{} of rank {} has the wrong size", path, group.named(0)), EINVAL);
    segment->map();
    if (!segment->base_) fail(group, "mmap", errno);
    std::memcpy(&found, segment->base_, sizeof found);
    if (found != token) fail(group, path + " is not the group's memory", EINVAL);
    segment->close_file();
    return segment;
}

}  // namespace dlaunch::worker::shm
