#pragma once

#include <functional>
#include <limits>
#include <memory>
#include <optional>

#include "agent/logs/filter.hpp"
#include "agent/logs/last_line.hpp"
#include "agent/logs/log_file.hpp"
#include "agent/logs/screen.hpp"
#include "agent/logs/tail.hpp"
#include "agent/process/window_size.hpp"
#include "rendezvous/base/fd.hpp"
#include "rendezvous/base/loop.hpp"

namespace dlaunch::agent {

/// One stream of one worker: reads the pipe and copies its bytes to log file, tail, filter and screen.
class Channel {
public:
    /// Shared by all channels of an agent; must outlive them.
    struct Shared {
        base::Loop& loop;
        bool timestamps = false;
        int pipe_bytes = 0;            ///< size of a busy stream's pipe
        std::function<void()> on_end;  ///< posted when a channel has ended
        std::unique_ptr<char[]> buffer = std::make_unique_for_overwrite<char[]>(kBufferBytes);
    };
    struct Targets {
        LogFile file;
        Tail* tail = nullptr;
        LastLine* last_line = nullptr;
        std::optional<LineFilter> filter;
        LogFile* filtered = nullptr;  ///< set when there is a filter
        Screen* screen = nullptr;
        Screen* fallback = nullptr;  ///< without `screen`: for bytes that the file cannot take; null: nowhere
        LineSource line;             ///< the stream's lines on the screen
    };

    /// Reads from the non-blocking `pipe`, from the next turn of the loop on.
    Channel(Shared& shared, base::UniqueFd pipe, Targets targets);
    /// The pipe is the master of a pseudo-terminal.
    void set_terminal() { is_terminal_ = true; }
    void resize(WindowSize size) const;
    ~Channel();

    /// Whether the last bytes of the stream are among the last lines on its screen.
    [[nodiscard]] bool is_on_screen() const {
        return targets_.screen && shown_at_ && targets_.screen->shows_still(*shown_at_);
    }

    [[nodiscard]] bool open() const { return static_cast<bool>(pipe_); }

    /// Watches the pipe while the screen accepts bytes, else stops watching.
    void regulate();

    /// Reads the bytes that the pipe holds now, and passes all to the screen, even beyond its bound.
    void read_now();

    /// The worker is dead: the stream ends after the bytes that the pipe holds now, even if another process writes
    /// more.
    void drain();

    /// For a process that lives on after a round: shows what the pipe holds now, the last line even without its end,
    /// and nothing more before resume().
    void pause();
    void resume();

    /// Reads the rest, ends the stream and returns the number of bytes for which the screen had no space.
    [[nodiscard]] std::uint64_t give_up();

private:
    static constexpr std::size_t kBufferBytes = 256 << 10;

    /// More than the kernel buffers for a pseudo-terminal, which does not report the number of buffered bytes.
    static constexpr std::size_t kMostInTerminal = 256 << 10;

    /// Bound of one read loop: a process that holds the pipe may still write.
    static constexpr std::size_t kAtOnceBytes = 4 << 20;

    [[nodiscard]] bool may_read() { return !targets_.screen || targets_.screen->may_read(source_); }
    [[nodiscard]] std::size_t waiting_bytes() const;
    [[nodiscard]] std::string_view read_some(std::size_t most);
    void read_ready();
    void enlarge_pipe(std::size_t seen);
    void deliver(std::string_view bytes, bool to_screen);
    void open_screen();
    void end();

    Shared& shared_;
    base::UniqueFd pipe_;
    Targets targets_;
    Mixer::Source* source_ = nullptr;
    std::size_t lead_bytes_ = 0;
    std::optional<Screen::Place> shown_at_;  ///< place of the last bytes on the screen
    bool falls_back_ = false;                ///< the screen shows only what the file cannot take
    bool enlarged_ = false, is_terminal_ = false;
    bool draining_ = false, paused_ = false;
    std::size_t rest_ = std::numeric_limits<std::size_t>::max();  ///< bytes to read until the stream ends
    base::Watch watch_;
};

}  // namespace dlaunch::agent
