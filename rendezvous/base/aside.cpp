#include "rendezvous/base/aside.hpp"

#include <sys/eventfd.h>

#include <csignal>
#include <mutex>
#include <system_error>
#include <thread>

#include "rendezvous/base/fd.hpp"
#include "rendezvous/base/signals_blocked.hpp"

namespace dlaunch::base {
namespace {

/// Shared by both threads; freed by the one that ends last.
struct Shared {
    Aside::Work work;
    UniqueFd event{eventfd(0, EFD_CLOEXEC)};
    std::mutex mutex;
    std::function<void()> next;

    void run() {
        auto found = work();
        work = nullptr;
        {
            const std::lock_guard lock(mutex);
            next = std::move(found);
        }
        eventfd_write(event.get(), 1);
    }
    std::function<void()> take() {
        const std::lock_guard lock(mutex);
        return std::move(next);
    }
};

/// The thread blocks every signal: signals belong to the main thread.
void run_in_thread(const std::shared_ptr<Shared>& shared) {
    const SignalsBlocked for_the_new_thread;
    try {
        std::thread([shared] { shared->run(); }).detach();
    } catch (const std::system_error&) {  // no more threads: block the loop instead
        shared->run();
    }
}

}  // namespace

struct Aside::State {
    std::shared_ptr<Shared> shared = std::make_shared<Shared>();
    Watch watch;
};

Aside::Aside() = default;
Aside::Aside(Aside&&) noexcept = default;
Aside& Aside::operator=(Aside&&) noexcept = default;
Aside::~Aside() = default;

Aside::Aside(Loop& loop, Work work) : state_(std::make_unique<State>()) {
    state_->shared->work = std::move(work);
    if (!state_->shared->event) {
        loop.post(state_->shared->work());
        return;
    }
    run_in_thread(state_->shared);
    state_->watch = loop.readable(state_->shared->event.get(), [state = state_.get()] {
        const auto next = state->shared->take();
        state->watch = {};
        if (next) next();  // may destroy the Aside
    });
}

}  // namespace dlaunch::base
