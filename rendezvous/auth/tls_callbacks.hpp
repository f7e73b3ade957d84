#pragma once
/// OpenSSL's calls into an engine: its bytes, the pre-shared key, and what passes.

#include <cstddef>
#include <cstdint>

#include "rendezvous/auth/openssl.hpp"

namespace dlaunch::auth {

class Tls;

struct TlsCallbacks {
    /// The callbacks of every context.
    static void set(const OpenSsl& functions, SSL_CTX* context, BIO_METHOD* method);
    /// The callbacks of a context with a pre-shared key.
    static void set_key(const OpenSsl& functions, SSL_CTX* context);

private:
    static Tls& engine_of(const SSL* ssl);
    static SSL_SESSION* session_of(SSL* ssl);
    static int read(BIO* bio, char* to, int most);
    static int write(BIO* bio, const char* from, int length);
    static long control(BIO* bio, int command, long number, void* data);
    static int client_hello(SSL* ssl, int* alert, void* unused);
    static int find_key(SSL* ssl, const unsigned char* name, std::size_t length, SSL_SESSION** session);
    static int use_key(SSL* ssl, const EVP_MD* hash, const unsigned char** name, std::size_t* length,
                       SSL_SESSION** session);
    static void passed(int is_sent, int version, int type, const void* bytes, std::size_t length, SSL* ssl,
                       void* unused);
    static void informed(const SSL* ssl, int where, int value);
};

}  // namespace dlaunch::auth
