#include "worker_lib/src/core/work_state.hpp"

#include <cstdio>
#include <utility>

#include "worker_lib/src/core/continuations.hpp"
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

void WorkState::finish_locked() {
    done_ = true;
    changed_.notify_all();
    for (const auto& bell : bells_) bell->ring();
}

void WorkState::add_bell(const std::shared_ptr<Bell>& bell) {
    const std::lock_guard lock(mutex_);
    bells_.push_back(bell);
}

void WorkState::remove_bell(const std::shared_ptr<Bell>& bell) {
    const std::lock_guard lock(mutex_);
    std::erase(bells_, bell);
}

void WorkState::finish(std::exception_ptr error) {
    const std::lock_guard lock(mutex_);
    if (done_) return;
    error_ = std::move(error);
    finish_locked();
}

void WorkState::finish(Received received) {
    const std::lock_guard lock(mutex_);
    if (done_) return;
    received_ = received;
    finish_locked();
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
    } catch (...) {
        std::fprintf(stderr, "dlaunch: a function of then() has thrown, and its Work was never waited for\n");
    }
}

}  // namespace dlaunch::worker

namespace dlaunch {

namespace {

/// The deleter of the reference that Work handles share: the last handle abandons the call. The backend's own reference
/// does not count. Each handle keeps the group alive, and that of a then() the handle of the call before it, whose
/// buffers are in use.
struct Abandon {
    std::shared_ptr<worker::WorkState> state;
    std::shared_ptr<worker::Group> group;
    std::shared_ptr<worker::WorkState> before;

    void operator()(worker::WorkState* call) const {
        if (!call->is_same_process()) return;
        call->abandon([this] {
            if (group) group->abort("a Work was destroyed by an exception");
        });
    }
};

std::shared_ptr<worker::WorkState> handle(Abandon shared) {
    worker::WorkState* raw = shared.state.get();
    raw->bind_to_process();
    return {raw, std::move(shared)};
}

/// The state behind a handle, by a reference that does not count as a handle.
std::shared_ptr<worker::WorkState> without_handle(const std::shared_ptr<worker::WorkState>& state) {
    const auto* handle = std::get_deleter<Abandon>(state);
    return handle ? handle->state : state;
}

/// The outcome of a function of then().
class Continued final : public worker::WorkState {
public:
    bool wait_until(worker::Time deadline) override {
        if (!done() && worker::Continuations::instance().is_current_thread())
            throw Error(ErrorCode::invalid_argument,
                        "Work: a function of then(), or a coroutine that waits for a Work, must not wait for another "
                        "function of then(), which runs in the same thread; continue that one with then()");
        return WorkState::wait_until(deadline);
    }
};

}  // namespace

Work::Work() = default;
Work::Work(std::shared_ptr<worker::WorkState> state, std::shared_ptr<worker::Group> group)
    : state_(handle({std::move(state), std::move(group), nullptr})) {}
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

Work Work::then_run(std::function<void(Work ended)> fn) const {
    if (state_) state_->check_process();
    const auto next = std::make_shared<Continued>();
    std::shared_ptr<worker::WorkState> call = without_handle(state_);
    if (!call) {
        call = std::make_shared<worker::WorkState>();
        call->bind_to_process();
        call->finish();
    }
    const auto* handle_of_call = std::get_deleter<Abandon>(state_);
    Work result;
    result.state_ = handle({next, handle_of_call ? handle_of_call->group : nullptr, state_});
    auto& continuations = worker::Continuations::instance();
    continuations.add(continuations.next_id(), call, [next, call, fn = std::move(fn)]() mutable {
        std::exception_ptr error;
        try {
            Work ended;
            ended.state_ = std::move(call);
            fn(std::move(ended));
        } catch (...) {
            error = std::current_exception();
        }
        fn = nullptr;  // destroys its captures before a wait() for it returns
        next->finish(std::move(error));
    });
    return result;
}

void Work::resume_later(std::uint64_t& continuation, std::function<void()> resume) const {
    state_->check_process();
    auto& continuations = worker::Continuations::instance();
    continuation = continuations.next_id();
    // The coroutine may go on in the other thread, and end, before add() returns.
    continuations.add(continuation, without_handle(state_), std::move(resume));
}

void Work::cancel(std::uint64_t continuation) { worker::Continuations::instance().cancel(continuation); }

void wait_all(std::span<Work> works) {
    std::exception_ptr first;
    for (Work& work : works) {
        try {
            work.wait();
        } catch (...) {  // of a function of then(): anything
            if (!first) first = std::current_exception();
        }
    }
    if (first) std::rethrow_exception(first);
}

std::optional<std::size_t> wait_any(std::span<Work> works) {
    /// Calls on device memory, and time-outs of messages, ring no bell: done() finds them.
    constexpr std::chrono::milliseconds kPollInterval{1};
    const auto bell = std::make_shared<worker::Bell>();
    struct Bells {
        ~Bells() {
            for (const auto& state : states) state->remove_bell(bell);
        }
        const std::shared_ptr<worker::Bell>& bell;
        std::vector<std::shared_ptr<worker::WorkState>> states{};
    } bells{bell};
    for (const Work& work : works) {
        if (!work.state_) continue;
        work.state_->check_process();
        bells.states.push_back(work.state_);
        work.state_->add_bell(bell);
    }
    while (!bells.states.empty()) {
        for (std::size_t i = 0; i < works.size(); ++i) {
            if (!works[i].state_ || !works[i].done()) continue;
            Work ended = std::exchange(works[i], Work());
            ended.wait();
            return i;
        }
        bell->wait_until(worker::after(kPollInterval));
    }
    return std::nullopt;
}

Received Work::received() const { return state_ ? state_->received() : Received{}; }

}  // namespace dlaunch
