#include "worker_lib/src/nccl/work.hpp"

#include <algorithm>
#include <thread>

namespace dlaunch::worker::nccl {

StreamWork::~StreamWork() {
    const Gpu::InUse in_use(gpu_, std::nothrow);
    end_.reset();
}

bool StreamWork::wait_until(Time until) {
    using namespace std::chrono_literals;
    for (auto pause = 5us; !done(); pause = std::min(pause * 3 / 2, 200us)) {
        if (Clock::now() >= until) return false;
        std::this_thread::sleep_for(pause);
    }
    return true;
}

void StreamWork::join() {
    if (WorkState::done()) return;
    try {
        const Gpu::InUse in_use(gpu_);
        // A graph cannot wait for an event from outside of its capture.
        if (why_captured(callers_))
            wait_until(Time::max());
        else
            end_->make_wait(callers_);
    } catch (...) {
        finish(std::current_exception());
    }
}

bool StreamWork::done() {
    if (WorkState::done()) return true;
    if (!recorded_ || doomed_) return false;
    try {
        const Gpu::InUse in_use(gpu_);
        if (!end_->completed() || doomed_) return false;
        finish();
    } catch (...) {
        finish(std::current_exception());
    }
    return true;
}

}  // namespace dlaunch::worker::nccl
