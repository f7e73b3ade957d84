#pragma once
/// Asks who answers at a place, without joining anything.

#include <cstdint>
#include <string>

#include "rendezvous/base/time.hpp"

namespace dlaunch::rendezvous {

struct Answer {
    enum class Kind : std::uint8_t {
        coordinator,  ///< of this job
        refused,      ///< a coordinator that does not want us; `text` is its reason
        stranger,     ///< something else listens there
        silent,       ///< it takes connections and says nothing
        nobody,       ///< the machine is there, the port is closed
        unreachable,
    };
    Kind kind = Kind::unreachable;
    std::string text;  ///< one line for people: what it said, or why nothing came
};

/// Who sent these bytes, which are not a coordinator's, in words: `it says "HTTP/1.1 400 Bad Request"`.
[[nodiscard]] std::string who_speaks_so(const std::string& first_bytes);

/// Blocks up to `patience`. The address is numeric.
[[nodiscard]] Answer probe(const std::string& address, int port, const std::string& version, const std::string& job_id,
                           Milliseconds patience);

}  // namespace dlaunch::rendezvous
