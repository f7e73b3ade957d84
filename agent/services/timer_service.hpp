#pragma once
/// Reads deadlines that workers set, and calls back when one has passed. timer_table.hpp has the format. Workers of our
/// libraries write to a connection of the agent's socket (request "timers"), those of torch's file timer to a FIFO
/// (TORCHELASTIC_ENABLE_FILE_TIMER=1).

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "agent/services/round_service.hpp"
#include "agent/services/socket.hpp"
#include "agent/services/timer_fifo.hpp"
#include "agent/services/timer_table.hpp"
#include "rendezvous/base/loop.hpp"

namespace dlaunch::agent {

/// One per agent, on the loop's thread; loop and socket must outlive it.
class TimerService final : public RoundService {
public:
    /// A deadline of this process passed; the request names `signal`. The process was alive just before. May destroy
    /// the TimerService.
    using OnExpired = std::function<void(pid_t pid, const std::string& scope, int signal)>;

    /// A FIFO without a path does not exist.
    TimerService(base::Loop& loop, AgentSocket& socket, std::shared_ptr<const TimerFifo> fifo, OnExpired on_expired);
    TimerService(const TimerService&) = delete;
    TimerService& operator=(const TimerService&) = delete;

    void contribute(const Assignment&, int, Contribution& to) override {
        if (!fifo_->path().empty()) to.variables.emplace_back("TORCHELASTIC_TIMER_FILE", fifo_->path());
    }
    void ended(WorkerExit& exit) override { table_.forget(exit.pid); }

private:
    struct Client {
        base::UniqueFd connection;
        base::Watch watch;
        TimerTable::Writer writer;
    };

    void serve(AgentSocket::Request request);
    void on_ready(int descriptor);
    void take(TimerTable::Writer& from, std::string_view bytes);
    /// False: the end of the stream.
    bool read(int descriptor, TimerTable::Writer& from);
    void read_unread();
    void wait();
    void check();

    base::Loop& loop_;
    const std::shared_ptr<const TimerFifo> fifo_;
    OnExpired on_expired_;
    TimerTable table_;
    TimerTable::Writer fifo_writer_;  ///< all of the FIFO's: the kernel keeps their lines whole
    std::map<int, Client> clients_;   ///< by descriptor
    base::Watch watch_;
    base::Timer timer_;
};

}  // namespace dlaunch::agent
