// A head with the snapshot's position, and two alternating slots. The head is written last, by one system call within
// one page, which a signal cannot interrupt. A reader of another process looks at the head again after it has read: a
// writer that was faster has emptied the slot.

#include "rendezvous/coordinate/record_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

namespace dlaunch::rendezvous {
namespace {

struct Head {
    std::uint64_t at = 0, size = 0, number = 0;
    bool operator==(const Head&) const = default;
};
constexpr std::uint64_t kFirstPlace = 4096, kSecondPlace = std::uint64_t{1} << 32;

bool write_all(int file, std::string_view bytes, std::uint64_t at) {
    while (!bytes.empty()) {
        const ssize_t count = pwrite(file, bytes.data(), bytes.size(), static_cast<off_t>(at));
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return false;
        bytes.remove_prefix(static_cast<std::size_t>(count));
        at += static_cast<std::uint64_t>(count);
    }
    return true;
}

std::string read_at(int file, std::uint64_t at, std::uint64_t size) {
    std::string bytes(size, 0);
    std::size_t got = 0;
    while (got < bytes.size()) {
        const ssize_t count = pread(file, bytes.data() + got, bytes.size() - got, static_cast<off_t>(at + got));
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return {};
        got += static_cast<std::size_t>(count);
    }
    return bytes;
}

Head head_of(int file) {
    Head head;
    if (pread(file, &head, sizeof head, 0) != static_cast<ssize_t>(sizeof head)) return {};
    return head;
}

}  // namespace

base::Result<base::UniqueFd> make_memory_file(const char* name, std::string_view bytes) {
    base::UniqueFd file(memfd_create(name, MFD_CLOEXEC));
    if (!file || !write_all(file.get(), bytes, 0)) return base::Error{fmt::format("memfd: {}", std::strerror(errno))};
    return file;
}

std::string bytes_of(int file) {
    struct stat about {};
    if (fstat(file, &about) != 0) return {};
    return read_at(file, 0, static_cast<std::uint64_t>(about.st_size));
}

std::string read_record(int file) {
    Head head = head_of(file);
    while (true) {
        std::string bytes = read_at(file, head.at, head.size);
        const Head after = head_of(file);
        if (after == head) return bytes;
        head = after;
    }
}

bool write_record(int file, std::string_view bytes) {
    const Head before = head_of(file);
    const Head now{before.at == kFirstPlace ? kSecondPlace : kFirstPlace, bytes.size(), before.number + 1};
    if (!write_all(file, bytes, now.at)) return false;
    if (pwrite(file, &now, sizeof now, 0) != static_cast<ssize_t>(sizeof now)) return false;
    if (before.size > 0)
        fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(before.at),
                  static_cast<off_t>(before.size));
    return true;
}

}  // namespace dlaunch::rendezvous
