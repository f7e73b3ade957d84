#pragma once
/// The first record of a TLS client. The answer to it costs 44 KiB and 0.1 ms, so that a server computes nothing before
/// the record is complete. No I/O.

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace dlaunch::auth {

/// No message of dlaunch or of a torch client begins with this byte.
inline constexpr char kHandshakeRecord = 0x16;
inline constexpr std::size_t kMostClientHello = 2 << 10;  ///< ours has 300 bytes

enum class ClientHello : std::uint8_t {
    partial,
    whole,  ///< further bytes may follow it
    none,   ///< no TLS, or a longer record than any client of dlaunch sends
};

/// `bytes`: all that a client has sent so far.
[[nodiscard]] ClientHello client_hello(std::string_view bytes);

}  // namespace dlaunch::auth
