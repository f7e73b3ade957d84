#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "agent/logs/live/progress_line.hpp"
#include "agent/process/window_size.hpp"
#include "rendezvous/base/loop.hpp"

namespace dlaunch::agent {

/// The display of one stream of one worker on a console.
struct LineSource {
    int local_rank = 0;
    int stream = 0;               ///< 0 or 1; lines are coalesced within a stream
    std::string prefix;           ///< printed before every line, colours included
    bool raw = false;             ///< bytes pass at once and unchanged
    bool apart = false;           ///< lines are never coalesced
    bool reads_terminal = false;  ///< the user types behind the unfinished line
    base::Time since{};           ///< the start of the stream
    int rank = 0;                 ///< in the job
};

/// Merges the bytes of many sources into the bytes of one console. No I/O and no clock of its own; callers pass times
/// that never decrease.
class Mixer {
public:
    struct Source {};  ///< owned by the mixer

    virtual ~Mixer() = default;

    /// Announces a source of this round before add(). Where lines are coalesced, other ranks' lines wait for it.
    virtual void expect(int local_rank, int stream) = 0;
    /// No announced source will be added any more: shows all lines that waited for one.
    virtual void end_round(base::Time now) = 0;

    /// The result is valid until end().
    [[nodiscard]] virtual Source* add(LineSource source) = 0;
    virtual void feed(Source* source, std::string_view bytes, base::Time now) = 0;
    /// Ends the stream: shows the rest of its bytes.
    virtual void end(Source* source, base::Time now) = 0;

    /// Another source has the console, or must be read first.
    [[nodiscard]] virtual bool must_wait(const Source* source) const = 0;
    /// Whether must_wait() may have become false for any source since the last call.
    [[nodiscard]] virtual bool take_released() = 0;
    [[nodiscard]] virtual bool coalesces() const = 0;

    /// Shows a text of dlaunch at the start of a line, after all earlier lines.
    virtual void print(std::string_view text, base::Time now) = 0;

    /// The time when advance() has work; none: no timer is needed.
    [[nodiscard]] virtual std::optional<base::Time> deadline() const = 0;
    virtual void advance(base::Time now) = 0;
    /// The console is full, so its sources are not read: counts their silence from now on.
    virtual void excuse(base::Time /*now*/) {}

    // For a view of a terminal.

    /// compose() has work now.
    [[nodiscard]] virtual bool must_compose(base::Time /*now*/) const { return false; }
    /// The bytes wait for compose(), so that the view is not seen to go and come.
    [[nodiscard]] virtual bool waits_for_view(base::Time /*now*/) const { return false; }
    /// To be called before bytes are written to the console.
    virtual void compose(base::Time /*now*/) {}
    virtual void resize(WindowSize /*size*/) {}
    virtual void show_progress(const JobProgress& /*progress*/) {}
    /// What the job does, in place of its progress; empty: the progress.
    virtual void show_notice(std::string /*text*/) {}
    virtual void pause() {}
    /// Until pause() or resume() no process writes.
    virtual void suspend(base::Time /*now*/) {}
    virtual void resume() {}
};

}  // namespace dlaunch::agent
