#include "rendezvous/auth/tls_context.hpp"

#include <fmt/format.h>
#include <string.h>

#include "rendezvous/auth/key.hpp"
#include "rendezvous/auth/openssl.hpp"
#include "rendezvous/auth/tls_callbacks.hpp"
#include "rendezvous/base/exit_status.hpp"

namespace dlaunch::auth {
namespace {

using base::Error;

/// The hash of these is the key's. AES first: all servers of a cluster have instructions for it.
constexpr const char* kCiphers = "TLS_AES_128_GCM_SHA256:TLS_CHACHA20_POLY1305_SHA256";
constexpr const char* kGroups = "X25519:P-256";

Error failed(const OpenSsl& ssl, const std::string& what) {
    const char* reason = ssl.ERR_reason_error_string(ssl.ERR_peek_error());
    return {what + (reason ? fmt::format(": {}", reason) : ""), exit_status::kUsage};
}

}  // namespace

TlsContext::TlsContext(const OpenSsl& ssl)
    : ssl_(ssl), context_(ssl.SSL_CTX_new(ssl.TLS_method())), method_(ssl.BIO_meth_new(BIO_TYPE_SOURCE_SINK, "bytes")) {
    ssl.ERR_clear_error();
}

TlsContext::~TlsContext() {
    ssl_.SSL_CTX_free(context_);
    ssl_.BIO_meth_free(method_);
    explicit_bzero(key_.data(), key_.size());
}

bool TlsContext::set_up() const {
    if (!context_ || !method_) return false;
    TlsCallbacks::set(ssl_, context_, method_);
    // Buffers of idle connections are given back; a write takes as much as it can.
    ssl_.SSL_CTX_ctrl(context_, SSL_CTRL_MODE, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE, nullptr);
    ssl_.SSL_CTX_ctrl(context_, SSL_CTRL_SET_SESS_CACHE_MODE, SSL_SESS_CACHE_OFF, nullptr);
    return true;
}

bool TlsContext::set_up_key() const {
    std::string groups = kGroups;
    ssl_.SSL_CTX_set_options(context_, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION);
    ssl_.SSL_CTX_clear_options(context_, SSL_OP_ENABLE_MIDDLEBOX_COMPAT);
    TlsCallbacks::set_key(ssl_, context_);
    return ssl_.SSL_CTX_ctrl(context_, SSL_CTRL_SET_MIN_PROTO_VERSION, TLS1_3_VERSION, nullptr) == 1 &&
           ssl_.SSL_CTX_ctrl(context_, SSL_CTRL_SET_MAX_PROTO_VERSION, TLS1_3_VERSION, nullptr) == 1 &&
           ssl_.SSL_CTX_set_ciphersuites(context_, kCiphers) == 1 &&
           ssl_.SSL_CTX_ctrl(context_, SSL_CTRL_SET_GROUPS_LIST, 0, groups.data()) == 1 &&
           ssl_.SSL_CTX_set_num_tickets(context_, 0) == 1 && ssl_.SSL_CTX_set_max_early_data(context_, 0) == 1;
}

base::Result<TlsContextPtr> TlsContext::of(const Token& token) {
    const auto ssl = OpenSsl::load();
    if (!ssl) return ssl.error();
    const std::shared_ptr<TlsContext> made(new TlsContext(**ssl));
    made->has_key_ = true;
    made->key_ = key_of(**ssl, token.bytes());
    if (!made->set_up() || !made->set_up_key()) return failed(**ssl, "OpenSSL cannot be set up for the job's token");
    return TlsContextPtr(made);
}

base::Result<TlsContextPtr> TlsContext::of(const HttpsFiles& files) {
    const auto loaded = OpenSsl::load();
    if (!loaded) return loaded.error();
    const OpenSsl& ssl = **loaded;
    const std::shared_ptr<TlsContext> made(new TlsContext(ssl));
    SSL_CTX* const context = made->context_;
    if (!made->set_up() || ssl.SSL_CTX_ctrl(context, SSL_CTRL_SET_MIN_PROTO_VERSION, TLS1_2_VERSION, nullptr) != 1)
        return failed(ssl, "OpenSSL cannot be set up for https");
    if (files.authorities.empty())
        ssl.SSL_CTX_set_default_verify_paths(context);
    else if (ssl.SSL_CTX_load_verify_locations(context, files.authorities.c_str(), nullptr) != 1)
        return failed(ssl, files.authorities + ": cannot be read as certificates of authorities, expected PEM");
    if (files.certificate.empty()) return TlsContextPtr(made);
    if (ssl.SSL_CTX_use_certificate_chain_file(context, files.certificate.c_str()) != 1)
        return failed(ssl, files.certificate + ": cannot be read as a certificate, expected PEM");
    const std::string& key = files.key.empty() ? files.certificate : files.key;
    if (ssl.SSL_CTX_use_PrivateKey_file(context, key.c_str(), SSL_FILETYPE_PEM) != 1)
        return failed(ssl, key + ": cannot be read as the certificate's private key, expected PEM");
    if (ssl.SSL_CTX_check_private_key(context) != 1)
        return failed(ssl, key + ": is the key of another certificate than " + files.certificate);
    return TlsContextPtr(made);
}

}  // namespace dlaunch::auth
