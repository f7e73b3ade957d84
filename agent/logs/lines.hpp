#pragma once
/// Merges the workers' lines for one console and tears none, whatever bytes the workers write.
///
/// The mixer holds the bytes of an unfinished line until the newline arrives or the stream ends (then the mixer adds a
/// newline, on the console only). A line that exceeds the hold limit takes the console: its bytes pass at once, and
/// every other source is blocked until the newline arrives, or until the owner has been silent for a while and the
/// mixer ends the line.
///
/// A progress bar is a line that '\r' rewrites and that may stay unfinished for hours. The mixer shows every state of a
/// bar with its prefix: at once where the state overwrites the bar's earlier state on a terminal, else (in a pipe, or
/// after another rank's bar, where each update takes a new line) once per Rules::update_every. When another line came
/// between, the mixer repeats the last state as a whole. In a pipe or file, a line that ends before its first periodic
/// update keeps its '\r' bytes unchanged. No state is ever left out.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/logs/byte_queue.hpp"
#include "agent/logs/coalescer.hpp"
#include "rendezvous/base/loop.hpp"

namespace dlaunch::agent {

/// The display of one stream of one worker on a console.
struct LineSource {
    int local_rank = 0;
    int stream = 0;      ///< 0 or 1; lines are coalesced within a stream
    std::string prefix;  ///< printed before every line, colours included
    bool raw = false;    ///< bytes pass at once and unchanged
    bool apart = false;  ///< lines are never coalesced
};

/// Merges the lines of many sources into one queue of bytes. No I/O and no clock.
class LineMixer {
public:
    struct Rules {
        bool terminal = false;
        std::size_t hold_limit = 1 << 20;
        base::Duration patience = std::chrono::seconds(5);      ///< silence after which the owner loses the console
        base::Duration update_every = std::chrono::seconds(1);  ///< for a progress bar that needs a new line per update
        std::function<std::string()> stamp{};                   ///< printed before every prefix; may be empty
        /// Makes the prefix of a line that these local ranks printed; set when lines are to be coalesced.
        std::function<std::string(const std::vector<int>& local_ranks)> coalesced_prefix{};
    };
    struct Source;

    LineMixer(Rules rules, ByteQueue& out);
    ~LineMixer();

    /// Announces a source of this round before add(). Where lines are coalesced, other ranks' lines wait for it.
    void expect(int local_rank, int stream);
    /// No announced source will be added any more: shows all lines that waited for one.
    void end_round(base::Time now);

    /// The result is valid until end().
    [[nodiscard]] Source* add(LineSource source);

    /// Takes bytes of a source. Holds those of a blocked source without a limit until the console is free.
    void feed(Source* source, std::string_view bytes, base::Time now);

    /// Ends the stream: shows the rest of its bytes, with a newline.
    void end(Source* source, base::Time now);

    /// The source that has the console and blocks all others; null: none.
    [[nodiscard]] const Source* owner() const { return owner_; }
    [[nodiscard]] bool blocked(const Source* source) const { return owner_ && owner_ != source; }

    [[nodiscard]] bool coalesces() const { return static_cast<bool>(rules_.coalesced_prefix); }
    /// Many lines of this source wait for other ranks: the caller should read those first.
    [[nodiscard]] bool ahead(const Source* source) const;
    /// Whether any source has stopped being ahead since the last call.
    [[nodiscard]] bool take_released();

    /// Shows a text of dlaunch at the start of a line, after all earlier lines.
    void print(std::string_view text, base::Time now);

    /// The time when advance() has work; none: no timer is needed.
    [[nodiscard]] std::optional<base::Time> deadline() const;
    void advance(base::Time now);

    /// Restarts the owner's patience: the owner was not read, so its silence does not count.
    void excuse_owner(base::Time now) { owner_spoke_ = now; }

private:
    void begin(const std::string& prefix);
    [[nodiscard]] std::string_view go_on(std::string_view bytes, base::Time now);
    void take(Source& source, std::string_view bytes, base::Time now);
    void hold(Source& source, std::string_view bytes, base::Time now);
    void show(Source& source, std::string_view lines, base::Time now);
    void show_lines(std::string_view lines);
    void show_pieces(Source& source, std::string_view pieces);
    void put(Source& source, std::string_view piece);
    void plan_update(Source& source, base::Time now);
    void show_update(Source& source, base::Time now);
    void coalesce_states(const Source& source, std::string_view states, base::Time now);
    void show_updates(base::Time now);
    void show_coalesced(base::Time now);
    void show_coalesced(const Coalescer::Line& line);
    void close_piece(const void* unless_of);
    void give_up_console(base::Time now);
    [[nodiscard]] bool coalesces(const LineSource& what) const { return coalesces() && !what.apart; }
    void serve_waiting(base::Time now);
    void erase(Source* source);

    Rules rules_;
    ByteQueue& out_;
    Coalescer coalescers_[2];
    std::vector<std::unique_ptr<Source>> sources_;
    Source* owner_ = nullptr;
    base::Time owner_spoke_;
    base::Time next_update_ = base::Time::max();  ///< the earliest of all sources
    bool open_ = false;                           ///< the last byte shown was no newline
    const void* opener_ = nullptr;                ///< the source of the open line
    std::string lead_;                            ///< stamp and prefix of the current lines
    std::vector<int> coalesced_ranks_;            ///< of the last coalesced line: caches coalesced_prefix_
    std::string coalesced_prefix_;
};

}  // namespace dlaunch::agent
