#include "rendezvous/coordinate/process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

#include "rendezvous/auth/hidden_memory.hpp"
#include "rendezvous/auth/tls_context.hpp"
#include "rendezvous/base/background.hpp"
#include "rendezvous/base/escape.hpp"
#include "rendezvous/base/exit_status.hpp"
#include "rendezvous/base/random.hpp"
#include "rendezvous/base/signal_names.hpp"
#include "rendezvous/coordinate/end_requests.hpp"
#include "rendezvous/coordinate/host.hpp"
#include "rendezvous/coordinate/job.hpp"
#include "rendezvous/coordinate/record_file.hpp"
#include "rendezvous/discovery/claim.hpp"
#include "rendezvous/wire/rounds.hpp"

namespace dlaunch::rendezvous {
namespace {

using base::Clock;
using base::CoordinatorExit;

// For the delivery of the last messages, while a client is connected.
constexpr auto kSendsLast = Milliseconds(200), kLookAgain = Milliseconds(5);
constexpr auto kReleaseMayTake = Milliseconds(1'000);

/// Longest stall of the loop before the guard replaces the process: a successor must serve before members fence.
Milliseconds longest_stall(Milliseconds node_timeout) {
    return std::clamp(node_timeout / 4, Milliseconds(500), Milliseconds(2'000));
}

base::UniqueFd copy_of(int fd) { return base::UniqueFd(fcntl(fd, F_DUPFD_CLOEXEC, 0)); }

void raise_descriptor_limit() {
    rlimit files{};
    if (getrlimit(RLIMIT_NOFILE, &files) != 0) return;
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
}

/// For the user of this node. A line that the terminal or pipe does not take at once is dropped: a coordinator must not
/// wait for it.
void print(const std::string& line) {
    pollfd room{STDERR_FILENO, POLLOUT, 0};
    const std::string text = "dlaunch: " + base::printable(line) + "\n";
    if (text.size() <= PIPE_BUF && poll(&room, 1, 0) == 1) [[maybe_unused]]
        const auto ignored = write(STDERR_FILENO, text.data(), text.size());
}

class Process {
public:
    Process(const base::CoordinatorSeat& seat, CoordinatorJob job) : seat_(seat), job_(std::move(job)) {
        if (!job_.claim) return;
        if (const auto asked = seat_.page->claim_asked.load()) asked_of(*job_.claim) = Time(Time::duration(asked));
        granted_from_ = asked_of(*job_.claim);
        claim_ = make_claim(*job_.claim);
    }

    int run(const OnEnd& on_end);

private:
    bool load_tls();
    bool serve();
    [[nodiscard]] Claim::State ask_for_claim();
    void beat();
    void renew_claim();
    void release_claim();
    void on_signal();
    void leave(int status);
    void leave_by(base::Time end);

    const base::CoordinatorSeat& seat_;
    CoordinatorJob job_;
    base::Loop loop_;
    auth::TlsContextPtr tls_;  ///< null: a job without a token
    std::unique_ptr<CoordinatorHost> host_;
    std::shared_ptr<Claim> claim_;  ///< shared with a background thread that may hang
    base::Background renewing_, releasing_;
    base::Timer beat_timer_, renew_timer_, leave_timer_;
    base::UniqueFd signals_;
    base::Watch signal_watch_;
    EndRequests requests_;
    bool has_all_hosts_ = false;  ///< as on the page when it was last read
    int status_ = CoordinatorExit::kGivenUp;
    base::Time granted_from_{};
    bool leaving_ = false;
};

/// A node that hosts has loaded OpenSSL before.
bool Process::load_tls() {
    if (!job_.token) return true;
    auth::hide_memory();
    auto tls = auth::TlsContext::of(*job_.token);
    if (!tls) print(tls.error().text);
    job_.token.reset();
    if (tls) tls_ = std::move(*tls);
    return tls_ != nullptr;
}

bool Process::serve() {
    Coordinator::Options options = job_.options;
    options.epoch += seat_.generation;
    options.incarnation = base::random_number();
    if (seat_.generation > 0) {
        options.succeeds = true;
        options.snapshot = wire::decode_snapshot(read_record(seat_.record));
    }
    auto host = CoordinatorHost::adopt(
        loop_, copy_of(seat_.listeners[0]), std::move(options),
        [this](const Snapshot& snapshot) {
            static_cast<void>(write_record(seat_.record, wire::encode(snapshot)));
            if (!snapshot.verdict) return;
            seat_.page->status = snapshot.verdict->status;
            seat_.page->is_over = true;
        },
        tls_, print);
    if (!host) return false;
    host_ = std::move(*host);
    for (int at = 1; at < seat_.listener_count; ++at)
        if (!host_->listen_too(copy_of(seat_.listeners[at]))) return false;
    return true;
}

/// If the guard was stalled, the claim may have expired. Therefore a successor renews the claim before it serves.
Claim::State Process::ask_for_claim() {
    if (!claim_ || seat_.generation == 0) return Claim::State::held;
    granted_from_ = Clock::now();
    return claim_->renew();
}

void Process::beat() {
    const auto limit = longest_stall(host_->coordinator().config().node_timeout);
    seat_.page->alive(Clock::now() + limit);
    if (host_->coordinator().deposed()) return leave(CoordinatorExit::kGivenUp);
    if (seat_.page->no_more_hosts && !std::exchange(has_all_hosts_, true)) host_->no_more_hosts();
    beat_timer_ = loop_.after(limit / 5, [this] { beat(); });
}

/// The coordinator's own lease counts from before the renewal, and a standby's patience from after it: the lease ends
/// first.
void Process::renew_claim() {
    renewing_ = base::Background(loop_, [this, claim = claim_]() -> std::function<void()> {
        const auto asked = Clock::now();
        const Claim::State state = claim->renew();
        return [this, state, asked] {
            renewing_ = {};
            if (state == Claim::State::lost) return leave(CoordinatorExit::kGivenUp);
            if (state == Claim::State::held) {
                seat_.page->claim_asked.store(asked.time_since_epoch().count());
                host_->granted(asked + claim_lease(host_->coordinator().config().node_timeout));
            }
            const auto pause = state == Claim::State::held ? Claim::kRenewEvery : Claim::kAskAgain;
            renew_timer_ = loop_.after(pause, [this] { renew_claim(); });
        };
    });
}

/// A claim that cannot be released in time dies without renewals, and another node takes it over then. A coordinator
/// that was frozen until after its lease, with the job's verdict recorded, still removes the claim.
void Process::release_claim() {
    const bool is_over = host_->coordinator().verdict().has_value();
    const bool hands_over = host_->coordinator().has_handed_over();
    const auto snapshot = hands_over ? wire::encode(host_->coordinator().snapshot()) : std::string();
    leave_timer_ = loop_.after(kReleaseMayTake, [this] { loop_.stop(); });
    releasing_ = base::Background(loop_, [this, claim = claim_, is_over, snapshot]() -> std::function<void()> {
        is_over ? claim->remove() : claim->release(snapshot);
        return [this] { loop_.stop(); };
    });
}

/// With a claim another node takes over. At a fixed address no other node can, so the job ends.
void Process::on_signal() {
    signalfd_siginfo got{};
    if (read(signals_.get(), &got, sizeof got) != static_cast<ssize_t>(sizeof got)) return;
    const int number = static_cast<int>(got.ssi_signo);
    const base::Time now = base::Clock::now();
    if (number == SIGCONT) return requests_.continued(now);
    if (claim_) {
        host_->resign();
        return leave(CoordinatorExit::kGivenUp);
    }
    const bool by_guard = got.ssi_code == SI_USER && static_cast<pid_t>(got.ssi_pid) == getppid();
    const auto effect =
        requests_.heard(number, by_guard ? EndRequests::Sender::guard : EndRequests::Sender::other, now);
    if (effect == EndRequests::Effect::none) return;
    host_->end_job(exit_status::kSignalBase + number, base::signal_name(number) + " received on " + job_.options.host,
                   effect == EndRequests::Effect::end_at_once);
}

void Process::leave(int status) {
    if (std::exchange(leaving_, true)) return;
    status_ = status;
    renew_timer_ = {};
    renewing_ = {};
    leave_by(Clock::now() + kSendsLast);
}

void Process::leave_by(base::Time end) {
    if (host_->server().clients() > 0 && Clock::now() < end) {
        leave_timer_ = loop_.after(kLookAgain, [this, end] { leave_by(end); });
        return;
    }
    if (claim_ && (status_ == CoordinatorExit::kOver || host_->coordinator().deposed())) return release_claim();
    loop_.stop();
}

int Process::run(const OnEnd& on_end) {
    raise_descriptor_limit();
    const Claim::State state = ask_for_claim();
    if (state == Claim::State::unknown) return EXIT_FAILURE;  // the guard starts another one
    if (state == Claim::State::lost || !load_tls() || !serve()) return CoordinatorExit::kGivenUp;
    seat_.page->hands_over = claim_ != nullptr;
    sigset_t ending;
    sigemptyset(&ending);
    for (const int number : {SIGTERM, SIGINT, SIGQUIT, SIGCONT}) sigaddset(&ending, number);
    sigprocmask(SIG_BLOCK, &ending, nullptr);
    signals_ = base::UniqueFd(signalfd(-1, &ending, SFD_CLOEXEC | SFD_NONBLOCK));
    signal_watch_ = loop_.readable(signals_.get(), [this] { on_signal(); });
    if (claim_) {
        host_->granted(granted_from_ + claim_lease(host_->coordinator().config().node_timeout));
        renew_claim();
    }
    host_->when_finished([this] { leave(CoordinatorExit::kOver); });
    beat();
    loop_.run();
    if (status_ == CoordinatorExit::kOver && on_end && host_->coordinator().verdict())
        on_end(host_->coordinator().snapshot(), Clock::now() - job_.began);
    return status_;
}

}  // namespace

int run_coordinator_process(const base::CoordinatorSeat& seat, const Judge& judge, const OnEnd& on_end) {
    std::string bytes = bytes_of(seat.job);
    auto job = decode_job(bytes);
    explicit_bzero(bytes.data(), bytes.size());
    if (!job) return CoordinatorExit::kGivenUp;
    job->options.judge = judge;
    return Process(seat, std::move(*job)).run(on_end);
}

}  // namespace dlaunch::rendezvous
