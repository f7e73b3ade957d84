#pragma once
/// The agent's local socket, DLAUNCH_AGENT_SOCKET, for processes of the same user.
///
/// Who connects and says the line "losses" is sent a line for each loss of the running round, those before it included,
/// until either side closes:
///
///     lost FIRST COUNT WORDS      ranks FIRST to FIRST + COUNT - 1 are gone
///
/// A template at its fork point (template.hpp) says "fork point", and its connection is its listener's from then on.
///
/// Anybody else, whatever he says or does not say, gets one line of JSON about the node and its workers, and the
/// connection ends.

#include <sys/types.h>

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "rendezvous/base/fd.hpp"
#include "rendezvous/base/loop.hpp"
#include "rendezvous/wire/messages.hpp"

namespace dlaunch::agent {

class AgentSocket {
public:
    /// The socket lies in `folder`, which only this user can enter and somebody else removes; where that is empty, or
    /// its name too long for a socket's, in one that is made in $TMPDIR (else /tmp). Where that fails path() is empty:
    /// the job runs without it. `status` gives the line of JSON, without a newline.
    AgentSocket(base::Loop& loop, const std::string& folder, std::function<std::string()> status);
    ~AgentSocket();

    [[nodiscard]] const std::string& path() const { return path_; }
    /// The one that was made; else empty.
    [[nodiscard]] const std::string& folder() const { return folder_; }

    /// `reached` gets the connection, which does not block, the pid of who made it, and what it said after "fork
    /// point", the line's end included. Who is `expected`, by pid, may take its time for that.
    using Expected = std::function<bool(pid_t)>;
    using ForkPoint = std::function<void(base::UniqueFd, pid_t, const std::string&)>;
    void on_fork_point(Expected expected, ForkPoint reached) {
        expected_ = std::move(expected);
        fork_point_ = std::move(reached);
    }

    /// A new round: nobody is lost.
    void begin_round();
    /// At once; who does not read is left.
    void tell_lost(const rendezvous::LostRanks& ranks, std::string_view words);

private:
    struct Client {
        base::UniqueFd socket;
        base::Watch heard;
        base::Timer patience;  ///< until it has said what it wants
        pid_t peer = 0;
        std::string said;
        bool follows = false;
    };
    using Clients = std::map<int, Client>;  // by descriptor

    void serve();
    void hear(int descriptor);
    void lose_patience(int descriptor);
    void answer(const base::UniqueFd& socket) const;
    void follow(Clients::iterator client);
    static bool push(const Client& client, std::string_view text);

    base::Loop& loop_;
    std::function<std::string()> status_;
    Expected expected_;
    ForkPoint fork_point_;
    std::string folder_, path_, losses_;
    base::UniqueFd lock_;  ///< tells later runs that this one lives
    base::UniqueFd listener_;
    base::Watch watch_;
    Clients clients_;
};

}  // namespace dlaunch::agent
