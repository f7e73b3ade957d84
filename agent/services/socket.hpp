#pragma once
/// The agent's local socket, DLAUNCH_AGENT_SOCKET, for processes of the same user. The client's first line is a
/// request:
///
///     status          one JSON line about the node and its workers, then the end of the stream (also: no line at all)
///     losses          a line for each loss of the running round, see losses.hpp
///     fork point ...  a template at its fork point, see template.hpp
///
/// The line may come in pieces and late; a line that is incomplete after kRequestTimeout is dropped with its
/// connection. Any other line is answered with "error ..." and the end of the stream.

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
        base::UniqueFd connection;  ///< does not block
        pid_t peer = 0;
        std::string arguments;  ///< what follows the request's name, without the line's end
    };
    using Handler = std::function<void(Request)>;

    /// The socket lies in `folder`, which only this user can enter and its owner removes; where that is empty, or
    /// its name too long for a socket's, in one that is made in $TMPDIR (else /tmp). Where that fails path() is empty:
    /// the job runs without it.
    AgentSocket(base::Loop& loop, const std::string& folder);
    ~AgentSocket();
    AgentSocket(const AgentSocket&) = delete;
    AgentSocket& operator=(const AgentSocket&) = delete;

    [[nodiscard]] const std::string& path() const { return path_; }
    /// The one that was made; else empty.
    [[nodiscard]] const std::string& folder() const { return folder_; }

    /// Requests of this name, alone on their line or before a blank and arguments, go to `handler`.
    void on_request(const std::string& name, Handler handler) { handlers_[name] = std::move(handler); }
    /// `status` gives the JSON line, without its end.
    void on_status(std::function<std::string()> status) { status_ = std::move(status); }

private:
    struct Client {
        base::UniqueFd connection;
        base::Watch watch;
        base::Timer deadline;
        pid_t peer = 0;
        std::string line;   ///< of the request, as far as it has come
        std::string reply;  ///< not sent yet; the connection ends after it
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
    base::UniqueFd lock_;  ///< marks the folder as in use for later runs
    base::UniqueFd listener_;
    base::Watch watch_;
    base::Timer accept_again_;
    Clients clients_;  ///< whose request is not complete, or whose reply is not sent
};

}  // namespace dlaunch::agent
