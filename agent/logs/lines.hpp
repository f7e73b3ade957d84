#pragma once
/// No line is ever torn on the console, whatever the workers write.
///
/// The bytes of a rank's unfinished line are held until its newline comes or its stream ends (then a newline is added,
/// on the console only). A line that outgrows the hold limit takes the console: it passes as it comes, and nobody else
/// may print (nor should be read) until its newline, or until it has been silent for a while, when a newline ends it.
///
/// Progress bars are lines that '\r' rewrites and that may stay unfinished for hours. All that is there of one is
/// shown, every state with its prefix, at once where it overwrites its own states on a terminal; in a pipe, or after
/// another rank's bar, as it needs a new line there, once in a while. When somebody else's line came between, the last
/// state is shown again, whole. In a line that was finished sooner '\r' is an ordinary byte, and nothing is ever left
/// out.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/logs/byte_queue.hpp"
#include "agent/logs/fold.hpp"
#include "rendezvous/base/loop.hpp"

namespace dlaunch::agent {

/// One stream of one worker, as a console sees it.
struct LineSource {
    int local_rank = 0;
    int stream = 0;      ///< lines are folded with those of the same stream, 0 or 1
    std::string prefix;  ///< goes before every line, colours included
    bool raw = false;    ///< its bytes pass at once and unchanged
    bool apart = false;  ///< its lines are not folded with anybody's
};

/// Merges the lines of many sources for one console. No I/O and no clock; what is to be shown goes into the queue.
class LineMixer {
public:
    struct Rules {
        bool terminal = false;
        std::size_t hold_limit = 1 << 20;
        base::Duration patience = std::chrono::seconds(5);      ///< with a silent owner of the console
        base::Duration update_every = std::chrono::seconds(1);  ///< a progress bar that needs a new line for it
        std::function<std::string()> stamp{};                   ///< goes before every prefix; may be empty
        /// The prefix of a line that these local ranks printed; set when lines are to be folded.
        std::function<std::string(const std::vector<int>& local_ranks)> folded_prefix{};
    };
    struct Source;

    LineMixer(Rules rules, ByteQueue& out);
    ~LineMixer();

    /// Where lines are folded: a source that will come in this round, for which the others' lines wait.
    void expect(int local_rank, int stream);
    /// Nobody who was expected comes any more: shows all that waits for them.
    void end_round(base::Time now);

    /// The result is valid until end().
    [[nodiscard]] Source* add(LineSource source);

    /// Bytes of a blocked source are kept until it is its turn, however many they are.
    void feed(Source* source, std::string_view bytes, base::Time now);

    /// The stream's end: shows what is left of it, with a newline.
    void end(Source* source, base::Time now);

    /// Who has taken the console; all others are blocked.
    [[nodiscard]] const Source* owner() const { return owner_; }
    [[nodiscard]] bool blocked(const Source* source) const { return owner_ && owner_ != source; }

    [[nodiscard]] bool folds() const { return static_cast<bool>(rules_.folded_prefix); }
    /// Much of this source waits for others to print the same: they should be read first.
    [[nodiscard]] bool ahead(const Source* source) const;
    /// Whether a source that was ahead is so no more, since the last call.
    [[nodiscard]] bool take_released();

    /// A text of our own, after everything that was printed before it, at the start of a line.
    void say(std::string_view text, base::Time now);

    /// When advance() has something to do.
    [[nodiscard]] std::optional<base::Time> deadline() const;
    void advance(base::Time now);

    /// The owner could not speak, for nobody read it: its silence so far does not count.
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
    void fold_states(const Source& source, std::string_view states, base::Time now);
    void show_updates(base::Time now);
    void show_folded(base::Time now);
    void show_folded(const Fold::Line& line);
    void close_piece(const void* unless_of);
    void give_up_console(base::Time now);
    [[nodiscard]] bool folds(const LineSource& what) const { return folds() && !what.apart; }
    void serve_waiting(base::Time now);
    void erase(Source* source);

    Rules rules_;
    ByteQueue& out_;
    Fold folds_[2];
    std::vector<std::unique_ptr<Source>> sources_;
    Source* owner_ = nullptr;
    base::Time owner_spoke_;
    base::Time next_update_ = base::Time::max();  ///< no source's is earlier
    bool open_ = false;                           ///< the console stands inside a line
    const void* opener_ = nullptr;                ///< who left it there
    std::string lead_;                            ///< stamp and prefix of the lines that are being shown
    std::vector<int> folded_ranks_;  ///< of the last folded line, whose prefix most often is the next one's too
    std::string folded_prefix_;
};

}  // namespace dlaunch::agent
