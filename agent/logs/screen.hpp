#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "agent/logs/console.hpp"
#include "agent/logs/lines.hpp"

namespace dlaunch::agent {

/// A console and the lines that are merged for it, with the loop's clock: what stdout and stderr of all workers are
/// shown on. Both lead to one screen when they are the same terminal, pipe or file.
class Screen {
public:
    static constexpr std::size_t kOwnBytes = 256 << 10;

    /// `on_change` is posted when sources that could not be read may be readable again, and when the queue is empty
    /// after its reader had been slow.
    Screen(base::Loop& loop, int fd, std::string name, Complaints& complaints, LineMixer::Rules rules,
           std::function<void()> on_change);
    ~Screen();

    /// See LineMixer.
    void expect(int local_rank, int stream) { mixer_.expect(local_rank, stream); }
    void end_round();
    [[nodiscard]] LineMixer::Source* add(LineSource source) { return mixer_.add(std::move(source)); }
    void feed(LineMixer::Source* source, std::string_view bytes);
    void end(LineMixer::Source* source);

    /// Whether more of the source should be read now; when not, `on_change` tells when to ask again.
    [[nodiscard]] bool may_read(const LineMixer::Source* source) {
        return !console_.full() && !mixer_.blocked(source) && !mixer_.ahead(source);
    }

    /// So many bytes should be read at once: they fit into the queue, even if each of them is a line and gets so much
    /// before it; and when lines are folded, nobody gets far ahead of the others by it.
    [[nodiscard]] std::size_t room(std::size_t lead_bytes);

    [[nodiscard]] bool full() { return console_.full(); }
    [[nodiscard]] bool terminal() const { return console_.terminal(); }
    [[nodiscard]] bool idle() { return console_.queue().empty(); }

    /// Shows a text of ours; drops it when kOwnBytes beyond the queue's bound wait for the reader.
    void say(std::string_view text);
    [[nodiscard]] std::size_t dropped_own() const { return dropped_own_; }

    /// Writes what can be written now.
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
    std::shared_ptr<Screen*> self_;  ///< posted callbacks ask it whether we are still there
};

}  // namespace dlaunch::agent
