#pragma once
/// Secrets that are derived from a job's token.

#include <string>
#include <string_view>

#include "rendezvous/auth/openssl.hpp"
#include "rendezvous/auth/tls_context.hpp"

namespace dlaunch::auth {

/// The name under which the peers of a job know the key.
inline constexpr std::string_view kIdentity = "dlaunch";

/// The external pre-shared key: HKDF-SHA-256 (RFC 5869) of the token, without salt, info "dlaunch psk". An operator can
/// thus test a port with `openssl s_client -psk`.
[[nodiscard]] Key key_of(const OpenSsl& ssl, std::string_view token);

/// 32 bytes.
[[nodiscard]] std::string sha256(const OpenSsl& ssl, std::string_view bytes);

}  // namespace dlaunch::auth
