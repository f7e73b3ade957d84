#include "rendezvous/base/background.hpp"

#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>

#include "rendezvous/base/signals_blocked.hpp"

namespace dlaunch::base {
namespace {

constexpr auto kTryAgain = std::chrono::milliseconds(100);  // pause at the limit of processes

std::atomic<int> threads = 0;  ///< of this process

}  // namespace

/// Shared by both threads; freed by the one that ends last. The thread posts its result, because a post needs no
/// descriptor.
struct Background::Shared {
    Work work;
    std::mutex mutex;
    Loop* loop;  ///< null: the Background is gone
    std::function<void()> next;

    Shared(Loop& serves, Work does) : work(std::move(does)), loop(&serves) {}

    void run(const std::shared_ptr<Shared>& self) {
        auto found = work();
        work = nullptr;
        const std::lock_guard lock(mutex);
        if (!loop) return;
        next = std::move(found);
        loop->post([self] { self->deliver(); });
    }
    /// On the loop's thread.
    void deliver() {
        if (!loop || !next) return;
        const auto call = std::move(next);
        call();  // may destroy the Background
    }
    void close() {
        std::function<void()> dropped;  // destroyed after the lock
        const std::lock_guard lock(mutex);
        loop = nullptr;
        dropped = std::move(next);
    }
};

struct Background::State {
    std::shared_ptr<Shared> shared;
    Timer again;

    State(Loop& loop, Work work) : shared(std::make_shared<Shared>(loop, std::move(work))) {}
    State(const State&) = delete;
    State& operator=(const State&) = delete;
    ~State() { shared->close(); }

    void start(Loop& loop);
    [[nodiscard]] std::optional<std::error_code> start_thread();
};

/// The thread blocks every signal: signals belong to the main thread. At the limit of processes the loop tries again
/// later, when other processes may have exited. Where threads are forbidden altogether, as by a seccomp filter, the
/// loop runs the work.
void Background::State::start(Loop& loop) {
    const auto refusal = start_thread();
    if (!refusal) return;
    if (*refusal == std::errc::resource_unavailable_try_again)
        again = loop.after(kTryAgain, [this, &loop] { start(loop); });
    else
        shared->run(shared);
}

/// The error of a thread that could not be started; none: the thread runs.
std::optional<std::error_code> Background::State::start_thread() {
    const SignalsBlocked for_the_new_thread;
    try {
        ++threads;
        std::thread([shared = shared] {
            shared->run(shared);
            --threads;
        }).detach();
        return std::nullopt;
    } catch (const std::system_error& refused) {
        --threads;
        return refused.code();
    }
}

bool Background::any_thread() { return threads > 0; }

Background::Background() = default;
Background::Background(Background&&) noexcept = default;
Background& Background::operator=(Background&&) noexcept = default;
Background::~Background() = default;

Background::Background(Loop& loop, Work work) : state_(std::make_unique<State>(loop, std::move(work))) {
    state_->start(loop);
}

}  // namespace dlaunch::base
