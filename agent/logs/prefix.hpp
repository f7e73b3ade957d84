#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace dlaunch::agent {

/// Values of the macros of --log-line-prefix-template. Ranks are text: a coalesced line has several ("0-3,7").
struct PrefixValues {
    std::string role_name, local_rank, rank, hostname;
};

/// Replaces ${name} and $name and halves `$$`, as Python's string.Template.safe_substitute does: unknown names and lone
/// `$` stay as they are.
[[nodiscard]] std::string expand_prefix(std::string_view prefix_template, const PrefixValues& values);

/// The prefixes of a node's workers in the current round.
class LinePrefixes {
public:
    /// `roles`: by local rank.
    LinePrefixes(std::string prefix_template, std::string hostname, std::vector<std::string> roles)
        : template_(std::move(prefix_template)), hostname_(std::move(hostname)), roles_(std::move(roles)) {}

    /// The worker's rank in this round. To be called before of().
    void set_rank(int local_rank, int rank) { ranks_[local_rank] = rank; }
    /// Of a line that all these workers printed: their roles, each once, and ranges of ranks.
    [[nodiscard]] std::string of(const std::vector<int>& local_ranks) const;
    [[nodiscard]] std::string of_template() const;
    /// "rank 3", "ranks 0-2".
    [[nodiscard]] std::string ranks(const std::vector<int>& local_ranks) const;

private:
    std::string template_, hostname_;
    std::vector<std::string> roles_;
    std::unordered_map<int, int> ranks_;  ///< global ranks by local rank
};

/// `text` in the colour of a rank, for terminals; empty for an empty text.
[[nodiscard]] std::string coloured(std::string_view text, int rank);

/// Whether a terminal's user wants colours: $NO_COLOR is unset or empty and $TERM is not dumb (null: unset).
[[nodiscard]] bool wants_colours(const char* no_color, const char* term);

/// "2026-11-21T08:20:46.123Z ", with the trailing blank.
[[nodiscard]] std::string timestamp(std::chrono::system_clock::time_point when);

}  // namespace dlaunch::agent
