#include <dlaunch/worker.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <mutex>
#include <semaphore>
#include <thread>
#include <vector>

#include "rendezvous/base/signal_names.hpp"
#include "rendezvous/base/signals_blocked.hpp"
#include "worker_lib/src/bootstrap/environment.hpp"
#include "worker_lib/src/process/error_record.hpp"

namespace dlaunch {
namespace {

constexpr int kWriteTimeoutMs = 1000;       // for an agent that is slow to read
constexpr std::size_t kLongestScope = 500;  // in bytes, each of which may be six in JSON

/// Writes a line to the agent's timer FIFO. The kernel writes lines shorter than PIPE_BUF atomically.
void write_timer(const std::string& scope, double expires, int signal) {
    const auto path = worker::variable("TORCHELASTIC_TIMER_FILE");
    if (!path) return;
    // Opened for reading too, so that a write raises no SIGPIPE when the agent closes its end.
    const int fifo = open(path->c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (fifo < 0) return;  // the agent is gone
    const std::string line =
        fmt::format(R"({{"version": 1, "pid": {}, "scope_id": {}, "expiration_time": {:.3f}, "signal": {}}})", getpid(),
                    worker::json_string(scope.substr(0, kLongestScope)), expires, signal) +
        "\n";
    // Wait for space: if the end of a section is lost, the agent takes the worker for hung.
    pollfd writable{fifo, POLLOUT, 0};
    ssize_t written = -1;
    while ((written = write(fifo, line.data(), line.size())) < 0 && errno == EAGAIN &&
           poll(&writable, 1, kWriteTimeoutMs) > 0) {}
    if (written < 0) fmt::print(stderr, "dlaunch: the timer file is full, section {} is not watched\n", scope);
    close(fifo);
}

double seconds_from_now(std::chrono::milliseconds time) {
    using Seconds = std::chrono::duration<double>;  // floating point cannot overflow here
    return (Seconds(std::chrono::system_clock::now().time_since_epoch()) + Seconds(time)).count();
}

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
    write_timer(name_, seconds_from_now(timeout), SIGKILL);
}
Section::~Section() { write_timer(name_, -1, 0); }

void heartbeat(std::chrono::milliseconds next) { write_timer("heartbeat", seconds_from_now(next), SIGKILL); }

}  // namespace dlaunch
