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
/// Equal within noise from 256 KiB to 1 MiB, slower below.
constexpr std::size_t kHalfBytes = 512 << 10;
/// Of a ring with its counts; many ranks have many rings.
constexpr std::size_t kRingBytes = 256 << 10, kSmallRingBytes = 64 << 10;
constexpr int kFewRanks = 16;

std::size_t whole_pages(std::size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

[[noreturn]] void fail(const Place& place, const std::string& what, int number) {
    throw Error(ErrorCode::backend,
                fmt::format("shm: group {}: {}: {}; DLAUNCH_BACKEND=gloo does without shared memory", place.group, what,
                            std::strerror(number)));
}

/// What is longer than files may be here would end the process.
int truncate(int fd, std::size_t bytes) {
    rlimit most{};
    if (getrlimit(RLIMIT_FSIZE, &most) == 0 && bytes > most.rlim_cur) {
        errno = EFBIG;
        return -1;
    }
    return ftruncate(fd, static_cast<off_t>(bytes));
}

/// Where rank 0 has left its segment.
std::string wait_for_rank_0(const Place& place, const StoreHandle& store, Time deadline) {
    const Time began = Clock::now();
    try {
        return store.get("shm", deadline);
    } catch (const Error& error) {
        if (error.code() != ErrorCode::timeout || !error.ranks().empty()) throw;
        throw failure(ErrorCode::timeout, {"new_group", 0, place.group}, {place.name(0)},
                      fmt::format("rank {} waited {} for rank {}", place.name(place.rank),
                                  describe(Clock::now() - began), place.name(0)));
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
    void* place = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0);
    if (place == MAP_FAILED) return;
    const auto ranks = static_cast<std::size_t>(size_);
    base_ = static_cast<std::byte*>(place);
    controls_ = reinterpret_cast<Control*>(base_ + kPage);
    slots_ = base_ + kPage + whole_pages(ranks * sizeof(Control));
    rings_ = slots_ + ranks * 2 * half_bytes_;
}

std::shared_ptr<Segment> Segment::meet(const Place& place, const StoreHandle& store, Time deadline) {
    if (place.rank == 0) {
        std::shared_ptr<Segment> segment(new Segment(place.size, base::UniqueFd(memfd_create("dlaunch", MFD_CLOEXEC))));
        if (!segment->fd_) fail(place, "memfd_create", errno);
        if (truncate(segment->fd_.get(), segment->bytes_) != 0)
            fail(place, fmt::format("a file of {} MiB", segment->bytes_ >> 20), errno);
        segment->map();
        if (!segment->base_) fail(place, "mmap", errno);
        for (int r = 0; r < place.size; ++r) new (segment->controls_ + r) Control();
        const std::uint64_t token = base::random_number();
        std::memcpy(segment->base_, &token, sizeof token);
        if (place.size > 1) store.set("shm", fmt::format("{} {} {}", getpid(), segment->fd_.get(), token), deadline);
        return segment;
    }
    int pid = 0, fd = 0;
    std::uint64_t token = 0, found = 0;
    std::istringstream(wait_for_rank_0(place, store, deadline)) >> pid >> fd >> token;
    const std::string path = fmt::format("/proc/{}/fd/{}", pid, fd);
    std::shared_ptr<Segment> segment(new Segment(place.size, base::UniqueFd(open(path.c_str(), O_RDWR | O_CLOEXEC))));
    if (!segment->fd_ && errno == ENOENT && access("/proc/self/fd", F_OK) == 0)
        throw Error(ErrorCode::peer_lost,
                    fmt::format("shm: group {}: rank {} (pid {}) is gone", place.group, place.name(0), pid),
                    {place.name(0)}, {"new_group", 0, place.group});
    if (!segment->fd_) fail(place, "open " + path + " of rank 0", errno);
    if (lseek(segment->fd_.get(), 0, SEEK_END) != static_cast<off_t>(segment->bytes_))
        fail(place, path + " of rank 0 has the wrong size", EINVAL);
    segment->map();
    if (!segment->base_) fail(place, "mmap", errno);
    std::memcpy(&found, segment->base_, sizeof found);
    if (found != token) fail(place, path + " is not the group's memory", EINVAL);
    segment->close_door();
    return segment;
}

}  // namespace dlaunch::worker::shm
