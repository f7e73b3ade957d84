#include "worker_lib/src/core/work_state.hpp"

#include <cstdio>

#include "worker_lib/src/core/group.hpp"

namespace dlaunch::worker {

bool WorkState::wait_until(Time deadline) {
    std::unique_lock lock(mutex_);
    if (deadline == Time::max()) {  // which wait_until() of the library would overflow
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
    if (is_from_here()) return;
    throw Error(ErrorCode::invalid_argument, "Work: this process is a fork of the one that began the call");
}

void WorkState::rethrow() {
    std::exception_ptr error;
    {
        const std::lock_guard lock(mutex_);
        told_ = true;
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
    const bool thrown_away = std::uncaught_exceptions() > 0;  // then that exception is the story
    try {
        if (thrown_away && !done()) abort();
        join();
        if (!told_ && !thrown_away) rethrow();
    } catch (const std::exception& error) {
        std::fprintf(stderr, "dlaunch: nobody waited for this call: %s\n", error.what());
    }
}

}  // namespace dlaunch::worker

namespace dlaunch {

namespace {

/// The handles' share of a call: what the last of them leaves is abandoned. The backend's own share is not counted. As
/// long as there is a handle the group lives.
std::shared_ptr<worker::WorkState> handle(std::shared_ptr<worker::WorkState> state,
                                          std::shared_ptr<worker::Group> group) {
    worker::WorkState* raw = state.get();
    raw->made_here();
    return {raw, [state = std::move(state), group = std::move(group)](worker::WorkState* call) {
                if (!call->is_from_here()) return;
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
