#include "worker_lib/src/gloo/submission_queue.hpp"

#include <sys/eventfd.h>

#include <algorithm>
#include <system_error>

#include "worker_lib/src/gloo/gloo_mesh.hpp"

namespace dlaunch::worker::gloo_backend {

SubmissionQueue::SubmissionQueue(gloo::transport::tcp::Device& device)
    : wakeup_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (wakeup_.get() < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
    device.registerDescriptor(wakeup_.get(), EPOLLIN, this);
}

void SubmissionQueue::submit() {
    if (added_.empty()) return;
    bool idle = false;
    {
        const std::lock_guard lock(mutex_);
        idle = submitted_.empty();
        if (!stopped_) submitted_.insert(submitted_.end(), added_.begin(), added_.end());
    }
    added_.clear();
    if (idle) eventfd_write(wakeup_.get(), 1);
}

void SubmissionQueue::cancel(const GlooFlow& flow) {
    const auto of_flow = [&](const Item& item) { return item.flow == &flow; };
    std::erase_if(added_, of_flow);
    {
        const std::lock_guard lock(mutex_);
        std::erase_if(submitted_, of_flow);
    }
    const std::lock_guard until_begun(running_);
}

void SubmissionQueue::stop() {
    {
        const std::lock_guard lock(mutex_);
        stopped_ = true;
        submitted_.clear();
    }
    const std::lock_guard until_begun(running_);
}

void SubmissionQueue::handleEvents(int) {
    eventfd_t ignored;
    eventfd_read(wakeup_.get(), &ignored);
    for (;;) {
        std::unique_lock lock(mutex_);
        if (submitted_.empty()) return;
        const Item item = submitted_.front();
        submitted_.pop_front();
        const std::lock_guard running(running_);
        lock.unlock();
        item.flow->begin_now(item.offset, item.bytes);
    }
}

}  // namespace dlaunch::worker::gloo_backend
