#include "launcher/start/node_relay.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "agent/process/sweep.hpp"
#include "rendezvous/base/end_signals.hpp"
#include "rendezvous/base/exit_status.hpp"
#include "rendezvous/base/signal_names.hpp"

namespace dlaunch::launcher {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kReadBytes = 64 << 10;
constexpr auto kReadsOn = 2000ms;        // after the child's exit, for output in its pipes
constexpr auto kDeliversFor = 10'000ms;  // the last frames
constexpr auto kSweeps = 5000ms;
constexpr auto kSaysGoodbye = 1000ms;  // for an agent whose guard was killed
constexpr int kLookEveryMs = 5;
constexpr int kPassed[] = {SIGTERM, SIGINT, SIGQUIT, SIGHUP, SIGUSR1, SIGUSR2};

/// Reaps until no child is left; without a loop, which has ended.
void await_children(std::chrono::milliseconds patience) {
    const base::Time end = base::Clock::now() + patience;
    siginfo_t info{};
    while (waitid(P_ALL, 0, &info, WEXITED | WNOHANG) == 0 && base::Clock::now() < end)
        if (info.si_pid == 0)
            poll(nullptr, 0, kLookEveryMs);
        else
            info = {};
}

int exit_status_of(const siginfo_t& end) {
    return end.si_code == CLD_EXITED ? end.si_status : exit_status::kSignalBase + end.si_status;
}

/// The node's dlaunch prints its reasons itself, unless it is killed.
std::string killed_by(const siginfo_t& end) {
    if (end.si_code == CLD_EXITED || base::asks_to_end(end.si_status)) return {};
    return "its dlaunch was killed by " + base::signal_name(end.si_status);
}

}  // namespace

NodeRelay::NodeRelay(const FrontConnection& front, NodeChild child, std::filesystem::path logs)
    : child_(std::move(child)),
      streams_{Stream{FrameKind::output, std::move(child_.output[0]), kOutputCredit, {}},
               Stream{FrameKind::errors, std::move(child_.output[1]), kOutputCredit, {}}} {
    signal(SIGPIPE, SIG_IGN);
    agent::become_subreaper();  // for an agent whose guard was killed
    socket_.emplace(
        loop_, front.stream, front.frames,
        FrameSocket::Handlers{.frame = [this](FrameKind kind, std::string_view payload) { on_frame(kind, payload); },
                              .closed = [this](const std::string&) { on_closed(); }});
    if (!logs.empty()) logs_.emplace(std::move(logs), [this](std::string_view frame) { socket_->send(frame); });
    sigset_t passed;
    sigemptyset(&passed);
    for (const int number : kPassed) sigaddset(&passed, number);
    sigprocmask(SIG_BLOCK, &passed, nullptr);
    signals_ = base::UniqueFd(signalfd(-1, &passed, SFD_CLOEXEC | SFD_NONBLOCK));
    signal_watch_ = loop_.readable(signals_.get(), [this] { on_signal(); });
    exit_watch_ = loop_.readable(child_.pidfd.get(), [this] { on_exit(); });
    notice_watch_ = loop_.readable(child_.front_notices.get(), [this] { on_notice(); });
    for (Stream& stream : streams_) watch(stream);
    on_beat();
}

int NodeRelay::run() {
    loop_.run();
    if (status_) return *status_;
    // The connection is gone: the front end may have ended the job, or another node may run these ranks soon. The agent
    // kills the workers when its guard dies, and sends Gone, so that no node waits for this node's time-out.
    kill(child_.pid, SIGKILL);
    await_children(kSaysGoodbye);
    agent::sweep(kSweeps);
    return exit_status::kCoordinatorLost;
}

void NodeRelay::on_beat() {
    if (base::Clock::now() - socket_->heard_at() > kLease) return on_closed();
    socket_->send(encode(FrameKind::beat));
    beat_ = loop_.after(kBeatEvery, [this] { on_beat(); });
}

void NodeRelay::on_closed() { loop_.stop(); }

void NodeRelay::on_frame(FrameKind kind, std::string_view payload) {
    if (kind == FrameKind::signal && payload.size() == 1)
        pass_signal(static_cast<unsigned char>(payload.front()), requests_.front, requests_.own);
    if (kind == FrameKind::input) {
        unwritten_ += payload;
        input_ends_ = input_ends_ || payload.empty();
        write_input();
    }
    if (kind != FrameKind::taken) return;
    const auto taken = decode_taken(payload);
    if (!taken) return;
    if (taken->stream == FrameKind::data) {
        if (logs_ && logs_->taken(taken->bytes)) loop_.post([this] { finish(); });
        return;
    }
    Stream& stream = streams_[taken->stream == FrameKind::output ? 0 : 1];
    stream.credit = std::min(kOutputCredit, stream.credit + taken->bytes);
    watch(stream);
}

/// Signals to this process are meant for the node.
void NodeRelay::on_signal() {
    signalfd_siginfo got{};
    while (read(signals_.get(), &got, sizeof got) == static_cast<ssize_t>(sizeof got))
        pass_signal(static_cast<int>(got.ssi_signo), requests_.own, requests_.front);
}

/// A scheduler may signal both the front end and the nodes, at different times. Drops the second copy of a request, by
/// the other way.
void NodeRelay::pass_signal(int number, int& this_way, const int& other_way) {
    if (base::asks_to_end(number) && ++this_way <= other_way) return;
    if (!status_) kill(child_.pid, number);
}

void NodeRelay::watch(Stream& stream) {
    if (stream.watch || !stream.fd || stream.credit == 0) return;
    stream.watch = loop_.readable(stream.fd.get(), [this, &stream] { on_output(stream); });
}

void NodeRelay::on_output(Stream& stream) {
    std::array<char, kReadBytes> bytes;
    const ssize_t count = read(stream.fd.get(), bytes.data(), std::min(bytes.size(), stream.credit));
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (count <= 0) {
        stream.watch = {};
        stream.fd.reset();
        return end_when_read();
    }
    stream.credit -= static_cast<std::size_t>(count);
    if (stream.credit == 0) stream.watch = {};
    socket_->send(encode(stream.kind, {bytes.data(), static_cast<std::size_t>(count)}));
}

void NodeRelay::write_input() {
    while (!unwritten_.empty() && child_.input) {
        const ssize_t count = write(child_.input.get(), unwritten_.data(), unwritten_.size());
        if (count < 0 && errno == EINTR) continue;
        if (count < 0 && errno == EAGAIN) {
            if (!input_watch_) input_watch_ = loop_.writable(child_.input.get(), [this] { write_input(); });
            return;
        }
        if (count < 0) {  // no process of the node is left
            unwritten_.clear();
            child_.input.reset();
            break;
        }
        socket_->send(encode(Taken{FrameKind::input, static_cast<std::uint32_t>(count)}));
        unwritten_.erase(0, static_cast<std::size_t>(count));
    }
    input_watch_ = {};
    if (input_ends_) child_.input.reset();
}

/// The pipe keeps notices whole: each is written at once, and is shorter than PIPE_BUF.
void NodeRelay::on_notice() {
    agent::FrontNotice notice;
    ssize_t count = 0;
    while ((count = read(child_.front_notices.get(), &notice, sizeof notice)) == static_cast<ssize_t>(sizeof notice))
        socket_->send(encode(notice));
    if (count >= 0 || (errno != EAGAIN && errno != EINTR)) notice_watch_ = {};
}

void NodeRelay::on_exit() {
    exit_watch_ = {};
    on_notice();  // its last ones
    siginfo_t end{};
    while (waitid(P_PID, static_cast<id_t>(child_.pid), &end, WEXITED) != 0 && errno == EINTR) {}
    status_ = exit_status_of(end);
    end_reason_ = killed_by(end);
    end_timer_ = loop_.after(kReadsOn, [this] { send_logs(); });
    end_when_read();
}

void NodeRelay::end_when_read() {
    if (status_ && !streams_[0].fd && !streams_[1].fd) send_logs();
}

/// The lease bounds the time: a front end that is gone takes nothing.
void NodeRelay::send_logs() {
    end_timer_ = {};
    if (!logs_ || logs_->begin()) finish();
}

/// The front end closes the connection when it has the last frame.
void NodeRelay::finish() {
    if (std::exchange(is_ended_, true)) return;
    logs_.reset();  // removes their folder: the last frame ends this process
    socket_->send(encode(NodeEnd{*status_, end_reason_}));
    end_timer_ = loop_.after(kDeliversFor, [this] { loop_.stop(); });
}

}  // namespace dlaunch::launcher
