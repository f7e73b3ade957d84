#include "rendezvous/auth/tls.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <utility>

#include "rendezvous/auth/openssl.hpp"

// OpenSSL keeps errors in a queue of the thread, and looks into it to judge a call. So the queue is emptied before
// every call: else one stranger's failed handshake would cut a connection that is read next.

namespace dlaunch::auth {
namespace {

constexpr std::size_t kMostInRecord = 16'384;
/// Later ones are tickets of https servers and updates of keys. More of them have no use, and cost time.
constexpr int kMostLateMessages = 32;
// Measured with OpenSSL 3.0: 44 KiB while the server's answer to a hello is unsent, 14.3 KiB when open.
constexpr std::size_t kHandshakeBytes = 45'056, kOpenBytes = 14'848;

/// All engines of a thread share these, because one works at a time.
std::string& plain_of_thread() {
    thread_local std::string bytes;
    return bytes;
}

std::array<char, kMostInRecord>& record_of_thread() {
    thread_local std::array<char, kMostInRecord> bytes;
    return bytes;
}

/// Copies the first `most` bytes after `skip` ones of all parts. Returns how many there were.
std::size_t gather(std::span<const iovec> parts, std::size_t skip, char* to, std::size_t most) {
    std::size_t copied = 0;
    for (const iovec& part : parts) {
        const std::size_t left_out = std::min(skip, part.iov_len);
        skip -= left_out;
        const std::size_t length = std::min(part.iov_len - left_out, most - copied);
        if (length > 0) std::memcpy(to + copied, static_cast<const char*>(part.iov_base) + left_out, length);
        copied += length;
        if (copied == most) break;
    }
    return copied;
}

using Failure = Tls::Failure;

Failure failure_of_alert(int alert) {
    switch (alert) {
        // OpenSSL's answer to a binder that another key has made; RFC 8446 asks for the second.
        case SSL_AD_ILLEGAL_PARAMETER:
        case SSL_AD_DECRYPT_ERROR: return Failure::other_key;
        case SSL_AD_HANDSHAKE_FAILURE:
        case SSL_AD_UNKNOWN_PSK_IDENTITY:
        case SSL_AD_MISSING_EXTENSION: return Failure::no_key;
        case SSL_AD_PROTOCOL_VERSION: return Failure::version;
        case SSL_AD_BAD_CERTIFICATE:
        case SSL_AD_UNSUPPORTED_CERTIFICATE:
        case SSL_AD_CERTIFICATE_REVOKED:
        case SSL_AD_CERTIFICATE_EXPIRED:
        case SSL_AD_CERTIFICATE_UNKNOWN:
        case SSL_AD_CERTIFICATE_REQUIRED:
        case SSL_AD_UNKNOWN_CA:
        case SSL_AD_ACCESS_DENIED: return Failure::certificate;
        default: return Failure::garbage;
    }
}

Failure failure_of_reason(int reason) {
    switch (reason) {
        case SSL_R_BINDER_DOES_NOT_VERIFY: return Failure::other_key;
        case SSL_R_CERTIFICATE_VERIFY_FAILED: return Failure::certificate;
        case SSL_R_UNSUPPORTED_PROTOCOL: return Failure::version;
        default: return Failure::garbage;
    }
}

}  // namespace

Tls::Tls(TlsContextPtr context, Side side, const std::string& server_name)
    : context_(std::move(context)), ssl_(context_->ssl_.SSL_new(context_->context_)) {
    const OpenSsl& ssl = context_->ssl_;
    BIO* const bio = ssl_ ? ssl.BIO_new(context_->method_) : nullptr;
    if (!bio) {
        ssl.SSL_free(ssl_);
        throw std::bad_alloc();
    }
    ssl.BIO_set_data(bio, this);
    ssl.BIO_set_init(bio, 1);
    ssl.SSL_set_bio(ssl_, bio, bio);
    ssl.SSL_set_ex_data(ssl_, 0, this);
    if (side == Side::server) {
        ssl.SSL_set_accept_state(ssl_);
        return;
    }
    ssl.SSL_set_connect_state(ssl_);
    // A server that answers with a certificate in place of a job's key fails, too: no authority is known then.
    ssl.SSL_set_verify(ssl_, SSL_VERIFY_PEER, nullptr);
    if (!server_name.empty() && ssl.X509_VERIFY_PARAM_set1_ip_asc(ssl.SSL_get0_param(ssl_), server_name.c_str()) != 1) {
        std::string name = server_name;
        ssl.SSL_ctrl(ssl_, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, name.data());
        ssl.SSL_set1_host(ssl_, server_name.c_str());
    }
    shake_hands();
}

Tls::~Tls() { context_->ssl_.SSL_free(ssl_); }

Tls::State Tls::feed(std::string_view sealed) {
    plain_of_thread().clear();
    if (state_ == State::ended || state_ == State::failed) return state_;
    incoming_ = sealed;
    if (state_ == State::handshake) shake_hands();
    if (state_ == State::open) read_all();
    incoming_ = {};
    return state_;
}

std::string_view Tls::plain() const { return plain_of_thread(); }

void Tls::shake_hands() {
    const OpenSsl& ssl = context_->ssl_;
    ssl.ERR_clear_error();
    const int result = ssl.SSL_do_handshake(ssl_);
    if (result != 1) return fail(result);
    // A server of certificates could have answered in place of one that has the key.
    if (context_->has_key_ && ssl.SSL_session_reused(ssl_) != 1)
        return fail_with(Failure::no_key, "the peer has not used the job's key");
    state_ = State::open;
}

void Tls::read_all() {
    const OpenSsl& ssl = context_->ssl_;
    std::string& plain = plain_of_thread();
    for (;;) {
        const std::size_t before = plain.size();
        plain.resize(before + kMostInRecord);
        std::size_t length = 0;
        ssl.ERR_clear_error();
        const int result = ssl.SSL_read_ex(ssl_, plain.data() + before, kMostInRecord, &length);
        plain.resize(before + length);
        if (messages_ > kMostLateMessages) return fail_with(Failure::garbage, "too many messages of the handshake");
        if (result != 1) return fail(result);
    }
}

std::size_t Tls::write(std::span<const iovec> parts, std::size_t most) {
    if ((state_ != State::open && state_ != State::ended) || ended_) return 0;
    const OpenSsl& ssl = context_->ssl_;
    auto& record = record_of_thread();
    std::size_t taken = 0;
    while (taken < most) {
        const std::size_t length = gather(parts, taken, record.data(), std::min(record.size(), most - taken));
        if (length == 0) break;
        std::size_t written = 0;
        ssl.ERR_clear_error();
        if (const int result = ssl.SSL_write_ex(ssl_, record.data(), length, &written); result != 1) {
            fail(result);
            break;
        }
        taken += written;
    }
    return taken;
}

void Tls::end() {
    if ((state_ != State::open && state_ != State::ended) || std::exchange(ended_, true)) return;
    context_->ssl_.ERR_clear_error();
    context_->ssl_.SSL_shutdown(ssl_);
}

/// `result` of the last call. That more bytes are needed, or that the peer has ended, is no failure.
void Tls::fail(int result) {
    const OpenSsl& ssl = context_->ssl_;
    const int error = ssl.SSL_get_error(ssl_, result);
    if (error == SSL_ERROR_WANT_READ) return;
    if (error == SSL_ERROR_ZERO_RETURN) {
        state_ = State::ended;
        return;
    }
    const unsigned long code = ssl.ERR_peek_error();
    const char* const reason = ssl.ERR_reason_error_string(code);
    std::string text = reason ? reason : "unexpected bytes";
    if (alert_ >= 0) return fail_with(failure_of_alert(alert_), std::move(text));
    if (why_ != Failure::none) return fail_with(why_, std::move(text));
    const Failure why = failure_of_reason(ERR_GET_REASON(code));
    if (why != Failure::certificate) return fail_with(why, std::move(text));
    // Whether the certificate is valid does not matter: a peer of the job has the key and no certificate.
    if (context_->has_key_) return fail_with(Failure::no_key, "the peer has a certificate in place of the job's key");
    text += std::string(": ") + ssl.X509_verify_cert_error_string(ssl.SSL_get_verify_result(ssl_));
    fail_with(why, std::move(text));
}

void Tls::fail_with(Failure why, std::string text) {
    state_ = State::failed;
    why_ = why;
    why_text_ = std::move(text);
}

std::size_t Tls::memory() const {
    return sizeof *this + sealed_.capacity() + (state_ == State::handshake ? kHandshakeBytes : kOpenBytes);
}

}  // namespace dlaunch::auth
