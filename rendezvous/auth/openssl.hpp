#pragma once
/// OpenSSL 3, which is loaded when a job has a token or a claim is reached by https: no other job pays for it, and the
/// program needs no library but glibc. Members have the names of the functions.

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>

#include "rendezvous/base/result.hpp"

namespace dlaunch::auth {

// clang-format off
#define DLAUNCH_OPENSSL_FUNCTIONS(F) \
    F(OPENSSL_init_ssl) F(TLS_method) \
    F(SSL_CTX_new) F(SSL_CTX_free) F(SSL_CTX_ctrl) F(SSL_CTX_set_options) F(SSL_CTX_clear_options) \
    F(SSL_CTX_set_ciphersuites) F(SSL_CTX_set_num_tickets) F(SSL_CTX_set_max_early_data) \
    F(SSL_CTX_set_psk_find_session_callback) F(SSL_CTX_set_psk_use_session_callback) \
    F(SSL_CTX_set_client_hello_cb) F(SSL_client_hello_get0_ext) F(SSL_CTX_set_msg_callback) \
    F(SSL_CTX_set_info_callback) F(SSL_set_verify) F(SSL_CTX_load_verify_locations) \
    F(SSL_CTX_set_default_verify_paths) F(SSL_CTX_use_certificate_chain_file) F(SSL_CTX_use_PrivateKey_file) \
    F(SSL_CTX_check_private_key) F(SSL_CTX_set_ex_data) F(SSL_CTX_get_ex_data) F(SSL_get_SSL_CTX) \
    F(SSL_SESSION_new) F(SSL_SESSION_free) F(SSL_SESSION_set1_master_key) F(SSL_SESSION_set_cipher) \
    F(SSL_SESSION_set_protocol_version) F(SSL_CIPHER_find) F(SSL_session_reused) \
    F(SSL_new) F(SSL_free) F(SSL_set_bio) F(SSL_set_accept_state) F(SSL_set_connect_state) F(SSL_set_ex_data) \
    F(SSL_get_ex_data) F(SSL_do_handshake) F(SSL_is_init_finished) F(SSL_read_ex) F(SSL_write_ex) F(SSL_get_error) \
    F(SSL_shutdown) F(SSL_ctrl) F(SSL_set1_host) F(SSL_get0_param) F(X509_VERIFY_PARAM_set1_ip_asc) \
    F(SSL_get_verify_result) F(X509_verify_cert_error_string) F(SSL_alert_desc_string_long) \
    F(BIO_meth_new) F(BIO_meth_free) F(BIO_meth_set_read) F(BIO_meth_set_write) F(BIO_meth_set_ctrl) F(BIO_new) \
    F(BIO_set_data) F(BIO_get_data) F(BIO_set_init) F(BIO_set_flags) F(BIO_clear_flags) \
    F(ERR_clear_error) F(ERR_peek_error) F(ERR_reason_error_string) F(HMAC) F(EVP_sha256) F(EVP_Digest)
// clang-format on

struct OpenSsl {
#define DLAUNCH_MEMBER(name) decltype(&::name) name = nullptr;
    DLAUNCH_OPENSSL_FUNCTIONS(DLAUNCH_MEMBER)
#undef DLAUNCH_MEMBER

    /// Loads libssl.so.3 at the first call; it stays loaded. It reads no configuration file, so that no variable of the
    /// environment chooses its engines. Any thread. The error has the status 126.
    [[nodiscard]] static base::Result<const OpenSsl*> load();
};

}  // namespace dlaunch::auth
