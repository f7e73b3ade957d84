#pragma once
/// Coalesces equal lines that several ranks print at about the same time.
///
/// Each rank has a queue of lines that wait to be shown. A line leaves every queue that it heads. Therefore the lines
/// of a rank keep their order, and a line of a single rank does not prevent the lines after it from being coalesced:
///
///     rank 0   begin | mine 0 | end            [0-1] begin
///     rank 1   begin | mine 1 | end      ->    [0]   mine 0
///                                              [1]   mine 1
///                                              [0-1] end
///
/// A line leaves
/// * when every open rank has printed the line and it stands at the head of every queue that holds it; else
/// * when it is the oldest line and its window is over. Lines that stand before its copies in other queues go first, if
///   they can leave with all their own copies;
/// * earlier when a rank's queue exceeds its limit, or when no open rank can still print the line.
///
/// A rank that floods gets far ahead of ranks that print the same lines later, and the memory limit would show its
/// lines alone. Therefore ahead() makes the reader pause that rank until the other ranks catch up. They have one
/// window: a rank that does not print the line in time becomes `apart`, and no rank pauses for it until it prints a
/// common line again.

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "rendezvous/base/loop.hpp"

namespace dlaunch::agent {

/// No I/O and no clock of its own; callers pass times that never decrease.
class Coalescer {
public:
    struct Line {
        std::vector<int> ranks;  ///< ascending
        std::string text;
        base::Time since{};  ///< when the first of these ranks printed it
    };
    /// Byte limits apply to the queue of one rank; each line counts kLineBytes more than its text.
    struct Limits {
        base::Duration window = std::chrono::milliseconds(100);
        std::size_t ahead_bytes = 256 << 10;  ///< a rank that reaches this is ahead until its queue is half as long
        std::size_t most_bytes = 1 << 20;     ///< beyond this the rank's oldest line leaves at once
    };
    static constexpr std::size_t kLineBytes = 64;  ///< approximate memory of a waiting line beside its text

    Coalescer() = default;
    explicit Coalescer(Limits limits) : limits_(limits) {}

    /// Opens a rank (small, not negative): from now until close() the lines of other ranks wait for it. No effect on an
    /// open rank. A rank may be opened before its process exists.
    void open(int rank);
    /// The rank will print no more; its lines stay in the queue.
    void close(int rank);
    void close_all();

    /// Queues a line. The rank need not be open; other ranks' lines do not wait for a closed one.
    void add(int rank, std::string_view text, base::Time now);

    /// The next line that may leave now; with Time::max() every line may.
    [[nodiscard]] std::optional<Line> next(base::Time now);

    /// The oldest line of this rank, before its time, if the rank printed it until `until`.
    [[nodiscard]] std::optional<Line> next_of(int rank, base::Time until);

    /// The time when next() returns a line even if no rank prints any more.
    [[nodiscard]] std::optional<base::Time> deadline() const;

    /// The rank's queue is long: read the other ranks first. The state ends without further input, after the window at
    /// the latest.
    [[nodiscard]] bool ahead(int rank) const;

    /// Whether any rank has stopped being ahead since the last call.
    [[nodiscard]] bool take_released();

private:
    struct Copies {
        int rank;
        std::size_t count;
    };
    struct TextHash {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
    };
    /// Each waiting text once, with the ranks that queue it.
    using Texts = std::unordered_map<std::string, std::vector<Copies>, TextHash, std::equal_to<>>;
    using Text = Texts::value_type;

    struct Waiting {
        Text* text;
        base::Time since;
        std::uint64_t number;  ///< order of arrival over all ranks
    };
    struct Rank {
        std::deque<Waiting> queue;
        std::size_t bytes = 0;
        bool open = false, ahead = false, apart = false;

        [[nodiscard]] bool at_head(const Text& text) const { return !queue.empty() && queue.front().text == &text; }
    };

    [[nodiscard]] Rank& rank(int number);
    [[nodiscard]] bool ripe(const Text& text) const;
    [[nodiscard]] Text* complete() const;
    [[nodiscard]] Text* due(base::Time now);
    void part_from_others(const Text& text);
    [[nodiscard]] Text& first_before(Text& text) const;
    [[nodiscard]] Line take(Text& text);
    void pop(Rank& from);

    Limits limits_;
    std::vector<Rank> ranks_;  ///< by number
    std::size_t open_ = 0;     ///< number of open ranks
    std::size_t waiting_ = 0;  ///< lines in all queues
    std::uint64_t numbers_ = 0;
    bool released_ = false;
    Texts texts_;
};

}  // namespace dlaunch::agent
