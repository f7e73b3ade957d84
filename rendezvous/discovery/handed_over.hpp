#pragma once
/// The state that a coordinator hands over to its successor: a line in its claim, "record TIME SNAPSHOT", with the
/// snapshot in hexadecimal. No I/O.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "rendezvous/wire/job.hpp"

namespace dlaunch::rendezvous {

struct HandedOver {
    std::int64_t at_ms = 0;  ///< since 1970, by the file server's clock
    Snapshot snapshot;
    bool operator==(const HandedOver&) const = default;

    /// No node has joined the coordinator: its options and its number of rounds bind no successor.
    [[nodiscard]] bool is_unused() const {
        return snapshot.complete && snapshot.round < 0 && snapshot.nodes == 0 && !snapshot.verdict;
    }
};

[[nodiscard]] std::string record_line(std::int64_t at_ms, std::string_view snapshot);
/// None: the claim has no complete line, as on a disk that was full.
[[nodiscard]] std::optional<HandedOver> handed_over_in(std::string_view claim);

}  // namespace dlaunch::rendezvous
