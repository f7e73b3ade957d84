#include "worker_lib/src/core/work_state.hpp"

#include <cstdio>

#include "worker_lib/src/core/group.hpp"

namespace dlaunch::worker {

bool WorkState::wait_until(Time deadline) {
    std::unique_lock lock(mutex_);
    if (deadline == Time::max()) {  // condition_variable::wait_until() overflows on Time::max()
        changed_.wait(lock, [&] { return done_; });
        return true;
    }
    return changed_.wait_until(lock, deadline, [&] { return done_; });
}

void WorkState::join() {
    while (!wait_until(Time::max())) {}
}

bool WorkState::done() {
    const std::lock_guard lock(mutex_);
    return done_;
}

void WorkState::check_process() const {
    if (is_same_process()) return;
    throw Error(ErrorCode::invalid_argument, "Work: this process is a fork of the one that began the call");
}

void WorkState::rethrow() {
    std::exception_ptr error;
    {
        const std::lock_guard lock(mutex_);
        reported_ = true;
        error = error_;
    }
    if (error) std::rethrow_exception(error);
}

Received WorkState::received() const {
    const std::lock_guard lock(mutex_);
    return received_;
}

void WorkState::finish(std::exception_ptr error) {
    const std::lock_guard lock(mutex_);
    if (done_) return;
    done_ = true;
    error_ = std::move(error);
    changed_.notify_all();
}

void WorkState::finish(Received received) {
    const std::lock_guard lock(mutex_);
    if (done_) return;
    done_ = true;
    received_ = received;
    changed_.notify_all();
}

void WorkState::will_receive(Received received) {
    const std::lock_guard lock(mutex_);
    received_ = received;
}

void WorkState::abandon(const std::function<void()>& abort) noexcept {
    const bool unwinding = std::uncaught_exceptions() > 0;  // the exception in flight is the error to report
    try {
        if (unwinding && !done()) abort();
        join();
        if (!reported_ && !unwinding) rethrow();
    } catch (const std::exception& error) {
        std::fprintf(stderr, "dlaunch: a call failed whose Work was never waited for: %s\n", error.what());
    }
}

}  // namespace dlaunch::worker

namespace dlaunch {

namespace {

/// The reference that Work handles share: the last handle abandons the call. The backend's own reference does not
/// count. Each handle keeps the group alive.
std::shared_ptr<worker::WorkState> handle(std::shared_ptr<worker::WorkState> state,
                                          std::shared_ptr<worker::Group> group) {
    worker::WorkState* raw = state.get();
    raw->bind_to_process();
    return {raw, [state = std::move(state), group = std::move(group)](worker::WorkState* call) {
                if (!call->is_same_process()) return;
                call->abandon([&] {
                    if (group) group->abort("a Work was destroyed by an exception");
                });
            }};
}

}  // namespace

Work::Work() = default;
Work::Work(std::shared_ptr<worker::WorkState> state, std::shared_ptr<worker::Group> group)
    : state_(handle(std::move(state), std::move(group))) {}
Work::~Work() = default;

void Work::wait() {
    if (!state_) return;
    state_->check_process();
    state_->join();
    state_->rethrow();
}

bool Work::wait_for(std::chrono::nanoseconds duration) {
    if (!state_) return true;
    state_->check_process();
    if (!state_->wait_until(worker::after(duration))) return false;
    state_->rethrow();
    return true;
}

bool Work::done() const { return !state_ || state_->done(); }
Received Work::received() const { return state_ ? state_->received() : Received{}; }

}  // namespace dlaunch
