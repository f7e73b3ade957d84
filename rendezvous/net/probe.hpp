#pragma once
/// Finds out what listens at a place, without joining a job.

#include <cstdint>
#include <string>

#include "rendezvous/base/time.hpp"

namespace dlaunch::rendezvous {

struct Answer {
    enum class Kind : std::uint8_t {
        coordinator,  ///< of this job
        refused,      ///< a coordinator that refuses this node; `text` is its reason
        stranger,     ///< something else listens there
        silent,       ///< it takes connections and sends nothing
        nobody,       ///< the machine is there, the port is closed
        unreachable,
    };
    Kind kind = Kind::unreachable;
    std::string text;  ///< one line for people: the answer, or why nothing came
};

/// Describes bytes that are not a coordinator's: `it says "HTTP/1.1 400 Bad Request"`.
[[nodiscard]] std::string who_speaks_so(const std::string& first_bytes);

/// Blocks up to `patience`. The address is numeric.
[[nodiscard]] Answer probe(const std::string& address, int port, const std::string& version, const std::string& job_id,
                           Milliseconds patience);

}  // namespace dlaunch::rendezvous
