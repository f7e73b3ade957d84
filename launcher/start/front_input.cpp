#include "launcher/start/front_input.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>

#include "launcher/start/messages.hpp"

namespace dlaunch::launcher {
namespace {

using Mode = agent::StdinPlan::Mode;

/// A regular file is always readable, and cannot be watched.
bool is_file(int fd) {
    struct stat about {};
    return fstat(fd, &about) == 0 && S_ISREG(about.st_mode);
}

}  // namespace

FrontInput::FrontInput(base::Loop& loop, const agent::StdinPlan& plan, std::vector<NodeState>& nodes, pid_t guard)
    : loop_(loop), plan_(plan), nodes_(nodes), terminal_(guard) {}

bool FrontInput::goes_to(int host) const {
    int workers = 0;
    for (const NodeState& node : nodes_) workers += node.plan.workers;
    switch (plan_.mode) {
        case Mode::none: return false;
        case Mode::all: return true;
        case Mode::automatic: return workers == 1 && nodes_.size() == 1;
        case Mode::rank: break;
    }
    int first = 0;
    for (int before = 0; before < host; ++before) first += nodes_[static_cast<std::size_t>(before)].plan.workers;
    const int own = nodes_[static_cast<std::size_t>(host)].plan.workers;
    // Ranks of nodes that count their workers themselves are unknown here: each of these nodes receives the input.
    return own == 0 || (plan_.rank >= first && plan_.rank < first + own);
}

void FrontInput::begin() {
    has_begun_ = true;
    watch();
}

std::size_t FrontInput::credit() const {
    std::size_t least = kInputCredit;
    for (std::size_t at = 0; at < nodes_.size(); ++at)
        if (nodes_[at].socket && nodes_[at].has_order && goes_to(static_cast<int>(at)))
            least = std::min(least, nodes_[at].input_credit);
    return least;
}

void FrontInput::watch() {
    if (is_at_end_) return send({});  // for a node that came later
    if (watch_ || credit() == 0) return;
    if (!may_read()) return terminal_.orphaned() ? end() : void();
    if (is_file(STDIN_FILENO))
        loop_.post([this] { on_readable(); });
    else
        watch_ = loop_.readable(STDIN_FILENO, [this] { on_readable(); });
}

/// This process is not in the terminal's foreground group by itself: the kernel refuses it the read.
bool FrontInput::may_read() {
    if (terminal_.usable()) terminal_.give(getpgrp());
    return !terminal_.taken();
}

void FrontInput::end() {
    watch_ = {};
    is_at_end_ = true;
    terminal_.take_back();
    send({});
}

void FrontInput::on_readable() {
    if (!may_read()) return void(watch_ = {});
    std::array<char, kInputCredit> bytes;
    const std::size_t most = credit();
    if (most == 0) return void(watch_ = {});
    const ssize_t count = read(STDIN_FILENO, bytes.data(), std::min(bytes.size(), most));
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (count < 0 && errno == EIO && terminal_.taken()) return void(watch_ = {});  // the shell has just taken it
    if (count <= 0) return end();
    send({bytes.data(), static_cast<std::size_t>(count)});
    if (credit() == 0) watch_ = {};
}

void FrontInput::send(std::string_view bytes) {
    for (std::size_t at = 0; at < nodes_.size(); ++at) {
        NodeState& node = nodes_[at];
        if (!node.socket || !node.has_order || !goes_to(static_cast<int>(at))) continue;
        node.socket->send(encode(FrameKind::input, bytes));
        node.input_credit -= std::min(node.input_credit, bytes.size());
    }
}

void FrontInput::taken(int host, std::size_t bytes) {
    std::size_t& own = nodes_[static_cast<std::size_t>(host)].input_credit;
    own = std::min(kInputCredit, own + bytes);
    if (!is_at_end_) watch();
}

}  // namespace dlaunch::launcher
