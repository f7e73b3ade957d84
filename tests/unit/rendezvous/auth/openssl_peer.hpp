#pragma once
/// A peer of an engine that uses OpenSSL as any other program does.

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "rendezvous/auth/key.hpp"
#include "rendezvous/auth/tls.hpp"

namespace dlaunch::auth {

class OpenSslPeer {
public:
    using Context = std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)>;
    using Session = std::unique_ptr<SSL_SESSION, decltype(&SSL_SESSION_free)>;

    /// `set_up` may change the context before the connection is made.
    explicit OpenSslPeer(const std::function<void(SSL_CTX*)>& set_up = {})
        : context_(SSL_CTX_new(TLS_method()), SSL_CTX_free), ssl_(nullptr, SSL_free) {
        if (set_up) set_up(context_.get());
        ssl_.reset(SSL_new(context_.get()));
        in_ = BIO_new(BIO_s_mem());
        out_ = BIO_new(BIO_s_mem());
        SSL_set_bio(ssl_.get(), in_, out_);
    }

    [[nodiscard]] SSL* ssl() const { return ssl_.get(); }

    /// Bytes for the engine, once.
    std::string take() {
        char* bytes = nullptr;
        const long length = BIO_get_mem_data(out_, &bytes);
        std::string taken(bytes, static_cast<std::size_t>(length));
        (void)BIO_reset(out_);
        return taken;
    }
    void give(std::string_view bytes) { BIO_write(in_, bytes.data(), static_cast<int>(bytes.size())); }

    /// Lets both shake hands until neither has bytes for the other.
    void meet(Tls& engine, bool as_client) {
        ERR_clear_error();
        as_client ? SSL_set_connect_state(ssl()) : SSL_set_accept_state(ssl());
        for (int turn = 0; turn < 8; ++turn) {
            SSL_do_handshake(ssl());
            ERR_clear_error();
            engine.feed(take());
            give(engine.sealed());
            engine.sealed().clear();
        }
    }

    /// A key as OpenSSL has external ones.
    static Session session(SSL* ssl, const Key& key) {
        constexpr unsigned char kAes128GcmSha256[] = {0x13, 0x01};
        Session made(SSL_SESSION_new(), SSL_SESSION_free);
        SSL_SESSION_set1_master_key(made.get(), key.data(), key.size());
        SSL_SESSION_set_cipher(made.get(), SSL_CIPHER_find(ssl, kAes128GcmSha256));
        SSL_SESSION_set_protocol_version(made.get(), TLS1_3_VERSION);
        return made;
    }

private:
    Context context_;
    std::unique_ptr<SSL, decltype(&SSL_free)> ssl_;
    BIO* in_ = nullptr;   // of ssl_
    BIO* out_ = nullptr;  // of ssl_
};

/// A client's call that offers a key under a name.
inline Key offered_key;
inline std::string offered_name;
inline std::uint32_t offered_early_data = 0;
inline int offer_key(SSL* ssl, const EVP_MD*, const unsigned char** name, std::size_t* length, SSL_SESSION** session) {
    *name = reinterpret_cast<const unsigned char*>(offered_name.data());
    *length = offered_name.size();
    *session = OpenSslPeer::session(ssl, offered_key).release();
    SSL_SESSION_set_max_early_data(*session, offered_early_data);
    return 1;
}

/// A client that offers the key of a token, unless the test changes it.
inline void offer(std::string_view token, std::string name = "dlaunch") {
    offered_key = key_of(**OpenSsl::load(), token);
    offered_name = std::move(name);
    offered_early_data = 0;
}

inline void offers_key(SSL_CTX* context) { SSL_CTX_set_psk_use_session_callback(context, offer_key); }

}  // namespace dlaunch::auth
