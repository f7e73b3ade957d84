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
/// update keeps its '\r' bytes unchanged. No state is left out, but where equal lines of several ranks are coalesced:
/// there a bar is a line per update, of the latest state that the ranks share or else of each one's latest, and its end
/// is a line of the last state.
///
/// On a terminal to which a worker writes by itself, a bar that moved in place would run over that worker's prompts.
/// There each update is a line, too, of the bar's latest state.
///
/// A prompt is an unfinished line of a source whose user types (LineSource::reads_terminal). The mixer shows it after a
/// moment in which the line has not been finished, and the rest of the line behind it, as if both were a bar's states.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/logs/byte_queue.hpp"
#include "agent/logs/coalescer.hpp"
#include "agent/logs/mixer.hpp"
#include "rendezvous/base/loop.hpp"

namespace dlaunch::agent {

/// Merges the lines of many sources into one queue of bytes. No I/O and no clock.
class LineMixer final : public Mixer {
public:
    struct Rules {
        bool terminal = false;
        bool others_write = false;  ///< a worker writes to the terminal by itself
        std::size_t hold_limit = 1 << 20;
        base::Duration patience = std::chrono::seconds(5);      ///< silence after which the owner loses the console
        base::Duration update_every = std::chrono::seconds(1);  ///< for a progress bar that needs a new line per update
        base::Duration prompt_after = std::chrono::milliseconds(50);
        std::function<std::string()> stamp{};  ///< printed before every prefix; may be empty
        /// Makes the prefix of a line that these local ranks printed; set when lines are to be coalesced.
        std::function<std::string(const std::vector<int>& local_ranks)> coalesced_prefix{};
    };
    LineMixer(Rules rules, ByteQueue& out);
    ~LineMixer() override;

    void expect(int local_rank, int stream) override;
    void end_round(base::Time now) override;
    [[nodiscard]] Source* add(LineSource source) override;
    /// Holds the bytes of a blocked source without a limit until the console is free.
    void feed(Source* source, std::string_view bytes, base::Time now) override;
    /// Shows the rest of the bytes with a newline.
    void end(Source* source, base::Time now) override;

    /// The source that has the console and blocks all others; null: none.
    [[nodiscard]] const Source* owner() const;
    [[nodiscard]] bool blocked(const Source* source) const { return owner_ && owner() != source; }
    /// Many lines of this source wait for other ranks: the caller should read those first.
    [[nodiscard]] bool ahead(const Source* source) const;
    [[nodiscard]] bool must_wait(const Source* source) const override { return blocked(source) || ahead(source); }
    /// Whether any source has stopped being ahead, or the console has another owner, since the last call.
    [[nodiscard]] bool take_released() override;
    [[nodiscard]] bool coalesces() const override { return static_cast<bool>(rules_.coalesced_prefix); }

    void print(std::string_view text, base::Time now) override;
    [[nodiscard]] std::optional<base::Time> deadline() const override;
    void advance(base::Time now) override;

    /// Restarts the owner's patience: the owner was not read, so its silence does not count.
    void excuse(base::Time now) override { owner_spoke_ = now; }

private:
    struct Stream;
    void begin(const std::string& prefix);
    [[nodiscard]] std::string_view go_on(std::string_view bytes, base::Time now);
    void take(Stream& source, std::string_view bytes, base::Time now);
    void hold(Stream& source, std::string_view bytes, base::Time now);
    void show(Stream& source, std::string_view lines, base::Time now);
    void show_lines(std::string_view lines);
    void show_pieces(Stream& source, std::string_view pieces);
    void put(Stream& source, std::string_view piece);
    void plan_update(Stream& source, base::Time now);
    void plan_update_at(Stream& source, base::Time at);
    void show_update(Stream& source);
    void show_latest_state(Stream& source);
    void coalesce_states(int stream, base::Time now);
    void show_updates(base::Time now);
    void show_coalesced(base::Time now);
    void show_coalesced(const Coalescer::Line& line);
    void close_piece(const void* unless_of);
    void give_up_console(base::Time now);
    [[nodiscard]] bool coalesces(const LineSource& what) const { return coalesces() && !what.apart; }
    void serve_waiting(base::Time now);
    void erase(Stream* source);

    Rules rules_;
    ByteQueue& out_;
    Coalescer coalescers_[2];
    std::vector<std::unique_ptr<Stream>> sources_;
    Stream* owner_ = nullptr;
    const Stream* last_owner_ = nullptr;  ///< at the last take_released()
    base::Time owner_spoke_;
    base::Time next_update_ = base::Time::max();  ///< the earliest of all sources
    bool open_ = false;                           ///< the last byte shown was no newline
    const void* opener_ = nullptr;                ///< the source of the open line
    std::string lead_;                            ///< stamp and prefix of the current lines
    std::vector<int> coalesced_ranks_;            ///< of the last coalesced line: caches coalesced_prefix_
    std::string coalesced_prefix_;
};

}  // namespace dlaunch::agent
