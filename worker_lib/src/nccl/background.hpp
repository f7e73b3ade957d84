#pragma once

#include <chrono>
#include <functional>
#include <future>

namespace dlaunch::worker::nccl {

/// How long a failure or a destructor waits for NCCL and CUDA to end what the GPU may be stuck in.
inline constexpr std::chrono::seconds kAbortPatience{2};

/// Runs `work` in a thread of its own, which the program does not wait for when it ends. The result becomes ready when
/// the work has ended. Without a thread the work runs at once.
[[nodiscard]] std::shared_future<void> run_in_background(std::function<void()> work);

/// True: the work has ended within kAbortPatience.
[[nodiscard]] inline bool has_ended(const std::shared_future<void>& work) {
    return work.wait_for(kAbortPatience) == std::future_status::ready;
}

}  // namespace dlaunch::worker::nccl
