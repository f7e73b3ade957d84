#include "agent/services/input_copier.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace dlaunch::agent {
namespace {

constexpr std::size_t kMostAhead = 64UL * 1024;  // copied ahead of the slowest worker

}  // namespace

void InputCopier::begin(std::vector<base::UniqueFd> pipes, std::function<void()> on_end) {
    on_end_ = std::move(on_end);
    for (base::UniqueFd& pipe : pipes) readers_.push_back({std::move(pipe), {}, 0});
    must_wait_ = base::Loop::can_watch(STDIN_FILENO);
    buffer_.clear();  // may hold the rest of an earlier round
    if (ended_) return flush();
    read_more();
}

void InputCopier::suspend() {
    suspended_ = true;
    watch_ = {};
}

void InputCopier::resume() {
    suspended_ = false;
    if (!readers_.empty()) read_more();
}

void InputCopier::finish() {
    if (readers_.empty()) return;
    readers_.clear();
    end_copying();
}

void InputCopier::end_copying() {
    watch_ = {};
    if (on_end_) std::exchange(on_end_, {})();
    if (terminal_) terminal_->take_back();
}

/// A background process group must not read from a terminal: makes dlaunch's group the foreground group if possible.
/// False: the shell has the terminal, and the copy waits for fg.
bool InputCopier::may_read() {
    if (!terminal_) return true;
    if (terminal_->usable()) terminal_->give(getpgrp());
    return !terminal_->taken();
}

void InputCopier::read_more() {
    if (ended_ || suspended_ || watch_ || turn_posted_) return;
    if (!may_read()) return wait_for_terminal();
    if (must_wait_) {
        watch_ = loop_.readable(STDIN_FILENO, [this] { copy_some(); });
        return;
    }
    turn_posted_ = true;
    loop_.post([this] {
        turn_posted_ = false;
        copy_some();
    });
}

void InputCopier::copy_some() {
    if (readers_.empty() || suspended_) return;
    if (!may_read()) return wait_for_terminal();
    char part[16 * 1024];
    const ssize_t got = read(STDIN_FILENO, part, sizeof part);
    // EIO: the shell has just taken the terminal; the next turn requests the terminal again.
    if (got < 0 && (errno == EINTR || errno == EAGAIN || (errno == EIO && terminal_ && terminal_->taken()))) return;
    if (got <= 0) return end();
    buffer_.append(part, static_cast<std::size_t>(got));
    flush();
}

void InputCopier::end() {
    ended_ = true;
    watch_ = {};
    flush();
}

/// Acts as the kernel does with a background process that reads from its terminal: stops the job, or reads end of file
/// where the group is orphaned.
void InputCopier::wait_for_terminal() {
    watch_ = {};
    if (terminal_->orphaned()) return end();
    terminal_wanted_();
}

void InputCopier::flush() {
    for (std::size_t at = 0; at < readers_.size();) {
        Reader& reader = readers_[at];
        const ssize_t put = reader.sent == buffer_.size()
                                ? 0
                                : write(reader.pipe.get(), buffer_.data() + reader.sent, buffer_.size() - reader.sent);
        if (put > 0) reader.sent += static_cast<std::size_t>(put);
        const bool gone = put < 0 && errno != EAGAIN && errno != EINTR;  // the worker closed its stdin or died
        const bool done = ended_ && reader.sent == buffer_.size();
        if (gone || done) {
            readers_.erase(readers_.begin() + static_cast<std::ptrdiff_t>(at));
            continue;
        }
        if (reader.sent == buffer_.size())
            reader.watch = {};
        else if (!reader.watch)
            reader.watch = loop_.writable(reader.pipe.get(), [this] { loop_.post([this] { flush(); }); });
        ++at;
    }
    std::size_t sent_to_all = buffer_.size();
    for (const auto& reader : readers_) sent_to_all = std::min(sent_to_all, reader.sent);
    buffer_.erase(0, sent_to_all);
    for (auto& reader : readers_) reader.sent -= sent_to_all;
    if (buffer_.size() >= kMostAhead)
        watch_ = {};
    else if (readers_.empty())
        end_copying();
    else
        read_more();
}

}  // namespace dlaunch::agent
