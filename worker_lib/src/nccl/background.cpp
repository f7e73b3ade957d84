#include "worker_lib/src/nccl/background.hpp"

#include <memory>
#include <system_error>
#include <thread>

#include "rendezvous/base/signals_blocked.hpp"

namespace dlaunch::worker::nccl {

std::shared_future<void> run_in_background(std::function<void()> work) {
    const auto task = std::make_shared<std::packaged_task<void()>>(std::move(work));
    const std::shared_future<void> ended = task->get_future().share();
    const base::SignalsBlocked for_the_new_thread;
    try {
        std::thread([task] { (*task)(); }).detach();
    } catch (const std::system_error&) {
        (*task)();
    }
    return ended;
}

}  // namespace dlaunch::worker::nccl
