#pragma once
/// The agent's local socket, DLAUNCH_AGENT_SOCKET, for processes of the same user. The client's first line is a
/// request:
///
///     status          one JSON line about the node and its workers, then the end of the stream (also: no line at all)
///     losses          a line for each loss of the running round, see losses.hpp
///     timers          further lines set deadlines for the client or another process, see timer_table.hpp
///     fork point ...  a template at its fork point, see template.hpp
///
/// The line may arrive in pieces and late. A connection without a complete line after kRequestTimeout is closed. The
/// reply to any other line is "error ..." and the end of the stream.

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "agent/services/socket_file.hpp"
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
        std::string more;       ///< bytes that have arrived after the line
    };
    using Handler = std::function<void(Request)>;

    /// Serves this socket; without a path there are no clients. The caller makes and removes the file.
    AgentSocket(base::Loop& loop, std::shared_ptr<const SocketFile> file);
    AgentSocket(const AgentSocket&) = delete;
    AgentSocket& operator=(const AgentSocket&) = delete;

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
        std::string more;   ///< bytes after the line
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
    const std::shared_ptr<const SocketFile> file_;
    std::function<std::string()> status_;
    std::map<std::string, Handler> handlers_;
    base::Watch watch_;
    base::Timer accept_again_;
    Clients clients_;  ///< with an incomplete request or an unsent reply
};

}  // namespace dlaunch::agent
