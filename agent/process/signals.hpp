#pragma once
/// Signals of the agent: blocked in all threads, read from descriptors, and reported once per request.

#include <signal.h>
#include <sys/signalfd.h>

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "agent/process/guard.hpp"
#include "agent/process/signal_copies.hpp"
#include "rendezvous/base/fd.hpp"
#include "rendezvous/base/loop.hpp"

namespace dlaunch::agent {

/// All signals except KILL, STOP and those that faults raise.
[[nodiscard]] sigset_t taken_signals();

/// Signals that dlaunch ignores unless they are in --signals-to-handle: SIGPIPE, SIGWINCH, SIGTTIN and the like.
[[nodiscard]] bool is_ignorable(int number);

/// The effect of a signal that ends the job.
enum class SignalEffect : unsigned char {
    asked,    ///< the workers receive the signal, and have the grace time
    already,  ///< the workers are being stopped already, for another reason
    at_once,  ///< kill the workers
};
/// The line for the user.
[[nodiscard]] std::string ending_message(SignalEffect effect, const std::string& signal_name, int workers,
                                         std::chrono::milliseconds grace);

/// Merges copies of a request. Schedulers, systemd and `pkill dlaunch` signal both guard and agent, in any order, and
/// SLURM sends SIGTERM, SIGCONT and SIGTERM within 10 ms at a time limit; the job must see one request. A second
/// signal to dlaunch alone is a second request, however soon: a program that sends it may have seen the first one's
/// effect. No I/O, no clock.
class Requests {
public:
    enum class Way : unsigned char { guard, own };
    static constexpr auto kSameWithin =
        std::chrono::milliseconds(100);  ///< another signal of the same request: SIGTERM, then SIGHUP
    static constexpr auto kRepeatedWithin = std::chrono::milliseconds(15);  ///< the same signal, behind SIGCONT
    static constexpr auto kForAllWithin = std::chrono::milliseconds(1000);  ///< the same to every process

    explicit Requests(std::vector<int> ending) : ending_(std::move(ending)) {}

    /// Removes copies of earlier requests from signals that arrived together by one way.
    [[nodiscard]] sigset_t fresh(const sigset_t& came, Way way, base::Time now);
    /// The agent itself received a signal: the sender probably signalled every process, including the workers.
    [[nodiscard]] bool came_to_all(base::Time now) const { return now - own_at_ < kForAllWithin; }
    [[nodiscard]] bool ends(int number) const;

private:
    [[nodiscard]] bool is_same_request(int number, base::Time now) const;

    std::vector<int> ending_;          ///< the signals that end the job
    SignalCopies copies_;              ///< by the other way
    std::map<int, base::Time> asked_;  ///< the latest requests by number
    base::Time ending_at_{}, own_at_{}, continued_at_{};
};

/// Receives signals from two sources: the guard, which the terminal and users signal, and the kernel, for signals to
/// the agent itself.
class SignalIntake {
public:
    struct Handlers {
        std::function<void(int)> sent_to_workers;      ///< by the sender of the request that follows; may be empty
        std::function<void(const sigset_t&)> signals;  ///< one request, without SIGCHLD
        std::function<void()> child;                   ///< SIGCHLD: a descendant exited or stopped
        std::function<void()> guard_died;              ///< called once
    };
    /// `link` must outlive this object. taken_signals() must be blocked. The signals in `ending` end the job.
    SignalIntake(base::Loop& loop, GuardLink& link, std::vector<int> ending, Handlers handlers);

    /// Whether the signal ends the job.
    [[nodiscard]] bool ends_job(int number) const { return requests_.ends(number); }
    /// A signal that ends the job is pending: other events of this turn may follow from it.
    [[nodiscard]] bool is_asked() const;
    /// The workers have probably received the request, too.
    [[nodiscard]] bool came_to_all() const { return is_asked() || requests_.came_to_all(base::Clock::now()); }

private:
    void read_own();
    void read_link();
    void forward(const sigset_t& set, Requests::Way way);
    void note_sender(const signalfd_siginfo& got);
    [[nodiscard]] bool is_external(const signalfd_siginfo& got) const;

    GuardLink& link_;
    Requests requests_;
    Handlers handlers_;
    base::UniqueFd fd_;
    base::Watch own_watch_, link_watch_;
};

}  // namespace dlaunch::agent
