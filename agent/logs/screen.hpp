#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "agent/logs/console.hpp"
#include "agent/logs/lines.hpp"

namespace dlaunch::agent {

/// A console with its line mixer, driven by the loop's clock: shows stdout or stderr of all workers. One screen shows
/// both when they are the same terminal, pipe or file.
class Screen {
public:
    static constexpr std::size_t kOwnBytes = 256 << 10;

    /// `on_change` is posted when sources that may_read() had refused may be read again, and when the queue has become
    /// empty after its reader was slow.
    Screen(base::Loop& loop, int fd, std::string name, Warnings& warnings, LineMixer::Rules rules,
           std::function<void()> on_change);
    ~Screen();

    /// See LineMixer.
    void expect(int local_rank, int stream) { mixer_.expect(local_rank, stream); }
    void end_round();
    [[nodiscard]] LineMixer::Source* add(LineSource source) { return mixer_.add(std::move(source)); }
    void feed(LineMixer::Source* source, std::string_view bytes);
    void end(LineMixer::Source* source);

    /// Whether to read more of the source now; if not, call again after `on_change`.
    [[nodiscard]] bool may_read(const LineMixer::Source* source) {
        return !console_.full() && !mixer_.blocked(source) && !mixer_.ahead(source);
    }

    /// The number of bytes to read at once. They fit into the queue even if each byte is a line and gets `lead_bytes`
    /// before it (at least 4096). Where lines are coalesced the portion is small, so that no rank gets far ahead of
    /// other ranks.
    [[nodiscard]] std::size_t room(std::size_t lead_bytes);

    [[nodiscard]] bool full() { return console_.full(); }
    [[nodiscard]] bool terminal() const { return console_.terminal(); }
    [[nodiscard]] bool idle() { return console_.queue().empty(); }

    /// Shows a text of dlaunch; drops it when the queue exceeds its bound by kOwnBytes.
    void print(std::string_view text);
    [[nodiscard]] std::size_t dropped_own() const { return dropped_own_; }

    /// Writes as much as the console accepts now.
    void flush() { console_.flush(); }
    [[nodiscard]] base::Time progressed_at() const { return console_.progressed_at(); }
    std::size_t drop() { return console_.drop(); }

private:
    void settle();
    void set_timer();
    void on_timer();

    base::Loop& loop_;
    std::function<void()> on_change_;
    Console console_;
    LineMixer mixer_;
    const LineMixer::Source* last_owner_ = nullptr;
    bool flush_posted_ = false;
    std::size_t dropped_own_ = 0;
    base::Time timer_at_ = base::Time::max();
    base::Timer timer_;
    std::shared_ptr<Screen*> self_;  ///< posted callbacks check that this object still exists
};

}  // namespace dlaunch::agent
