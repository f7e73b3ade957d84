#pragma once
/// How signals come in: blocked everywhere, read from descriptors, told once.

#include <signal.h>
#include <sys/signalfd.h>

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "agent/process/guard.hpp"
#include "rendezvous/base/fd.hpp"
#include "rendezvous/base/loop.hpp"

namespace dlaunch::agent {

/// Every signal that can be waited for: all but KILL, STOP and those a program raises by its own faults.
[[nodiscard]] sigset_t taken_signals();

/// Not to a launcher, where nobody asks for it: its pipes, its window, its terminal.
[[nodiscard]] bool is_of_no_matter(int number);

/// How a signal ends the job.
enum class Ending : unsigned char {
    asked,    ///< the workers are asked to end, and have the grace
    already,  ///< they were asked before, but by no signal
    at_once,  ///< the grace is over
};
/// What the user reads of it.
[[nodiscard]] std::string ending_message(Ending ending, const std::string& signal_name, int workers,
                                         std::chrono::milliseconds grace);

/// Two ways in, one request: schedulers, systemd and `pkill dlaunch` signal guard and agent both, and it is asked once.
/// Which comes first is chance. No I/O, no clock.
class Requests {
public:
    enum class Way : unsigned char { guard, own };
    static constexpr auto kCopyWithin = std::chrono::milliseconds(500);     ///< of the other way's
    static constexpr auto kSameWithin = std::chrono::milliseconds(100);     ///< SIGTERM, and SIGHUP right behind it
    static constexpr auto kForAllWithin = std::chrono::milliseconds(1000);  ///< since a signal of our own

    explicit Requests(std::vector<int> ending) : ending_(std::move(ending)) {}

    /// Of signals that came together by one way those that ask for something that has not been asked for already.
    [[nodiscard]] sigset_t fresh(const sigset_t& came, Way way, base::Time now);
    /// The latest request came to the agent itself: whoever made it meant every process, workers too.
    [[nodiscard]] bool came_to_all(base::Time now) const { return now - own_at_ < kForAllWithin; }
    [[nodiscard]] bool ends(int number) const;

private:
    struct Single {
        base::Time at;
        Way way;
    };
    [[nodiscard]] bool is_copy(int number, Way way, base::Time now);
    [[nodiscard]] bool is_repeated(int number, base::Time now) const;

    std::vector<int> ending_;        ///< the signals that the user wants to end the job
    std::map<int, Single> singles_;  ///< by number: those of one way that the other has not brought yet
    base::Time ending_at_{}, own_at_{};
};

/// What the agent hears: from its guard, whom the terminal and whoever knows the job's pid signal, or sent to itself.
class SignalIntake {
public:
    struct Handlers {
        std::function<void(const sigset_t&)> signals;  ///< one request: anything but SIGCHLD
        std::function<void()> child;                   ///< SIGCHLD: something below us ended or stopped
        std::function<void()> guard_died;              ///< told once
    };
    /// `link` must outlive this. Signals of taken_signals() must be blocked. `ending` end the job.
    SignalIntake(base::Loop& loop, GuardLink& link, std::vector<int> ending, Handlers handlers);

    /// The user wants it to end the job.
    [[nodiscard]] bool ends_job(int number) const { return requests_.ends(number); }
    /// A request to end lies here, not read yet: what else is seen in this turn may follow from it.
    [[nodiscard]] bool is_asked() const;
    /// Workers have got the request, too.
    [[nodiscard]] bool came_to_all() const { return is_asked() || requests_.came_to_all(base::Clock::now()); }

private:
    void read_own();
    void read_link();
    void hand_on(const sigset_t& set, Requests::Way way);
    [[nodiscard]] bool is_from_somebody_else(const signalfd_siginfo& got) const;

    GuardLink& link_;
    Requests requests_;
    Handlers handlers_;
    base::UniqueFd fd_;
    base::Watch own_watch_, link_watch_;
};

}  // namespace dlaunch::agent
