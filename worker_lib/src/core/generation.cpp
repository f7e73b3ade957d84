#include "worker_lib/src/core/generation.hpp"

#include <pthread.h>

#include <atomic>

namespace dlaunch::worker {
namespace {

std::atomic<unsigned> forks{0};
[[maybe_unused]] const int counted = pthread_atfork(nullptr, nullptr, [] { ++forks; });

}  // namespace

unsigned generation() { return forks.load(std::memory_order_relaxed); }

}  // namespace dlaunch::worker
