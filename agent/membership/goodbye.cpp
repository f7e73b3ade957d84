#include "agent/membership/goodbye.hpp"

#include <sys/random.h>

#include "agent/process/guard.hpp"
#include "rendezvous/auth/key.hpp"
#include "rendezvous/auth/openssl.hpp"
#include "rendezvous/wire/rounds.hpp"

namespace dlaunch::agent {
namespace {

/// Empty: the kernel has none.
std::string random_bytes() {
    std::string bytes(kLongestGoodbye, '\0');
    const bool is_full = getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size());
    return is_full ? bytes : "";
}

}  // namespace

Goodbye make_goodbye(bool inside_tls) {
    if (!inside_tls) return {wire::encode(rendezvous::Gone{}), wire::encode(rendezvous::Gone{.returns = true})};
    const auto ssl = auth::OpenSsl::load();
    Goodbye made{random_bytes(), random_bytes()};
    if (!ssl || made.gone.empty() || made.returns.empty()) return {};  // its node is lost by silence then
    made.hashes = {auth::sha256(**ssl, made.gone), auth::sha256(**ssl, made.returns)};
    return made;
}

}  // namespace dlaunch::agent
