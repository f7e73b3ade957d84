#pragma once
/// Equal lines that several ranks print at about the same time become one.
///
/// Every rank has a queue of lines that wait to be shown. A line leaves from the heads of all queues where it stands
/// at the head, and so no rank's lines ever change their order, while a line that only one rank printed keeps nobody
/// from folding what follows it:
///
///     rank 0   begin | mine 0 | end            [0-1] begin
///     rank 1   begin | mine 1 | end      ->    [0]   mine 0
///                                              [1]   mine 1
///                                              [0-1] end
///
/// A line leaves
/// * when every open rank has printed it, and it is at the head wherever it waits; else
/// * when it is the oldest and its window is over. If it waits in other ranks behind lines that can go before it
///   without being torn from their own copies, those go first;
/// * earlier when too much waits, or when no rank is open that could still print it.
///
/// Whoever floods gets far ahead of ranks that print the same a little later. Memory bounds the lead; so that the
/// flood still folds, ahead() asks the reader to let the others catch up. They have one window for that: a rank that
/// did not come is not waited for in this way (it is `apart`) until it prints what others print again.

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

/// No I/O and no clock of its own; times that are given to it do not go back.
class Fold {
public:
    struct Line {
        std::vector<int> ranks;  ///< ascending
        std::string text;
    };
    /// Bytes are those that wait for one rank, with kLineBytes for each line.
    struct Limits {
        base::Duration window = std::chrono::milliseconds(100);
        std::size_t ahead_bytes = 256 << 10;  ///< from here until half of it the rank is ahead
        std::size_t most_bytes = 1 << 20;     ///< beyond it the rank's oldest line leaves at once
    };
    static constexpr std::size_t kLineBytes = 64;  ///< about what a waiting line costs beside its text

    Fold() = default;
    explicit Fold(Limits limits) : limits_(limits) {}

    /// A rank (small, not negative) whose lines the others' wait for, from now until it is closed. Opening an open rank
    /// does nothing: one may be opened before it exists.
    void open(int rank);
    /// It will print no more. What it printed is still waiting.
    void close(int rank);
    void close_all();

    /// Also for ranks that are not open: nobody waits for those.
    void add(int rank, std::string_view text, base::Time now);

    /// The next line whose time has come; Time::max() empties the fold.
    [[nodiscard]] std::optional<Line> next(base::Time now);

    /// When next() will have something even if nothing more is printed.
    [[nodiscard]] std::optional<base::Time> deadline() const;

    /// Much of this rank waits for others: better read them first. It ends by itself, after the window at the latest.
    [[nodiscard]] bool ahead(int rank) const;

    /// Whether a rank that was ahead is so no more, since the last call.
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
    /// Each text that waits, once, with the ranks that it waits in.
    using Texts = std::unordered_map<std::string, std::vector<Copies>, TextHash, std::equal_to<>>;
    using Text = Texts::value_type;

    struct Waiting {
        Text* text;
        base::Time since;
        std::uint64_t number;  ///< in the order of arrival, over all ranks
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
    std::size_t open_ = 0;     ///< how many ranks are open
    std::size_t waiting_ = 0;  ///< lines in all queues
    std::uint64_t numbers_ = 0;
    bool released_ = false;
    Texts texts_;
};

}  // namespace dlaunch::agent
