#include "agent/process/signals.hpp"

#include <fmt/format.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "agent/process/proc.hpp"

namespace dlaunch::agent {
namespace {

/// Under nohup SIGHUP has no effect.
std::vector<int> without_hangup(std::vector<int> ending) {
    std::erase(ending, SIGHUP);
    return ending;
}

}  // namespace

sigset_t taken_signals() {
    sigset_t set;
    sigfillset(&set);
    for (int number : {SIGKILL, SIGSTOP, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS})
        sigdelset(&set, number);
    return set;
}

bool is_ignorable(int number) {
    constexpr int kThese[] = {SIGPIPE, SIGTTIN, SIGTTOU, SIGURG, SIGWINCH, SIGXFSZ};
    return std::find(std::begin(kThese), std::end(kThese), number) != std::end(kThese);
}

bool Requests::ends(int number) const { return std::find(ending_.begin(), ending_.end(), number) != ending_.end(); }

bool Requests::is_same_request(int number, base::Time now) const {
    const auto earlier = asked_.find(number);
    if (earlier == asked_.end()) return false;
    const auto since = now - earlier->second;
    if (came_to_all(now)) return since < kForAllWithin;
    return continued_at_ + kRepeatedWithin > earlier->second && since < kRepeatedWithin;
}

sigset_t Requests::fresh(const sigset_t& came, Way way, base::Time now) {
    sigset_t found;
    sigemptyset(&found);
    bool asks = false;
    if (sigismember(&came, SIGCONT) == 1) continued_at_ = now;
    for (int number = 1; number < NSIG; ++number) {
        if (sigismember(&came, number) != 1) continue;
        if (way == Way::own && ends(number)) own_at_ = now;
        if (copies_.is_copy(number, static_cast<int>(way), now)) continue;
        if (ends(number) && is_same_request(number, now)) continue;
        if (ends(number)) asked_[number] = now;
        asks = asks || ends(number);
        sigaddset(&found, number);
    }
    // A sender may signal all processes one after the other, and the guard collects its signals for a moment.
    const bool follows = asks && way == Way::own && now - ending_at_ < kSameWithin;
    if (asks && !follows) ending_at_ = now;
    for (int number = 1; follows && number < NSIG; ++number)
        if (ends(number)) sigdelset(&found, number);
    return found;
}

std::string ending_message(SignalEffect effect, const std::string& signal_name, int workers,
                           std::chrono::milliseconds grace) {
    const std::string all = fmt::format("{} worker{}", workers, workers == 1 ? "" : "s");
    if (effect == SignalEffect::already)
        return signal_name + " received, already ending (a second signal kills the workers at once)";
    if (effect == SignalEffect::at_once)
        return signal_name + (workers == 0 ? " again, ending at once" : " again, killing " + all);
    if (workers == 0) return signal_name + " received, ending";
    return fmt::format("{} received, ending the job (SIGKILL after {:g} s, or at a second signal)", signal_name,
                       static_cast<double>(grace.count()) / 1e3);
}

SignalIntake::SignalIntake(base::Loop& loop, GuardLink& link, std::vector<int> ending, Handlers handlers)
    : link_(link),
      requests_(link.hangup_ignored() ? without_hangup(std::move(ending)) : std::move(ending)),
      handlers_(std::move(handlers)) {
    const sigset_t taken = taken_signals();
    fd_.reset(signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK));
    own_watch_ = loop.readable(fd_.get(), [this] { read_own(); });
    link_watch_ = loop.readable(link_.fd(), [this] { read_link(); });
}

/// False for the guard's SIGCONT, which wakes a stopped agent, and the kernel's, which reports the guard's death:
/// neither is for the workers.
bool SignalIntake::is_external(const signalfd_siginfo& got) const {
    return got.ssi_code == SI_USER && static_cast<pid_t>(got.ssi_pid) != link_.guard();
}

/// The agent is in a process group of its own, so a slurmstepd that signals it walks over all processes of the step, as
/// with proctrack/linuxproc. With proctrack/cgroup it signals only those that it has started.
void SignalIntake::note_sender(const signalfd_siginfo& got) {
    constexpr std::string_view kSlurm = "slurmstepd";
    if (handlers_.sent_to_workers && got.ssi_signo != SIGCONT && is_external(got) && proc_is_ours() &&
        name_of(static_cast<pid_t>(got.ssi_pid)) == kSlurm)
        handlers_.sent_to_workers(static_cast<int>(got.ssi_signo));
}

void SignalIntake::read_own() {
    bool child = false;
    sigset_t set;
    sigemptyset(&set);
    signalfd_siginfo got{};
    while (read(fd_.get(), &got, sizeof got) == static_cast<ssize_t>(sizeof got)) {
        note_sender(got);
        if (got.ssi_signo == SIGCHLD)
            child = true;
        else if (got.ssi_signo != SIGCONT || is_external(got))
            sigaddset(&set, static_cast<int>(got.ssi_signo));
    }
    forward(set, Requests::Way::own);
    if (child) handlers_.child();
}

void SignalIntake::read_link() {
    read_own();  // signals to the agent itself that precede the guard's copy are the same request
    for (;;) {
        const GuardLink::Received received = link_.receive();
        if (received.kind == GuardLink::Kind::nothing) return;
        if (received.kind == GuardLink::Kind::guard_died) {
            link_watch_ = {};
            handlers_.guard_died();
            return;
        }
        forward(received.signals, Requests::Way::guard);
    }
}

void SignalIntake::forward(const sigset_t& set, Requests::Way way) {
    const sigset_t fresh = requests_.fresh(set, way, base::Clock::now());
    if (!sigisemptyset(&fresh)) handlers_.signals(fresh);
}

bool SignalIntake::is_asked() const {
    sigset_t pending;
    if (sigpending(&pending) != 0) return false;
    for (int number = 1; number < NSIG; ++number)
        if (sigismember(&pending, number) == 1 && requests_.ends(number)) return true;
    return false;
}

}  // namespace dlaunch::agent
