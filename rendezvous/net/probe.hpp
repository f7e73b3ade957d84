#pragma once
/// Identifies the service that listens at an address, without joining a job.

#include <cstdint>
#include <string>

#include "rendezvous/auth/tls_context.hpp"
#include "rendezvous/base/time.hpp"

namespace dlaunch::rendezvous {

struct Answer {
    enum class Kind : std::uint8_t {
        coordinator,      ///< of this job
        refused,          ///< a coordinator that refuses this node; `text` is its reason
        foreign_service,  ///< another service listens there
        silent,           ///< accepts connections and sends nothing
        closed_port,      ///< the machine refuses the connection
        unreachable,
    };
    Kind kind = Kind::unreachable;
    std::string text;  ///< one line for users: the answer, or the reason for none
};

/// Describes bytes that are not a coordinator's: `it sends "HTTP/1.1 400 Bad Request"`.
[[nodiscard]] std::string describe_foreign_service(const std::string& first_bytes);

/// Blocks up to `patience`. The address is numeric. `tls`: of a job with a token. `insists`: after half of the time the
/// input ends, and a service that waited for more, such as HTTP's, answers or closes; a proxy whose coordinator does
/// not listen yet may close as well.
[[nodiscard]] Answer probe(const std::string& address, int port, const std::string& version, const std::string& job_id,
                           Milliseconds patience, const auth::TlsContextPtr& tls = nullptr, bool insists = false);

}  // namespace dlaunch::rendezvous
