// The front end's connections to the agents of its nodes.

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <utility>

#include "launcher/start/front_shell.hpp"
#include "rendezvous/base/escape.hpp"
#include "rendezvous/base/exit_status.hpp"

namespace dlaunch::launcher {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kMostStrangers = 1024;
constexpr auto kHelloBy = 10s;
constexpr auto kNodeMayTake = 10s;  // from the end of the job, or its latest output, to its own end
constexpr int kAtOnce = 64;         // connections accepted in one turn of the loop

}  // namespace

void FrontShell::on_dial(const store::Listener& listener) {
    for (int count = 0; count < kAtOnce && strangers_.size() < kMostStrangers; ++count) {
        base::UniqueFd socket(accept4(listener.socket.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (!socket) return;
        const int yes = 1;
        setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
        const std::uint64_t number = ++next_stranger_;
        auto& stranger = strangers_[number];
        stranger.deadline = loop_.after(kHelloBy, [this, number] { strangers_.erase(number); });
        stranger.socket = std::make_unique<FrameSocket>(
            loop_, std::move(socket), kMostHello,
            FrameSocket::Handlers{
                .frame = [this, number](FrameKind kind, std::string_view payload) { on_hello(number, kind, payload); },
                .closed = [this, number](const std::string&) { strangers_.erase(number); }});
    }
}

/// An agent dials several addresses at once: its first connection counts, and it closes the others.
void FrontShell::on_hello(std::uint64_t number, FrameKind kind, std::string_view payload) {
    auto stranger = std::move(strangers_.extract(number).mapped());
    const auto hello = kind == FrameKind::hello ? decode_hello(payload) : std::nullopt;
    if (!hello || hello->key != starter_plan_.key || is_over_) return;
    const int host = host_named(hello->name);
    if (host < 0) return;
    if (hello->version != DLAUNCH_VERSION) {
        carry_out(start_up_.failed(host,
                                   fmt::format("its dlaunch is version {}, expected {} as here",
                                               base::printable(hello->version), DLAUNCH_VERSION),
                                   base::Clock::now()));
        return;
    }
    take_connection(host, std::move(stranger.socket));
}

/// The first host of this name that has no agent yet; -1: none.
int FrontShell::host_named(std::string_view name) const {
    for (int host = 0; host < static_cast<int>(nodes_.size()); ++host) {
        const NodeState& node = nodes_[index(host)];
        if (node.plan.host.name == name && !node.socket && !node.end) return host;
    }
    return -1;
}

void FrontShell::take_connection(int host, std::unique_ptr<FrameSocket> socket) {
    NodeState& node = nodes_[index(host)];
    node.socket = std::move(socket);
    node.socket->limit_payload(kMostFrame);
    node.socket->handle(
        {.frame = [this, host](FrameKind kind, std::string_view payload) { on_frame(host, kind, payload); },
         .closed = [this, host](const std::string& why) { on_closed(host, why); }});
    node.socket->send(encode(FrameKind::welcome));
    write_event("host_connected", host);
    carry_out(start_up_.connected(host, base::Clock::now()));
}

void FrontShell::on_frame(int host, FrameKind kind, std::string_view payload) {
    if (kind != FrameKind::beat) nodes_[index(host)].sent_at = base::Clock::now();
    switch (kind) {
        case FrameKind::errors:
            if (host == printing_) note_line(payload);
            [[fallthrough]];
        case FrameKind::data:
        case FrameKind::output: return output_->feed(host, kind, std::string(payload));
        case FrameKind::file:
            if (plan_.collects_logs) output_->begin_file(host, name_of(host), std::string(payload));
            return;
        case FrameKind::taken:
            if (const auto taken = decode_taken(payload); taken && input_) input_->taken(host, taken->bytes);
            return;
        case FrameKind::reads:
            if (const auto notice = decode_reads(payload); notice && input_) input_->take(host, *notice);
            return;
        case FrameKind::ended: {
            const auto end = decode_end(payload);
            return end_node(host, end ? *end : NodeEnd{exit_status::kCoordinatorLost, "its last frame cannot be read"});
        }
        default: return;
    }
}

/// Remembers dlaunch's latest line, which the report does not repeat.
void FrontShell::note_line(std::string_view bytes) {
    constexpr std::string_view kPrefix = "dlaunch: ";
    if (bytes.ends_with('\n')) bytes.remove_suffix(1);
    const std::string_view line = bytes.substr(bytes.rfind('\n') + 1);
    if (line.starts_with(kPrefix)) latest_line_ = line.substr(kPrefix.size());
}

void FrontShell::on_closed(int host, const std::string& why) {
    const std::string text = why.empty() ? "its agent has ended" : "the connection to its agent is lost: " + why;
    if (!start_up_.has_begun()) {
        nodes_[index(host)].socket.reset();
        return carry_out(start_up_.failed(host, text, base::Clock::now()));
    }
    if (!nodes_[index(host)].end) print(fmt::format("host {}: {}", name_of(host), text));
    lose_node(host, text);
}

/// The coordinator decides what a lost host means; when no host is left, the job has lost its nodes.
void FrontShell::lose_node(int host, const std::string& why) {
    if (!nodes_[index(host)].end) write_event("host_lost", host, {{"reason", std::string_view(why)}});
    take_end(host, {exit_status::kRendezvousTimeout, why});
    look_for_end();
}

/// No output of the node follows. Closing the connection lets its agent exit, or end what it still runs.
void FrontShell::take_end(int host, const NodeEnd& end) {
    NodeState& node = nodes_[index(host)];
    node.socket.reset();
    if (input_) input_->drop(host);
    if (node.end) return;
    node.end = end;
    output_->end(host);
    on_host_ended(host);
}

void FrontShell::end_node(int host, const NodeEnd& end) {
    const bool is_known = nodes_[index(host)].end.has_value();
    if (!is_known)
        write_event("host_ended", host,
                    {{"status", std::int64_t{end.status}}, {"reason", std::string_view(end.reason)}});
    take_end(host, end);
    if (is_known) return;
    if (!end.reason.empty() && start_up_.has_begun() && end.status != exit_status::kCoordinatorLost)
        return finish(end.status, fmt::format("host {}: {}", name_of(host), end.reason));
    look_for_end();
}

/// Looks at the coordinator's record.
void FrontShell::watch_job() {
    const auto snapshot = decided_at_ ? std::nullopt : latest_snapshot();
    if (!snapshot) return;
    if (snapshot->verdict) decided_at_ = base::Clock::now();
    if (!snapshot->stop || snapshot->verdict) return stop_.reset();
    const auto& verdict = snapshot->stop->verdict;
    if (!stop_ || stop_->round != snapshot->round) stop_ = {base::Clock::now(), snapshot->round, {}};
    stop_->reason = verdict && !verdict->reason.empty() ? verdict->reason : snapshot->stop->reason;
}

/// When the job is over, a host that sends nothing and does not end delays nobody: its agent may be frozen.
void FrontShell::give_up_silent_nodes() {
    const base::Time now = base::Clock::now();
    if (!decided_at_) return;
    for (int host = 0; host < static_cast<int>(nodes_.size()) && !is_over_; ++host) {
        const NodeState& node = nodes_[index(host)];
        if (node.end || !node.has_order || now - std::max(*decided_at_, node.sent_at) < kNodeMayTake) continue;
        print(fmt::format("host {}: its agent does not end; it is given up", name_of(host)));
        lose_node(host, "its agent did not end");
    }
}

void FrontShell::on_beat() {
    for (int host = 0; host < static_cast<int>(nodes_.size()); ++host) {
        NodeState& node = nodes_[index(host)];
        if (!node.socket) continue;
        if (base::Clock::now() - node.socket->heard_at() > kLease)
            on_closed(host, "no answer");
        else
            node.socket->send(encode(FrameKind::beat));
    }
    watch_job();
    give_up_silent_nodes();
    if (is_over_) return;
    show_status();
    if (input_) input_->resume();  // fg sends a job that runs no SIGCONT
    beat_ = loop_.after(kBeatEvery, [this] { on_beat(); });
}

}  // namespace dlaunch::launcher
