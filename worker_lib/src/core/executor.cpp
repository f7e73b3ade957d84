#include "worker_lib/src/core/executor.hpp"

#include <csignal>

#include "rendezvous/base/signals_blocked.hpp"

namespace dlaunch::worker {

Executor::~Executor() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
        work_available_.notify_all();
    }
    if (thread_.joinable()) thread_.join();
}

void Executor::finish_turn() {
    // Both counters are seq_cst: a ticket taken after this comparison sees now_serving_ and does not sleep, so that the
    // uncontended path needs no lock and no wake-up.
    if (++now_serving_ == next_ticket_) return;
    const std::lock_guard lock(mutex_);
    my_turn_.notify_all();
}

void Executor::start(std::shared_ptr<WorkState> state, Job job) {
    const std::lock_guard lock(mutex_);
    if (!thread_.joinable()) {
        const base::SignalsBlocked for_the_new_thread;  // signals are delivered to the program's own threads
        thread_ = std::thread([this] { serve(); });
    }
    items_.push_back({next_ticket_++, std::move(state), std::move(job)});
    work_available_.notify_all();
}

void Executor::serve() {
    for (std::unique_lock lock(mutex_);;) {
        work_available_.wait(lock, [&] { return stopping_ || !items_.empty(); });
        if (items_.empty()) return;
        Item item = std::move(items_.front());
        items_.pop_front();
        my_turn_.wait(lock, [&] { return now_serving_ == item.ticket; });
        lock.unlock();
        std::exception_ptr error;
        try {
            item.job();
        } catch (...) {
            error = std::current_exception();
        }
        item.state->finish(
            std::move(error));  // before finish_turn(): calls must complete in the order of their tickets
        finish_turn();
        item = {};
        lock.lock();
    }
}

}  // namespace dlaunch::worker
