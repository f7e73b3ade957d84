#include "rendezvous/auth/tls_callbacks.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "rendezvous/auth/key.hpp"
#include "rendezvous/auth/tls.hpp"

namespace dlaunch::auth {
namespace {

const OpenSsl& functions() { return **OpenSsl::load(); }

/// Two bytes, the high one first; then they are removed. -1: there are fewer.
int take_number(std::string_view& from) {
    if (from.size() < 2) return -1;
    const auto byte = [&from](std::size_t at) { return static_cast<unsigned char>(from[at]); };
    const int number = byte(0) << 8 | byte(1);
    from.remove_prefix(2);
    return number;
}

/// The first name in the extension pre_shared_key of a client hello (RFC 8446, 4.2.11).
std::string_view first_name(std::string_view extension) {
    if (take_number(extension) < 0) return {};
    const int length = take_number(extension);
    if (length < 0 || static_cast<std::size_t>(length) > extension.size()) return {};
    return extension.substr(0, static_cast<std::size_t>(length));
}

std::string_view text_of(const unsigned char* bytes, std::size_t length) {
    return {reinterpret_cast<const char*>(bytes), length};
}

}  // namespace

Tls& TlsCallbacks::engine_of(const SSL* ssl) { return *static_cast<Tls*>(functions().SSL_get_ex_data(ssl, 0)); }

// --- bytes ----------------------------------------------------------------------------------------------------------

int TlsCallbacks::read(BIO* bio, char* to, int most) {
    functions().BIO_clear_flags(bio, BIO_FLAGS_RWS | BIO_FLAGS_SHOULD_RETRY);
    std::string_view& from = static_cast<Tls*>(functions().BIO_get_data(bio))->incoming_;
    const std::size_t length = std::min(from.size(), static_cast<std::size_t>(std::max(most, 0)));
    if (length == 0) {
        functions().BIO_set_flags(bio, BIO_FLAGS_READ | BIO_FLAGS_SHOULD_RETRY);
        return -1;
    }
    std::memcpy(to, from.data(), length);
    from.remove_prefix(length);
    return static_cast<int>(length);
}

int TlsCallbacks::write(BIO* bio, const char* from, int length) {
    functions().BIO_clear_flags(bio, BIO_FLAGS_RWS | BIO_FLAGS_SHOULD_RETRY);
    static_cast<Tls*>(functions().BIO_get_data(bio))->sealed_.append(from, static_cast<std::size_t>(length));
    return length;
}

long TlsCallbacks::control(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }

// --- the pre-shared key ---------------------------------------------------------------------------------------------

/// Without this the server would answer a hello that it can only refuse later, and keep the state of a handshake.
int TlsCallbacks::client_hello(SSL* ssl, int* alert, void*) {
    const unsigned char* bytes = nullptr;
    std::size_t length = 0;
    if (functions().SSL_client_hello_get0_ext(ssl, TLSEXT_TYPE_psk, &bytes, &length) == 1 &&
        first_name(text_of(bytes, length)) == kIdentity)
        return SSL_CLIENT_HELLO_SUCCESS;
    engine_of(ssl).why_ = Tls::Failure::no_key;
    *alert = SSL_AD_HANDSHAKE_FAILURE;
    return SSL_CLIENT_HELLO_ERROR;
}

/// The key as OpenSSL has external ones: a session, of which it takes over the ownership. Null: no memory.
SSL_SESSION* TlsCallbacks::session_of(SSL* ssl) {
    constexpr unsigned char kAes128GcmSha256[] = {0x13, 0x01};
    const Key& key = engine_of(ssl).context_->key();
    SSL_SESSION* session = functions().SSL_SESSION_new();
    const SSL_CIPHER* cipher = functions().SSL_CIPHER_find(ssl, kAes128GcmSha256);
    if (session && cipher && functions().SSL_SESSION_set1_master_key(session, key.data(), key.size()) == 1 &&
        functions().SSL_SESSION_set_cipher(session, cipher) == 1 &&
        functions().SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION) == 1)
        return session;
    functions().SSL_SESSION_free(session);
    return nullptr;
}

int TlsCallbacks::find_key(SSL* ssl, const unsigned char* name, std::size_t length, SSL_SESSION** session) {
    *session = nullptr;
    if (text_of(name, length) != kIdentity) return 1;
    *session = session_of(ssl);
    return *session ? 1 : 0;
}

/// `hash`: that of the cipher, once the server has chosen it.
int TlsCallbacks::use_key(SSL* ssl, const EVP_MD* hash, const unsigned char** name, std::size_t* length,
                          SSL_SESSION** session) {
    *session = nullptr;
    if (hash && hash != functions().EVP_sha256()) return 1;
    *name = reinterpret_cast<const unsigned char*>(kIdentity.data());
    *length = kIdentity.size();
    *session = session_of(ssl);
    return *session ? 1 : 0;
}

// --- what passes ----------------------------------------------------------------------------------------------------

void TlsCallbacks::passed(int is_sent, int, int type, const void*, std::size_t, SSL* ssl, void*) {
    Tls& engine = engine_of(ssl);
    if (!is_sent && type == SSL3_RT_HANDSHAKE && engine.state_ == Tls::State::open) ++engine.messages_;
}

void TlsCallbacks::informed(const SSL* ssl, int where, int value) {
    constexpr int kNumber = 0xff;  // the rest is the level
    if (where == SSL_CB_READ_ALERT) engine_of(ssl).alert_ = value & kNumber;
}

void TlsCallbacks::set(const OpenSsl& functions, SSL_CTX* context, BIO_METHOD* method) {
    functions.BIO_meth_set_read(method, read);
    functions.BIO_meth_set_write(method, write);
    functions.BIO_meth_set_ctrl(method, control);
    functions.SSL_CTX_set_msg_callback(context, passed);
    functions.SSL_CTX_set_info_callback(context, informed);
}

void TlsCallbacks::set_key(const OpenSsl& functions, SSL_CTX* context) {
    functions.SSL_CTX_set_client_hello_cb(context, client_hello, nullptr);
    functions.SSL_CTX_set_psk_find_session_callback(context, find_key);
    functions.SSL_CTX_set_psk_use_session_callback(context, use_key);
}

}  // namespace dlaunch::auth
