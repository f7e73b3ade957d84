#include "rendezvous/net/http.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "rendezvous/auth/tls.hpp"
#include "rendezvous/base/connect.hpp"
#include "rendezvous/base/fd.hpp"
#include "rendezvous/net/addresses.hpp"

namespace dlaunch::rendezvous {
namespace {

namespace http = boost::beast::http;
using base::Error;
using base::Result;

constexpr const char* kSilent = "no answer in time";
constexpr const char* kClosed = "the server has closed the connection";

Error system_error(int error) { return {std::strerror(error)}; }

}  // namespace

/// A socket, with an engine on top of it for https.
class HttpClient::Connection {
public:
    Connection(base::UniqueFd socket, std::unique_ptr<auth::Tls> tls)
        : socket_(std::move(socket)), tls_(std::move(tls)) {}

    Result<void> shake_hands(Time deadline) {
        std::string none;
        while (tls_ && tls_->state() == auth::Tls::State::handshake) {
            if (auto sent = send_sealed(deadline); !sent) return sent;
            if (auto got = receive(none, deadline); !got) return got;
        }
        return {};
    }

    Result<void> send(std::string bytes, Time deadline) {
        if (!tls_) return send_raw(bytes, deadline);
        const iovec all{bytes.data(), bytes.size()};
        if (tls_->write({&all, 1}, bytes.size()) < bytes.size()) return Error{tls_->why_text()};
        return send_sealed(deadline);
    }

    /// Appends at least one byte, or in a handshake perhaps none.
    Result<void> receive(std::string& to, Time deadline) {
        if (!base::await_ready(socket_.get(), POLLIN, deadline)) return Error{kSilent};
        const ssize_t got = ::recv(socket_.get(), buffer_.data(), buffer_.size(), 0);
        if (got < 0) return system_error(errno);
        if (got == 0) return Error{kClosed};
        const std::string_view bytes(buffer_.data(), static_cast<std::size_t>(got));
        if (!tls_) {
            to += bytes;
            return {};
        }
        const auto state = tls_->feed(bytes);
        to += tls_->plain();
        if (state == auth::Tls::State::failed) {
            static_cast<void>(send_sealed(deadline));  // the alert
            return Error{tls_->why_text()};
        }
        if (state == auth::Tls::State::ended && tls_->plain().empty()) return Error{kClosed};
        return {};
    }

private:
    Result<void> send_sealed(Time deadline) { return send_raw(std::exchange(tls_->sealed(), {}), deadline); }

    Result<void> send_raw(std::string_view bytes, Time deadline) const {
        while (!bytes.empty()) {
            const ssize_t sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
            if (sent >= 0)
                bytes.remove_prefix(static_cast<std::size_t>(sent));
            else if (errno != EAGAIN && errno != EINTR)
                return system_error(errno);
            else if (!base::await_ready(socket_.get(), POLLOUT, deadline))
                return Error{kSilent};
        }
        return {};
    }

    base::UniqueFd socket_;
    std::unique_ptr<auth::Tls> tls_;
    std::array<char, 16'384> buffer_;
};

HttpClient::HttpClient(Endpoint server, auth::TlsContextPtr tls) : server_(std::move(server)), tls_(std::move(tls)) {}
HttpClient::~HttpClient() = default;
HttpClient::HttpClient(HttpClient&&) noexcept = default;

/// Tries all addresses of the server's name.
Result<std::unique_ptr<HttpClient::Connection>> HttpClient::connect(Time deadline) const {
    const auto addresses = addresses_of(server_.host);
    if (!addresses) return addresses.error();
    Error error{"the name has no address"};
    for (const std::string& address : *addresses) {
        const auto at = socket_address(address, server_.port);
        if (!at) return at.error();
        base::UniqueFd socket;
        const int failed =
            base::connect_by(socket, reinterpret_cast<const sockaddr*>(&at->storage), at->size, deadline);
        if (failed == 0) {
            auto engine = tls_ ? std::make_unique<auth::Tls>(tls_, auth::Tls::Side::client, server_.host) : nullptr;
            auto connection = std::make_unique<Connection>(std::move(socket), std::move(engine));
            if (auto done = connection->shake_hands(deadline); !done) return done.error();
            return connection;
        }
        error = system_error(failed);
    }
    return error;
}

namespace {

/// One response, from bytes as they arrive.
class Response {
public:
    Response() { parser_.body_limit(HttpClient::kMostBody); }

    /// True: it is complete.
    Result<bool> put(std::string_view bytes) {
        left_ += bytes;
        while (!parser_.is_done() && !left_.empty()) {
            boost::system::error_code error;
            const std::size_t used = parser_.put(boost::asio::buffer(left_), error);
            left_.erase(0, used);
            if (error == http::error::need_more) break;
            if (error) return Error{fmt::format("no HTTP: {}", error.message())};
            if (used == 0) break;
        }
        return parser_.is_done();
    }
    [[nodiscard]] bool keeps_alive() const { return parser_.keep_alive() && left_.empty(); }
    HttpResponse take() {
        auto message = parser_.release();
        return {static_cast<int>(message.result_int()), std::move(message.body())};
    }

private:
    http::response_parser<http::string_body> parser_;
    std::string left_;
};

}  // namespace

Result<HttpResponse> HttpClient::post(const std::string& path, const std::string& json,
                                      const std::string& authorization, Time deadline) {
    std::string request = fmt::format(
        "POST {} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n{}\r\n{}", path,
        server_.text(), json.size(), authorization.empty() ? "" : "Authorization: " + authorization + "\r\n", json);
    for (;;) {
        const bool was_kept = connection_ != nullptr;
        if (!was_kept) {
            auto connected = connect(deadline);
            if (!connected) return connected.error();
            connection_ = std::move(*connected);
        }
        std::unique_ptr<Connection> used = std::exchange(connection_, nullptr);  // dropped after an error
        Response response;
        Result<bool> done = false;
        bool has_begun = false;
        if (auto sent = used->send(request, deadline); !sent) done = sent.error();
        while (done && !*done) {
            std::string bytes;
            if (auto got = used->receive(bytes, deadline); !got)
                done = got.error();
            else {
                has_begun = has_begun || !bytes.empty();
                done = response.put(bytes);
            }
        }
        if (!done && was_kept && !has_begun && std::chrono::steady_clock::now() < deadline) continue;
        if (!done) return done.error();
        if (response.keeps_alive()) connection_ = std::move(used);
        return response.take();
    }
}

}  // namespace dlaunch::rendezvous
