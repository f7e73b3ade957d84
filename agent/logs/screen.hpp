#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "agent/logs/console.hpp"
#include "agent/logs/lines.hpp"
#include "agent/logs/live/live_mixer.hpp"
#include "agent/logs/mixer.hpp"

namespace dlaunch::agent {

/// A console with its line mixer, driven by the loop's clock: shows stdout or stderr of all workers. One screen shows
/// both when they are the same terminal, pipe or file.
class Screen {
public:
    static constexpr std::size_t kOwnBytes = 256 << 10;
    /// A live view lags behind the workers by as little as a terminal shows in a moment.
    static constexpr std::size_t kMostAhead = 32 << 10;

    /// `on_change` is posted when sources that may_read() had refused may be read again, and when the queue has become
    /// empty after its reader was slow.
    Screen(base::Loop& loop, int fd, std::string name, Warnings& warnings, LineMixer::Rules rules,
           std::function<void()> on_change);
    /// A terminal with the view of LiveMixer.
    Screen(base::Loop& loop, int fd, Warnings& warnings, LiveMixer::Rules rules, std::function<void()> on_change);
    /// A pipe to a front end with such a view.
    Screen(base::Loop& loop, int fd, Warnings& warnings, std::function<void()> on_change);
    ~Screen();

    // Of a live view; without effect on another console.
    void show(const JobProgress& progress);
    void show_notice(std::string text);
    void pause();
    void resume();

    /// A terminal shows nothing more, because it belongs to the shell, until release().
    void suspend();
    void release() { console_.release(); }

    /// See Mixer.
    void expect(int local_rank, int stream) { mixer_->expect(local_rank, stream); }
    void end_round();
    [[nodiscard]] Mixer::Source* add(LineSource source) { return mixer_->add(std::move(source)); }
    void feed(Mixer::Source* source, std::string_view bytes);
    void end(Mixer::Source* source);

    /// Whether to read more of the source now; if not, call again after `on_change`.
    [[nodiscard]] bool may_read(const Mixer::Source* source) { return accepts() && !mixer_->must_wait(source); }
    /// The same for any source.
    [[nodiscard]] bool accepts() { return may_go_on() && !console_.full(); }

    /// The number of bytes to read at once. They fit into the queue even if each byte is a line and gets `lead_bytes`
    /// before it (at least 4096). Where lines are coalesced the portion is small, so that no rank gets far ahead of
    /// other ranks.
    [[nodiscard]] std::size_t room(std::size_t lead_bytes);

    /// A place in the text of all sources.
    struct Place {
        std::uint64_t bytes = 0;
        std::uint64_t lines = 0;  ///< counted on a terminal only: files and pipes take text faster
    };
    [[nodiscard]] Place place() const { return place_; }
    /// Whether the text that ends at this place is among the last lines, also below a report.
    [[nodiscard]] bool shows_still(const Place& place) const;

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
    [[nodiscard]] bool may_go_on();
    void count_lines(const Mixer::Source* source, std::string_view bytes);
    void hold();
    void settle();
    void flush_composed();
    void set_timer();
    void on_timer();

    base::Loop& loop_;
    int fd_;
    std::function<void()> on_change_;
    Console console_;
    std::unique_ptr<Mixer> mixer_;
    bool is_live_ = false;
    bool must_hold_ = false, holds_ = false;  ///< text waits, so that the block below it can be seen
    base::Time held_at_{};
    base::Timer hold_;
    bool flush_posted_ = false;
    std::size_t dropped_own_ = 0;
    Place place_;
    std::set<const Mixer::Source*> unfinished_;  ///< sources whose last line has no end
    base::Time timer_at_ = base::Time::max();
    base::Timer timer_;
    std::shared_ptr<Screen*> self_;  ///< posted callbacks check that this object still exists
};

}  // namespace dlaunch::agent
