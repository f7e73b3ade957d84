// The front end's connections to the agents of its nodes.

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "launcher/start/front_shell.hpp"
#include "launcher/start/front_workers.hpp"
#include "rendezvous/base/end_signals.hpp"
#include "rendezvous/base/escape.hpp"
#include "rendezvous/base/exit_status.hpp"
#include "rendezvous/base/signal_names.hpp"

namespace dlaunch::launcher {
namespace {

using namespace std::chrono_literals;

constexpr auto kNodeMayTake = 10s;  // from the end of the job, or its latest output, to its own end

}  // namespace

/// An agent dials several addresses at once: its first connection counts, and it closes the other connections.
void FrontShell::on_agent(const NodeHello& hello, std::unique_ptr<FrameSocket> socket) {
    if (is_over_) return;
    const int host = host_named(hello.name);
    if (host < 0) return;
    if (hello.version != DLAUNCH_VERSION) {
        carry_out(start_up_.failed(host,
                                   fmt::format("its dlaunch is version {}, expected {} as here",
                                               base::printable(hello.version), DLAUNCH_VERSION),
                                   base::Clock::now()));
        return;
    }
    take_connection(host, std::move(socket));
}

/// The first host of this name that may get an agent; -1: none.
int FrontShell::host_named(std::string_view name) const {
    for (int host = 0; host < static_cast<int>(nodes_.size()); ++host) {
        const NodeState& node = nodes_[index(host)];
        if (node.plan.host.name == name && !node.socket && !node.end && !start_up_.has_failed(host)) return host;
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
        case FrameKind::errors: note_line(payload); [[fallthrough]];
        case FrameKind::data:
        case FrameKind::output:
            if (has_view_ && kind == FrameKind::output) note_relayed(host, payload);
            return output_->feed(host, kind, std::string(payload));
        case FrameKind::file:
            if (plan_.collects_logs) output_->begin_file(host, name_of(host), std::string(payload));
            return;
        case FrameKind::taken:
            if (const auto taken = decode_taken(payload); taken && input_) input_->taken(host, taken->bytes);
            return;
        case FrameKind::notice:
            if (const auto notice = decode_notice(payload)) on_notice(host, *notice);
            return;
        case FrameKind::ended: {
            const auto end = decode_end(payload);
            return end_node(host, end ? *end : NodeEnd{exit_status::kCoordinatorLost, "its last frame cannot be read"});
        }
        default: return;
    }
}

void FrontShell::on_notice(int host, const agent::FrontNotice& notice) {
    if (notice.kind == agent::FrontNotice::Kind::joined) {
        nodes_[index(host)].has_joined = true;
        look_for_awaited_hosts();
    } else if (notice.kind == agent::FrontNotice::Kind::worker) {
        note_worker(notice, nodes_[index(host)].workers);
    } else if (input_)
        input_->take(host, notice);
}

/// Remembers dlaunch's latest line, which the report does not repeat.
void FrontShell::note_line(std::string_view bytes) {
    constexpr std::string_view kPrefix = "dlaunch: ";
    if (bytes.ends_with('\n')) bytes.remove_suffix(1);
    const std::string_view line = bytes.substr(bytes.rfind('\n') + 1);
    const bool is_about_job = line.starts_with(kPrefix) && !line.substr(kPrefix.size()).starts_with("host ");
    if (is_about_job) latest_line_ = line.substr(kPrefix.size());
}

/// dlaunch's own lines are among the workers' output.
void FrontShell::note_relayed(int host, std::string_view bytes) {
    struct Texts final : agent::RelayReader::Handler {
        void on_text(std::string_view text) override { latest = text; }
        std::string latest;
    } texts;
    relays_[host].feed(bytes, texts);
    if (host == printing_ && !texts.latest.empty()) note_line(texts.latest);
}

void FrontShell::on_closed(int host, const std::string& why) {
    const std::string text = nodes_[index(host)].is_unlisted ? NodeState::kUnlisted
                             : why.empty()                   ? "its agent has ended"
                                                             : "the connection to its agent is lost: " + why;
    if (!start_up_.has_begun()) {
        nodes_[index(host)].socket.reset();
        return carry_out(start_up_.failed(host, text, base::Clock::now()));
    }
    if (!nodes_[index(host)].end)
        print(fmt::format("host {}: {}{}", name_of(host), text, why.empty() ? "" : "; output of it may be lost"));
    lose_node(host, text);
}

/// The coordinator decides what a lost host means; when no host is left, the job has lost its nodes.
void FrontShell::lose_node(int host, const std::string& why) {
    const NodeState& node = nodes_[index(host)];
    if (!node.end) write_event("host_lost", host, {{"reason", std::string_view(why)}});
    if (!node.end && node.has_order && plan_.collects_logs) print(name_of(host) + ": its log files are lost with it");
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
    look_for_awaited_hosts();
    output_->end(host);
    relays_.erase(host);
    on_host_ended(host);
}

/// A signal that asks a node to end ends the job, too, unless the other nodes can continue without that node.
std::string FrontShell::line_about_signal(int host, int signal) const {
    if (signal <= 0 || ending_signals_ > 0) return {};
    if (!base::asks_to_end(signal))
        return nodes_[index(host)].has_joined
                   ? std::string()
                   : fmt::format("its dlaunch was killed by {} before it joined the job", base::signal_name(signal));
    const auto snapshot = latest_snapshot();
    const bool goes_on = snapshot && !snapshot->verdict;
    return goes_on ? fmt::format("{} received, it has left the job", base::signal_name(signal)) : std::string();
}

void FrontShell::end_node(int host, const NodeEnd& end) {
    const bool is_known = nodes_[index(host)].end.has_value();
    if (!is_known)
        write_event("host_ended", host,
                    {{"status", std::int64_t{end.status}}, {"reason", std::string_view(end.reason)}});
    take_end(host, end);
    if (is_known) return;
    // No other process names the host.
    if (const std::string line = line_about_signal(host, end.status - exit_status::kSignalBase); !line.empty())
        print(fmt::format("host {}: {}", name_of(host), line));
    else if (!end.reason.empty())
        print(fmt::format("host {}: {}", name_of(host), end.reason));
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
    if (verdict) report_signal(*verdict);
}

/// The nodes leave the line to the front end, which has passed the signal on or prints which host has received it.
void FrontShell::report_signal(const rendezvous::Verdict& verdict) {
    const bool is_signal = base::asks_to_end(exit_status::signal_of(verdict.status));
    if (!is_signal || is_own_signal(verdict.status) || std::exchange(stop_->is_printed, true)) return;
    print(latest_line_ = stop_->reason);
}

/// The coordinator may have ended before a late spare joins. The node of such a host runs no worker.
void FrontShell::dismiss_late_nodes() {
    watch_job();
    if (!decided_at_) return;
    for (NodeState& node : nodes_)
        if (node.socket && node.has_order && !node.has_joined && !node.end && !std::exchange(node.is_dismissed, true))
            node.signal(SIGTERM);
}

/// When the job is over, a host that sends nothing and does not end does not delay the front end: its agent may be
/// frozen.
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

/// The coordinator detects the loss of nodes that have joined. Patience counts beats, not time, since a frozen front
/// end receives nothing. A silent host is spared: it may have joined, and its lease ends.
void FrontShell::give_up_absent_nodes() {
    const auto patience = plan_.launch_timeout;
    for (int host = 0; host < static_cast<int>(nodes_.size()) && !is_over_; ++host) {
        NodeState& node = nodes_[index(host)];
        if (!node.has_order || node.has_joined || node.end || ++node.beats_awaited * kBeatEvery <= patience) continue;
        if (base::Clock::now() - node.socket->heard_at() > 2 * kBeatEvery) continue;
        const std::string why = fmt::format("its agent has not joined the job within {:g} s (--launch-timeout)",
                                            static_cast<double>(patience.count()) / 1e3);
        print(fmt::format("host {}: {}", name_of(host), why));
        lose_node(host, why);
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
    dismiss_late_nodes();
    give_up_silent_nodes();
    give_up_absent_nodes();
    if (is_over_) return;
    output_->set_background(terminal_.is_in_background());
    show_status();
    if (input_) input_->resume();  // fg sends a job that runs no SIGCONT
    beat_ = loop_.after(kBeatEvery, [this] { on_beat(); });
}

}  // namespace dlaunch::launcher
