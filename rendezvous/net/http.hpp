#pragma once
/// Requests to one HTTP/1.1 server, plain or by https, over one connection that is kept. Blocks: for background
/// threads.

#include <memory>
#include <string>

#include "rendezvous/auth/tls_context.hpp"
#include "rendezvous/base/result.hpp"
#include "rendezvous/base/time.hpp"
#include "rendezvous/net/endpoint.hpp"

namespace dlaunch::rendezvous {

struct HttpResponse {
    int status = 0;
    std::string body;
};

class HttpClient {
public:
    static constexpr std::size_t kMostBody = std::size_t{4} << 20;

    /// `tls`: null for plain http. Proxies of the environment are not used. Connects at the first request.
    HttpClient(Endpoint server, auth::TlsContextPtr tls);
    ~HttpClient();
    HttpClient(HttpClient&&) noexcept;

    /// Posts JSON. `authorization` is the value of that header; empty: none. A request that finds the kept connection
    /// closed is sent once more, so that the server may receive it twice. An error's text has no name of the server.
    [[nodiscard]] base::Result<HttpResponse> post(const std::string& path, const std::string& json,
                                                  const std::string& authorization, Time deadline);

    [[nodiscard]] const Endpoint& server() const { return server_; }

private:
    class Connection;
    [[nodiscard]] base::Result<std::unique_ptr<Connection>> connect(Time deadline) const;

    Endpoint server_;
    auth::TlsContextPtr tls_;
    std::unique_ptr<Connection> connection_;
};

}  // namespace dlaunch::rendezvous
