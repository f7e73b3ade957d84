#include <dlaunch/worker.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <mutex>
#include <semaphore>
#include <set>
#include <thread>

#include "rendezvous/base/signal_names.hpp"
#include "rendezvous/base/signals_blocked.hpp"
#include "worker_lib/src/meeting/environment.hpp"
#include "worker_lib/src/process/error_record.hpp"

namespace dlaunch {
namespace {

/// A line for the agent's timers. Lines shorter than PIPE_BUF are never mixed with others'.
void tell_timers(const std::string& scope, double expires, int signal) {
    const auto path = worker::variable("TORCHELASTIC_TIMER_FILE");
    if (!path) return;
    // For reading too: a pipe that its agent leaves in this moment must not kill us.
    const int fifo = open(path->c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (fifo < 0) return;  // the agent has gone: there is nobody to tell
    const std::string line =
        fmt::format(R"({{"version": 1, "pid": {}, "scope_id": {}, "expiration_time": {:.3f}, "signal": {}}})", getpid(),
                    worker::json_string(scope), expires, signal) +
        "\n";
    if (write(fifo, line.data(), line.size()) < 0)
        fmt::print(stderr, "dlaunch: the timer file is full, section {} is not watched\n", scope);
    close(fifo);
}

double seconds_from_now(std::chrono::milliseconds time) {
    return std::chrono::duration<double>((std::chrono::system_clock::now() + time).time_since_epoch()).count();
}

// --- stopping --------------------------------------------------------------------------------------------------------

std::atomic<bool> stopping{false};
std::binary_semaphore told{0};  // release() is safe in a handler: it is a futex

/// Never destroyed, as its thread may be at it when the process ends.
struct Callback {
    std::mutex mutex;
    std::function<void()> function;
    bool listening = false;
};
Callback& callback() {
    static Callback& only = *new Callback;
    return only;
}

void on_signal(int) {
    if (!stopping.exchange(true)) told.release();
}

/// The launcher's own, after a failure elsewhere; and the one that it passes on when somebody stops it.
std::set<int> stop_signals() {
    const auto name = worker::variable("DLAUNCH_WORKER_STOP_SIGNAL");
    return {SIGTERM, name ? base::signal_number(*name).value_or(SIGTERM) : SIGTERM};
}

}  // namespace

int restart_count() { return worker::integer_variable("TORCHELASTIC_RESTART_COUNT").value_or(0); }

void on_stop(std::function<void()> function) {
    Callback& own = callback();
    const std::lock_guard lock(own.mutex);
    own.function = std::move(function);
    for (const int number : stop_signals()) std::signal(number, own.function ? on_signal : SIG_DFL);
    if (own.listening || !own.function) return;
    own.listening = true;
    const base::SignalsBlocked for_the_new_thread;
    std::thread([&own] {
        told.acquire();
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

bool is_stopping() { return stopping; }

Section::Section(const std::string& name, std::chrono::milliseconds timeout) : name_(name) {
    tell_timers(name_, seconds_from_now(timeout), SIGKILL);
}
Section::~Section() { tell_timers(name_, -1, 0); }

void heartbeat(std::chrono::milliseconds next) { tell_timers("heartbeat", seconds_from_now(next), SIGKILL); }

}  // namespace dlaunch
