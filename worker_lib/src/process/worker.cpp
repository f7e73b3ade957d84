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
#include "worker_lib/src/meeting/environment.hpp"
#include "worker_lib/src/process/error_record.hpp"

namespace dlaunch {
namespace {

constexpr int kPatienceMs = 1000;           // for an agent that has no time to read
constexpr std::size_t kLongestScope = 500;  // in bytes, each of which may be six in JSON

/// A line for the agent's timers. Lines shorter than PIPE_BUF are never mixed with others'.
void tell_timers(const std::string& scope, double expires, int signal) {
    const auto path = worker::variable("TORCHELASTIC_TIMER_FILE");
    if (!path) return;
    // For reading too: a pipe that its agent leaves in this moment must not kill us.
    const int fifo = open(path->c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (fifo < 0) return;  // the agent has gone: there is nobody to tell
    const std::string line =
        fmt::format(R"({{"version": 1, "pid": {}, "scope_id": {}, "expiration_time": {:.3f}, "signal": {}}})", getpid(),
                    worker::json_string(scope.substr(0, kLongestScope)), expires, signal) +
        "\n";
    // The end of a section must not be lost, or its worker would be taken for hung.
    pollfd room{fifo, POLLOUT, 0};
    ssize_t written = -1;
    while ((written = write(fifo, line.data(), line.size())) < 0 && errno == EAGAIN &&
           poll(&room, 1, kPatienceMs) > 0) {}
    if (written < 0) fmt::print(stderr, "dlaunch: the timer file is full, section {} is not watched\n", scope);
    close(fifo);
}

double seconds_from_now(std::chrono::milliseconds time) {
    using Seconds = std::chrono::duration<double>;  // in which no time is too long
    return (Seconds(std::chrono::system_clock::now().time_since_epoch()) + Seconds(time)).count();
}

// --- stopping --------------------------------------------------------------------------------------------------------

/// Never destroyed, as its thread may be at it when the process ends.
struct Stop {
    std::mutex mutex;
    std::function<void()> function;
    std::vector<int> signals;
    bool listening = false;
    std::atomic<bool> is_told{false};
    std::binary_semaphore told{0};  // release() is safe in a handler: it is a futex
};
std::atomic<Stop*> stop{nullptr};

void on_signal(int) {
    Stop& own = *stop.load();
    if (!own.is_told.exchange(true)) own.told.release();
}

/// In a forked child, which has no thread to run the callback: there the signals end the process again.
void begin_anew() {
    Stop* const before = stop.exchange(nullptr);
    if (!before) return;
    for (const int number : before->signals) {
        struct sigaction now {};
        sigaction(number, nullptr, &now);
        if (now.sa_handler == on_signal) std::signal(number, SIG_DFL);
    }
}
[[maybe_unused]] const int kInChildren = pthread_atfork(nullptr, nullptr, begin_anew);

/// The launcher's own, after a failure elsewhere; and the one that it passes on when somebody stops it.
std::vector<int> stop_signals() {
    const auto name = worker::variable("DLAUNCH_WORKER_STOP_SIGNAL");
    return {SIGTERM, name ? base::signal_number(*name).value_or(SIGTERM) : SIGTERM};
}

Stop& stop_of_this_process() {
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
    Stop& own = stop_of_this_process();
    const std::lock_guard lock(own.mutex);
    own.function = std::move(function);
    for (const int number : own.signals) std::signal(number, own.function ? on_signal : SIG_DFL);
    if (own.listening || !own.function) return;
    own.listening = true;
    const base::SignalsBlocked for_the_new_thread;
    std::thread([&own] {
        own.told.acquire();
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

bool is_stopping() { return stop && stop.load()->is_told; }

Section::Section(const std::string& name, std::chrono::milliseconds timeout) : name_(name) {
    tell_timers(name_, seconds_from_now(timeout), SIGKILL);
}
Section::~Section() { tell_timers(name_, -1, 0); }

void heartbeat(std::chrono::milliseconds next) { tell_timers("heartbeat", seconds_from_now(next), SIGKILL); }

}  // namespace dlaunch
