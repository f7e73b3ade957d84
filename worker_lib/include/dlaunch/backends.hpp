#pragma once
/// Capabilities and availability of the backends, as printed by `dlaunch backends`.

#include <span>
#include <string>

#include <dlaunch/buffer.hpp>

namespace dlaunch {

/// Kinds of calls that a backend may or may not support.
enum class Feature : std::uint8_t {
    send_recv,
    recv_any,  ///< receives from any rank, tags, and RecvOptions::up_to
    broadcast,
    reduce,
    all_reduce,
    gather,
    scatter,
    all_gather,
    reduce_scatter,
    all_to_all,
    counts,   ///< the v-forms: gatherv, all_to_allv, ...
    bitwise,  ///< band, bor, bxor; and reductions of int16, uint16, bool and complex numbers
    barrier,
    scan,      ///< scan and exscan
    function,  ///< reductions by a function of the program
};
inline constexpr int kFeatures = 15;

enum class Support : std::uint8_t {
    no,      ///< refused with Error (invalid_argument)
    yes,     ///< operates directly on the memory
    copied,  ///< staged through the other kind of memory; blocks the calling thread
};

struct Capabilities {
    const char* backend;  ///< "shm"
    Device device;        ///< memory of the buffers
    Support support[kFeatures];
};

/// One entry for each backend and kind of memory.
[[nodiscard]] std::span<const Capabilities> capabilities();
/// Support::no for an unknown backend.
[[nodiscard]] Support supports(const std::string& backend, Feature feature, Device device);

/// Why the backend cannot be used on this machine, in one line; empty: it can. Loads the backend's libraries.
[[nodiscard]] std::string why_unusable(const std::string& backend);

/// The capabilities and availability of all backends as text of several lines.
[[nodiscard]] std::string describe_backends();

}  // namespace dlaunch
