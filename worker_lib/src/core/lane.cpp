#include "worker_lib/src/core/lane.hpp"

#include <csignal>

#include "rendezvous/base/signals_blocked.hpp"

namespace dlaunch::worker {

Lane::~Lane() {
    {
        const std::lock_guard lock(mutex_);
        ending_ = true;
        more_.notify_all();
    }
    if (thread_.joinable()) thread_.join();
}

void Lane::next() {
    if (++now_serving_ == next_ticket_) return;  // who takes a ticket from now on sees that it is his turn
    const std::lock_guard lock(mutex_);
    my_turn_.notify_all();
}

void Lane::start(std::shared_ptr<WorkState> state, Job job) {
    const std::lock_guard lock(mutex_);
    if (!thread_.joinable()) {
        // Signals are the program's threads' business.
        const base::SignalsBlocked for_the_new_thread;
        thread_ = std::thread([this] { serve(); });
    }
    items_.push_back({next_ticket_++, std::move(state), std::move(job)});
    more_.notify_all();
}

void Lane::serve() {
    for (std::unique_lock lock(mutex_);;) {
        more_.wait(lock, [&] { return ending_ || !items_.empty(); });
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
        item.state->finish(std::move(error));  // before the next one may begin, and so before it can be seen to be done
        next();
        item = {};
        lock.lock();
    }
}

}  // namespace dlaunch::worker
