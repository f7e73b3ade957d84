#include "rendezvous/auth/client_hello.hpp"

namespace dlaunch::auth {
namespace {

constexpr char kMajorVersion = 3;
constexpr std::size_t kHead = 5;  // type, version, length in two bytes, the most significant one first

}  // namespace

ClientHello client_hello(std::string_view bytes) {
    if (!bytes.empty() && bytes[0] != kHandshakeRecord) return ClientHello::none;
    if (bytes.size() > 1 && bytes[1] != kMajorVersion) return ClientHello::none;
    if (bytes.size() < kHead) return ClientHello::partial;
    const std::size_t length =
        std::size_t{static_cast<unsigned char>(bytes[3])} << 8 | static_cast<unsigned char>(bytes[4]);
    if (kHead + length > kMostClientHello) return ClientHello::none;
    return bytes.size() < kHead + length ? ClientHello::partial : ClientHello::whole;
}

}  // namespace dlaunch::auth
