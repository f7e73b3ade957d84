#pragma once
/// Whether the numbers of a message that has been read are in their ranges.

#include "rendezvous/wire/messages.hpp"

namespace dlaunch::wire {

[[nodiscard]] bool sane(const auto&) { return true; }
[[nodiscard]] bool sane(const rendezvous::Join& message);
[[nodiscard]] bool sane(const rendezvous::Report& message);
[[nodiscard]] bool sane(const rendezvous::Leave& message);
[[nodiscard]] bool sane(const rendezvous::Welcome& message);
[[nodiscard]] bool sane(const rendezvous::Assigned& message);
[[nodiscard]] bool sane(const rendezvous::StopRound& message);
[[nodiscard]] bool sane(const rendezvous::Standbys& message);
[[nodiscard]] bool sane(const rendezvous::Snapshot& snapshot);

}  // namespace dlaunch::wire
