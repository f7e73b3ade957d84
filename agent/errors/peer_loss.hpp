#pragma once
/// Tells failures that follow from the loss of a peer from failures of a rank's own: by its message. A rank that closes
/// its connections before it exits makes its peers fail, and exit, before it does.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agent/errors/failure.hpp"

namespace dlaunch::agent {

/// A message of a lost peer, as a framework, a library or the C library words it.
struct PeerLossPattern {
    std::string_view text;    ///< in lower case, "#" for a number; found anywhere in the message, in any case
    std::string_view source;  ///< the software that prints it
};

/// All patterns, for tests and readers.
[[nodiscard]] std::span<const PeerLossPattern> peer_loss_patterns();

/// The part of a stderr tail that states the error of its process: the exception that a Python traceback ends with (of
/// chained ones the first), what() of an uncaught C++ exception, a fatal error of MPI, else the last line. Without
/// warnings, and without the prefix of torch ("[rank1]: "). Empty: there is none.
[[nodiscard]] std::string error_message(const std::vector<std::string>& stderr_tail);

struct PeerLoss {
    std::vector<int> ranks;  ///< that the message names, without `own_rank`; in their order in the text
};

/// None: the message does not report a lost peer.
[[nodiscard]] std::optional<PeerLoss> peer_loss(std::string_view message, int own_rank);

/// Looks at the failure's error record and its message.
[[nodiscard]] std::optional<PeerLoss> peer_loss(const Failure& failure);

}  // namespace dlaunch::agent
