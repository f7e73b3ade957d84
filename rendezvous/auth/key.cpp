#include "rendezvous/auth/key.hpp"

#include <string.h>

#include <stdexcept>

namespace dlaunch::auth {
namespace {

const unsigned char* bytes_of(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }

Key hmac(const OpenSsl& ssl, const Key& key, std::string_view data) {
    Key result{};
    unsigned length = 0;
    if (!ssl.HMAC(ssl.EVP_sha256(), key.data(), static_cast<int>(key.size()), bytes_of(data), data.size(),
                  result.data(), &length) ||
        length != result.size())
        throw std::runtime_error("OpenSSL has no HMAC with SHA-256");
    return result;
}

}  // namespace

Key key_of(const OpenSsl& ssl, std::string_view token) {
    constexpr Key kNoSalt{};
    constexpr std::string_view kInfo = "dlaunch psk\x01";  // the first block of the output, the only one needed
    Key extracted = hmac(ssl, kNoSalt, token);
    const Key key = hmac(ssl, extracted, kInfo);
    explicit_bzero(extracted.data(), extracted.size());
    return key;
}

std::string sha256(const OpenSsl& ssl, std::string_view bytes) {
    Key result{};
    unsigned length = 0;
    if (ssl.EVP_Digest(bytes.data(), bytes.size(), result.data(), &length, ssl.EVP_sha256(), nullptr) != 1 ||
        length != result.size())
        throw std::runtime_error("OpenSSL has no SHA-256");
    return {reinterpret_cast<const char*>(result.data()), result.size()};
}

}  // namespace dlaunch::auth
