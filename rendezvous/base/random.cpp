#include "rendezvous/base/random.hpp"

#include <sys/random.h>
#include <unistd.h>

#include <chrono>

namespace dlaunch::base {

std::uint64_t random_number() {
    std::uint64_t number = 0;
    if (getrandom(&number, sizeof number, 0) == sizeof number) return number;
    const auto now = std::chrono::system_clock::now().time_since_epoch().count();
    return static_cast<std::uint64_t>(now) * 0x9E3779B97F4A7C15U ^ static_cast<std::uint64_t>(getpid());
}

}  // namespace dlaunch::base
