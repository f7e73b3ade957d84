#include "worker_lib/src/gloo/submissions.hpp"

#include <sys/eventfd.h>

#include <algorithm>
#include <system_error>

#include "worker_lib/src/gloo/mesh.hpp"

namespace dlaunch::worker::gloo_backend {

Submissions::Submissions(gloo::transport::tcp::Device& device) : wakes_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (wakes_.get() < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
    device.registerDescriptor(wakes_.get(), EPOLLIN, this);
}

void Submissions::submit() {
    if (added_.empty()) return;
    bool idle = false;
    {
        const std::lock_guard lock(mutex_);
        idle = submitted_.empty();
        if (!stopped_) submitted_.insert(submitted_.end(), added_.begin(), added_.end());
    }
    added_.clear();
    if (idle) eventfd_write(wakes_.get(), 1);
}

void Submissions::forget(const Flow& flow) {
    const auto of_flow = [&](const Item& item) { return item.flow == &flow; };
    std::erase_if(added_, of_flow);
    {
        const std::lock_guard lock(mutex_);
        std::erase_if(submitted_, of_flow);
    }
    const std::lock_guard until_begun(at_work_);
}

void Submissions::stop() {
    {
        const std::lock_guard lock(mutex_);
        stopped_ = true;
        submitted_.clear();
    }
    const std::lock_guard until_begun(at_work_);
}

void Submissions::handleEvents(int) {
    eventfd_t ignored;
    eventfd_read(wakes_.get(), &ignored);
    for (;;) {
        std::unique_lock lock(mutex_);
        if (submitted_.empty()) return;
        const Item item = submitted_.front();
        submitted_.pop_front();
        const std::lock_guard at_work(at_work_);
        lock.unlock();
        item.flow->begin_now(item.offset, item.bytes);
    }
}

}  // namespace dlaunch::worker::gloo_backend
