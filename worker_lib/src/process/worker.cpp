#include <dlaunch/worker.hpp>

#include <fmt/format.h>
#include <pthread.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <mutex>
#include <semaphore>
#include <thread>
#include <vector>

#include "rendezvous/base/signal_names.hpp"
#include "rendezvous/base/signals_blocked.hpp"
#include "worker_lib/src/bootstrap/environment.hpp"
#include "worker_lib/src/process/deadlines.hpp"

namespace dlaunch {
namespace {

// --- stopping --------------------------------------------------------------------------------------------------------

/// State of on_stop(). Never destroyed: its thread may use it while the process ends.
struct Stop {
    std::mutex mutex;
    std::function<void()> function;
    std::vector<int> signals;
    bool listening = false;
    std::atomic<bool> requested{false};
    std::binary_semaphore wakeup{0};  // release() is async-signal-safe: an atomic store and a futex call
};
std::atomic<Stop*> stop{nullptr};

void on_signal(int) {
    Stop& own = *stop.load();
    if (!own.requested.exchange(true)) own.wakeup.release();
}

/// Restores the default dispositions in a forked child, which has no thread to run the callback.
void reset_in_child() {
    Stop* const before = stop.exchange(nullptr);
    if (!before) return;
    for (const int number : before->signals) {
        struct sigaction now {};
        sigaction(number, nullptr, &now);
        if (now.sa_handler == on_signal) std::signal(number, SIG_DFL);
    }
}
[[maybe_unused]] const int kInChildren = pthread_atfork(nullptr, nullptr, reset_in_child);

/// SIGTERM, sent after a failure of another worker, and --stop-signal, sent when the job is stopped.
std::vector<int> stop_signals() {
    const auto name = worker::variable("DLAUNCH_WORKER_STOP_SIGNAL");
    return {SIGTERM, name ? base::signal_number(*name).value_or(SIGTERM) : SIGTERM};
}

Stop& stop_state() {
    if (!stop) {
        Stop* none = nullptr;
        const auto fresh = new Stop{.signals = stop_signals()};
        if (!stop.compare_exchange_strong(none, fresh)) delete fresh;
    }
    return *stop;
}

}  // namespace

int restart_count() { return worker::integer_variable("TORCHELASTIC_RESTART_COUNT").value_or(0); }

void on_stop(std::function<void()> function) {
    Stop& own = stop_state();
    const std::lock_guard lock(own.mutex);
    own.function = std::move(function);
    for (const int number : own.signals) std::signal(number, own.function ? on_signal : SIG_DFL);
    if (own.listening || !own.function) return;
    own.listening = true;
    const base::SignalsBlocked for_the_new_thread;
    std::thread([&own] {
        own.wakeup.acquire();
        std::function<void()> chosen;
        {
            const std::lock_guard inner(own.mutex);
            chosen = own.function;
        }
        try {
            if (chosen) chosen();
        } catch (const std::exception& error) {
            fmt::print(stderr, "dlaunch: the callback of on_stop() threw: {}\n", error.what());
        } catch (...) {
            fmt::print(stderr, "dlaunch: the callback of on_stop() threw\n");
        }
    }).detach();
}

bool is_stopping() { return stop && stop.load()->requested; }

Section::Section(const std::string& name, std::chrono::milliseconds timeout) : name_(name) {
    worker::set_deadline(name_, timeout);
}
Section::~Section() { worker::clear_deadline(name_); }

void heartbeat(std::chrono::milliseconds next) { worker::set_deadline("heartbeat", next); }

}  // namespace dlaunch
