#include "launcher/start/front_input.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <utility>

#include "launcher/start/messages.hpp"

namespace dlaunch::launcher {

FrontInput::FrontInput(base::Loop& loop, std::vector<NodeState>& nodes, pid_t guard)
    : loop_(loop), nodes_(nodes), terminal_(guard), can_watch_(base::Loop::can_watch(STDIN_FILENO)) {}

void FrontInput::take(int host, const agent::FrontNotice& notice) {
    NodeState& node = nodes_[static_cast<std::size_t>(host)];
    if (!node.socket || notice.round < node.input_round) return;
    node.reads_input = notice.reads != 0;
    node.input_round = notice.round;
    if (notice.round > round_) is_complete_ = false;
    round_ = std::max(round_, notice.round);
    const auto known =
        std::ranges::count_if(nodes_, [this](const NodeState& each) { return each.input_round == round_; });
    is_complete_ = is_complete_ || (notice.round == round_ && known >= notice.nodes);
    if (is_at_end_) return send_end(node);
    on_readers_changed();
}

void FrontInput::drop(int host) {
    nodes_[static_cast<std::size_t>(host)].reads_input = false;
    on_readers_changed();
}

void FrontInput::on_readers_changed() {
    const bool any_reads = std::ranges::any_of(nodes_, [](const NodeState& each) { return each.reads_input; });
    if (!any_reads) terminal_.take_back();
    read_on();
}

/// Bytes that every reading node can take.
std::size_t FrontInput::credit() const {
    std::size_t least = kInputCredit;
    bool any_reads = false;
    for (const NodeState& node : nodes_) {
        if (!node.reads_input) continue;
        any_reads = true;
        least = std::min(least, node.input_credit);
    }
    return any_reads && is_complete_ ? least : 0;
}

void FrontInput::read_on() {
    if (is_at_end_) return;
    if (credit() == 0) return pause();
    if (watch_ || turn_) return;
    if (!may_read()) return terminal_.orphaned() ? end() : void();
    if (can_watch_)
        watch_ = loop_.readable(STDIN_FILENO, [this] { on_readable(); });
    else
        turn_ = loop_.after({}, [this] {
            turn_ = {};
            on_readable();
        });
}

/// This process is not in the terminal's foreground group by itself: the kernel refuses it the read.
bool FrontInput::may_read() {
    if (terminal_.usable()) terminal_.give(getpgrp());
    return !terminal_.taken();
}

void FrontInput::pause() {
    watch_ = {};
    turn_ = {};
}

void FrontInput::on_readable() {
    if (!may_read()) return pause();
    std::array<char, kInputCredit> bytes;
    const std::size_t most = credit();
    if (most == 0) return pause();
    const ssize_t count = read(STDIN_FILENO, bytes.data(), std::min(bytes.size(), most));
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return read_on();
    if (count < 0 && errno == EIO && terminal_.taken()) return pause();  // the shell has just taken it
    if (count <= 0) return end();
    const std::string frame = encode(FrameKind::input, {bytes.data(), static_cast<std::size_t>(count)});
    for (NodeState& node : nodes_) {
        if (!node.reads_input) continue;
        node.socket->send(frame);
        node.input_credit -= static_cast<std::size_t>(count);
    }
    read_on();
}

/// Also at an error: there is nothing that a worker could receive.
void FrontInput::end() {
    pause();
    is_at_end_ = true;
    terminal_.take_back();
    for (NodeState& node : nodes_) send_end(node);
}

void FrontInput::send_end(NodeState& node) {
    if (!node.reads_input || std::exchange(node.has_input_end, true)) return;
    node.socket->send(encode(FrameKind::input));
}

void FrontInput::taken(int host, std::size_t bytes) {
    std::size_t& own = nodes_[static_cast<std::size_t>(host)].input_credit;
    own = std::min(kInputCredit, own + bytes);
    read_on();
}

}  // namespace dlaunch::launcher
