#include "agent/process/coordinator_child.hpp"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <new>

#include "rendezvous/base/exit_status.hpp"

namespace dlaunch::agent {
namespace {

using namespace std::chrono_literals;

constexpr auto kMayTakeToStart = 2000ms;
constexpr auto kMayTakeToExit = 1000ms;  // without work left
constexpr auto kGuardWasLate = 300ms;    // the guard itself stalled, perhaps with the whole machine
constexpr auto kQuickEnd = 1000ms;
constexpr int kFreeRestarts = 5;  // in a row; a pause before each further one
constexpr auto kPause = 50ms;
constexpr auto kMostPause = 500ms;
constexpr auto kForkAgain = 200ms;

}  // namespace

void CoordinatorChild::seat(std::span<const int> descriptors) {
    give_up();
    constexpr std::size_t kOthers = 2;
    if (!seat_.page) {
        void* page =
            mmap(nullptr, sizeof(base::CoordinatorPage), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (page != MAP_FAILED) seat_.page = static_cast<base::CoordinatorPage*>(page);
    }
    if (!main_ || !seat_.page || descriptors.size() <= kOthers) {
        for (const int descriptor : descriptors) close(descriptor);
        return;
    }
    new (seat_.page) base::CoordinatorPage;
    seat_.job = descriptors[0];
    seat_.record = descriptors[1];
    const auto listeners = descriptors.subspan(kOthers);
    seat_.listener_count =
        static_cast<int>(std::min<std::size_t>(listeners.size(), base::CoordinatorSeat::kMostListeners));
    std::copy_n(listeners.begin(), seat_.listener_count, seat_.listeners);
    seat_.generation = 0;
    quick_ends_ = 0;
    start_at_ = {};
}

void CoordinatorChild::start(base::Time now, std::initializer_list<int> close_in_child) {
    const pid_t guard = getpid();
    seat_.page->alive(now + kMayTakeToStart);
    seat_.page->exits_with = -1;
    started_ = now;
    const pid_t pid = fork();
    if (pid < 0) {
        start_at_ = now + kForkAgain;
        return;
    }
    if (pid > 0) {
        pid_ = pid;
        return;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != guard) _exit(exit_status::kSignalBase + SIGKILL);
    prctl(PR_SET_NAME, "dlaunch-coord");
    setpgid(0, 0);  // terminal signals must reach the guard only
    for (const int descriptor : close_in_child)
        if (descriptor >= 0) close(descriptor);
    const int status = main_(seat_);
    seat_.page->alive(base::Clock::now() + kMayTakeToExit);
    seat_.page->exits_with = status;
    if (getppid() == guard) kill(guard, SIGCHLD);  // the guard looks at the page now
    _exit(status);
}

/// A process after SIGKILL runs no more code, so its successor starts before it is reaped. Successors may hang on the
/// same disk: their number is bounded.
void CoordinatorChild::look(base::Time now, std::initializer_list<int> close_in_child) {
    if (!is_seated()) return;
    const bool was_late = woken_by_ != base::Time::max() && now > woken_by_ + kGuardWasLate;
    if (pid_ && now >= seat_.page->due()) {
        if (const int status = seat_.page->exits_with; status >= 0) {
            reaped(pid_, W_EXITCODE(status, 0));
            if (!is_seated()) return;
        } else if (was_late) {
            seat_.page->alive(now + kMayTakeToStart);
        } else {
            kill(pid_, SIGKILL);
            *std::ranges::find(killed_, 0) = pid_;
            pid_ = 0;
            ++seat_.generation;
            start_at_ = now;
        }
    }
    if (may_start() && now >= start_at_) start(now, close_in_child);
    woken_by_ = due();
}

bool CoordinatorChild::reaped(pid_t pid, int how) {
    std::ranges::replace(killed_, pid, 0);
    if (pid != pid_ || !pid_) return false;
    pid_ = 0;
    const bool in_order = WIFEXITED(how) && (WEXITSTATUS(how) == base::CoordinatorExit::kOver ||
                                             WEXITSTATUS(how) == base::CoordinatorExit::kGivenUp);
    if (in_order) {
        unseat();
        return true;
    }
    const base::Time now = base::Clock::now();
    ++seat_.generation;
    quick_ends_ = now - started_ < kQuickEnd ? quick_ends_ + 1 : 0;
    const auto pause = quick_ends_ <= kFreeRestarts
                           ? 0ms
                           : std::min<std::chrono::milliseconds>(kPause * (quick_ends_ - kFreeRestarts), kMostPause);
    start_at_ = now + pause;
    return true;
}

base::Time CoordinatorChild::due() const {
    if (!is_seated()) return base::Time::max();
    if (pid_) return seat_.page->due();
    return may_start() ? start_at_ : base::Time::max();
}

bool CoordinatorChild::may_start() const { return !pid_ && std::ranges::find(killed_, 0) != killed_.end(); }

void CoordinatorChild::signal(int number) const {
    if (pid_) kill(pid_, number);
}

void CoordinatorChild::close_descriptors() const {
    if (!is_seated()) return;
    close(seat_.job);
    close(seat_.record);
    std::for_each_n(seat_.listeners, seat_.listener_count, [](int listener) { close(listener); });
}

void CoordinatorChild::unseat() {
    close_descriptors();
    seat_.listener_count = 0;
    woken_by_ = base::Time::max();
}

void CoordinatorChild::give_up() {
    signal(SIGKILL);
    pid_ = 0;
    unseat();
}

}  // namespace dlaunch::agent
