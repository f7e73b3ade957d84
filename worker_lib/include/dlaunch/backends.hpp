#pragma once
/// What the backends can do, and which of them can be used here: what `dlaunch backends` prints.

#include <span>
#include <string>

#include <dlaunch/buffer.hpp>

namespace dlaunch {

/// What a backend may or may not carry.
enum class Feature : std::uint8_t {
    send_recv,
    recv_any,  ///< a receive from any rank, tags, and receives of "up to" so many
    broadcast,
    reduce,
    all_reduce,
    gather,
    scatter,
    all_gather,
    reduce_scatter,
    all_to_all,
    counts,   ///< gatherv, all_to_allv and so on
    bitwise,  ///< band, bor, bxor; and reductions of int16, uint16 and bool
    barrier,
};
inline constexpr int kFeatures = 13;

enum class Support : std::uint8_t {
    no,      ///< refused, with an invalid_argument Error
    yes,     ///< where the memory is
    copied,  ///< by way of the other memory, and the caller's thread waits
};

struct Capabilities {
    const char* backend;  ///< "shm"
    Device device;        ///< where the buffers are
    Support support[kFeatures];
};

/// Every backend with every kind of memory.
[[nodiscard]] std::span<const Capabilities> capabilities();
/// Where one of the two is unknown: no.
[[nodiscard]] Support supports(const std::string& backend, Feature feature, Device device);

/// Why no group on this machine could use the backend, in one line; empty: it can. Loads what the backend needs.
[[nodiscard]] std::string why_unusable(const std::string& backend);

/// All of that as text of several lines.
[[nodiscard]] std::string describe_backends();

}  // namespace dlaunch
