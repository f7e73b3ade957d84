#pragma once
/// Distinguishes, by the message, failures that follow from the loss of a peer from a rank's own. A rank that closes
/// its connections before it exits makes its peers fail, and exit, before it does.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agent/errors/failure.hpp"

namespace dlaunch::agent {

/// A message about a lost peer, in the wording of a framework, a library or the C library.
struct PeerLossPattern {
    /// "#" for a number, "%" for a rank other than the speaker's own, a newline for the end of a line; found anywhere
    /// in the message, in any case, but as it stands where it has a capital letter.
    std::string_view text;
    std::string_view source;  ///< the software that prints it
};

/// All patterns, for tests and readers.
[[nodiscard]] std::span<const PeerLossPattern> peer_loss_patterns();
/// What a rank reports that reads an end of stream as data, or waits in vain; so does a rank with a broken file or a
/// slow task of its own. In small letters.
[[nodiscard]] std::span<const PeerLossPattern> doubtful_patterns();

/// Joins an error to the loss that its rank had met.
inline constexpr std::string_view kWhileHandling = "\nwhile handling ";

/// In place of a rank.
inline constexpr int kNoRank = -1;

struct PeerLoss {
    std::vector<int> ranks{};          ///< that the message names, without `own_rank`; in their order in the text
    std::vector<std::string> hosts{};  ///< words that may name a host
    bool of_service = false;           ///< the message names a web server or a data base
    bool outside = false;              ///< the message is not one of a library by which ranks communicate
    bool suspect = false;              ///< it may as well be an error of the rank's own
};

/// None: the message does not report a lost peer.
[[nodiscard]] std::optional<PeerLoss> peer_loss(std::string_view message, int own_rank);

/// Looks at the failure's error record and its message.
[[nodiscard]] std::optional<PeerLoss> peer_loss(const Failure& failure);

}  // namespace dlaunch::agent
