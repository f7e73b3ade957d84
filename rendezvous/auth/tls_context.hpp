#pragma once
/// The shared state of a process's TLS connections: the key of a job, or the certificates of an https client.

#include <array>
#include <cstddef>
#include <memory>
#include <string>

#include "rendezvous/auth/token.hpp"
#include "rendezvous/base/result.hpp"

struct ssl_ctx_st;
struct bio_method_st;

namespace dlaunch::auth {

struct OpenSsl;

inline constexpr std::size_t kKeyBytes = 32;
using Key = std::array<unsigned char, kKeyBytes>;

/// PEM files; empty: the system's authorities, and no certificate of one's own.
struct HttpsFiles {
    std::string authorities, certificate, key;
};

/// Loads OpenSSL. Immutable, so that threads may share it.
class TlsContext {
public:
    /// Both sides prove that they have the key of the token: TLS 1.3 with a pre-shared key and a fresh key exchange, no
    /// certificate, no ticket, no early data. A client hello without the key's name is refused before anything is
    /// computed for it.
    [[nodiscard]] static base::Result<std::shared_ptr<const TlsContext>> of(const Token& token);

    /// Clients of servers that have a certificate; TLS 1.2 at least. An error names the file.
    [[nodiscard]] static base::Result<std::shared_ptr<const TlsContext>> of(const HttpsFiles& files);

    ~TlsContext();
    TlsContext(const TlsContext&) = delete;
    TlsContext& operator=(const TlsContext&) = delete;

private:
    friend class Tls;
    friend struct TlsCallbacks;
    explicit TlsContext(const OpenSsl& ssl);
    [[nodiscard]] bool set_up() const;
    [[nodiscard]] bool set_up_key() const;
    [[nodiscard]] const Key& key() const { return key_; }

    const OpenSsl& ssl_;
    ssl_ctx_st* context_;
    bio_method_st* method_;
    bool has_key_ = false;  ///< else certificates
    Key key_{};
};

using TlsContextPtr = std::shared_ptr<const TlsContext>;

}  // namespace dlaunch::auth
