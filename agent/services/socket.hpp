#pragma once
/// The agent's local socket, DLAUNCH_AGENT_SOCKET, for processes of the same user. The client's first line is a
/// request:
///
///     status          one JSON line about the node and its workers, then the end of the stream (also: no line at all)
///     losses          a line for each loss of the running round, see losses.hpp
///     fork point ...  a template at its fork point, see template.hpp
///
/// The line may arrive in pieces and late. A connection without a complete line after kRequestTimeout is closed. The
/// reply to any other line is "error ..." and the end of the stream.

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <map>
#include <string>

#include "rendezvous/base/fd.hpp"
#include "rendezvous/base/loop.hpp"

namespace dlaunch::agent {

class AgentSocket {
public:
    static constexpr auto kRequestTimeout = std::chrono::seconds(60);  ///< a preempted client needs time between calls

    struct Request {
        base::UniqueFd connection;  ///< non-blocking
        pid_t peer = 0;
        std::string arguments;  ///< text after the request's name, without the line's end
    };
    using Handler = std::function<void(Request)>;

    /// Makes the socket in `folder`, which only this user can enter and the caller removes. If that is empty, or too
    /// long for a socket's path, makes a new folder in $TMPDIR (else /tmp). If that fails, path() is empty, and the job
    /// runs without the socket.
    AgentSocket(base::Loop& loop, const std::string& folder);
    ~AgentSocket();
    AgentSocket(const AgentSocket&) = delete;
    AgentSocket& operator=(const AgentSocket&) = delete;

    [[nodiscard]] const std::string& path() const { return path_; }
    /// The new folder; empty: none was made.
    [[nodiscard]] const std::string& folder() const { return folder_; }

    /// Passes requests with this name, followed by nothing or by a blank and arguments, to `handler`.
    void on_request(const std::string& name, Handler handler) { handlers_[name] = std::move(handler); }
    /// `status` returns the JSON line without its end.
    void on_status(std::function<std::string()> status) { status_ = std::move(status); }

private:
    struct Client {
        base::UniqueFd connection;
        base::Watch watch;
        base::Timer deadline;
        pid_t peer = 0;
        std::string line;   ///< the request, as far as it has arrived
        std::string reply;  ///< not sent yet; the connection is closed after it
    };
    using Clients = std::map<int, Client>;  // by descriptor

    void listen();
    void accept();
    void accept_later();
    void read(Clients::iterator client);
    void handle(Clients::iterator client);
    void reply(Clients::iterator client, std::string text);
    void send_reply(Clients::iterator client);

    base::Loop& loop_;
    std::function<std::string()> status_;
    std::map<std::string, Handler> handlers_;
    std::string folder_, path_;
    base::UniqueFd lock_;  ///< marks the folder as in use, see leftovers.hpp
    base::UniqueFd listener_;
    base::Watch watch_;
    base::Timer accept_again_;
    Clients clients_;  ///< with an incomplete request or an unsent reply
};

}  // namespace dlaunch::agent
