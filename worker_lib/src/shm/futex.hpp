#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <climits>
#include <cstdint>
#include <ctime>

namespace dlaunch::worker::shm {

using Word = std::atomic<std::uint32_t>;
static_assert(sizeof(Word) == 4 && Word::is_always_lock_free);

/// Sleeps while the word equals `seen`, for at most `most`. Works between processes (no FUTEX_PRIVATE_FLAG).
inline void futex_wait(const Word& word, std::uint32_t seen, std::chrono::nanoseconds most) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(most);
    const timespec time{static_cast<time_t>(seconds.count()), static_cast<long>((most - seconds).count())};
    syscall(SYS_futex, &word, FUTEX_WAIT, seen, &time, nullptr, 0);
}

inline void futex_wake_all(const Word& word) { syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0); }

}  // namespace dlaunch::worker::shm
