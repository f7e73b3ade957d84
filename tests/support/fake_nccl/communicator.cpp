#include "tests/support/fake_nccl/communicator.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <thread>

#include "worker_lib/src/reduce/half.hpp"

namespace fake {
namespace {

void pause() { std::this_thread::sleep_for(std::chrono::microseconds(20)); }

/// Makes progress on a transfer; true: bytes were moved.
bool push_on(Box& box, Move& move) {
    if (box.full == move.sends || move.done == move.bytes) return false;
    if (move.sends) {
        box.bytes = std::min(kBoxBytes, move.bytes - move.done);
        std::memcpy(box.data, move.data + move.done, box.bytes);
    } else {
        std::memcpy(move.data + move.done, box.data, std::min(box.bytes, move.bytes - move.done));
    }
    move.done += std::min(box.bytes, move.bytes - move.done);
    box.full = move.sends;
    return true;
}

struct Half {
    std::uint16_t bits;
    explicit operator float() const { return dlaunch::worker::float_from_half(bits); }
    static Half from(float value) { return {dlaunch::worker::half_from_float(value)}; }
};
struct Bfloat {
    std::uint16_t bits;
    explicit operator float() const {
        const std::uint32_t wide = std::uint32_t{bits} << 16;
        float value;
        std::memcpy(&value, &wide, sizeof(value));
        return value;
    }
    static Bfloat from(float value) { return {dlaunch::worker::bfloat_from_float(value)}; }
};

/// W is the accumulator type of T.
template <class T, class W>
void combine_as(int op, const void* factor, const std::vector<const std::byte*>& in, std::byte* out,
                std::size_t count) {
    T by{};
    if (factor) std::memcpy(&by, factor, sizeof(by));
    for (std::size_t i = 0; i < count; ++i) {
        W result{};
        for (std::size_t r = 0; r < in.size(); ++r) {
            T value;
            std::memcpy(&value, in[r] + i * sizeof(T), sizeof(T));
            const W next = factor ? static_cast<W>(static_cast<W>(value) * static_cast<W>(by)) : static_cast<W>(value);
            if (r == 0)
                result = next;
            else if (op == 1)
                result = static_cast<W>(result * next);
            else if (op == 2)
                result = std::max(result, next);
            else if (op == 3)
                result = std::min(result, next);
            else
                result = static_cast<W>(result + next);
        }
        if (op == 4) result = static_cast<W>(result / static_cast<W>(in.size()));
        T rounded;
        if constexpr (std::is_same_v<T, W>)
            rounded = result;
        else
            rounded = T::from(result);
        std::memcpy(out + i * sizeof(T), &rounded, sizeof(T));
    }
}

}  // namespace

Address make_region() {
    const int fd = memfd_create("fake-nccl", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, sizeof(Region)) != 0) return {0, -1};
    return {getpid(), fd};
}

Region* map_region(const Address& address) {
    const std::string path = "/proc/" + std::to_string(address.pid) + "/fd/" + std::to_string(address.fd);
    const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (fd < 0) return nullptr;
    void* data = mmap(nullptr, sizeof(Region), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    return data == MAP_FAILED ? nullptr : static_cast<Region*>(data);
}

bool Communicator::exchange(std::vector<Move> moves) {
    for (;;) {
        bool moved = false, left = false;
        bool blocked[2][kMostRanks] = {};  // messages of a pair keep their order
        for (Move& move : moves) {
            bool& behind = blocked[move.sends ? 1 : 0][move.peer];
            if (behind || move.done == move.bytes) continue;
            Box& box = move.sends ? region->boxes[rank][move.peer] : region->boxes[move.peer][rank];
            moved |= push_on(box, move);
            if (move.done < move.bytes) behind = left = true;
        }
        if (!left) return true;
        if (aborted) return false;
        if (!moved) pause();
    }
}

void Communicator::fail(Result result, const std::string& text) {
    const std::lock_guard lock(mutex);
    if (state != in_progress && state != success) return;  // the first failure is kept
    last_error = text;
    state = result;
}

bool Communicator::wait_for(const std::atomic<int>& counter, int count) const {
    while (counter < count && !is_aborted()) pause();
    return !is_aborted();
}

std::size_t size_of(int type) {
    static constexpr std::size_t kSizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};
    return kSizes[type];
}

void combine(int type, int op, const void* factor, const std::vector<const std::byte*>& in, std::byte* out,
             std::size_t count) {
    using Combine = void (*)(int, const void*, const std::vector<const std::byte*>&, std::byte*, std::size_t);
    static constexpr Combine kByType[] = {
        combine_as<std::int8_t, std::int8_t>,
        combine_as<std::uint8_t, std::uint8_t>,
        combine_as<std::int32_t, std::int32_t>,
        combine_as<std::uint32_t, std::uint32_t>,
        combine_as<std::int64_t, std::int64_t>,
        combine_as<std::uint64_t, std::uint64_t>,
        combine_as<Half, float>,
        combine_as<float, float>,
        combine_as<double, double>,
        combine_as<Bfloat, float>,
    };
    kByType[type](op, factor, in, out, count);
}

}  // namespace fake
