#pragma once
/// The FIFO behind torch's file timer (TORCHELASTIC_ENABLE_FILE_TIMER=1): reads requests from workers, and calls back
/// when a deadline has passed. timer_table.hpp has the format and the deadlines.

#include <functional>
#include <memory>
#include <string>

#include "agent/services/round_service.hpp"
#include "agent/services/timer_fifo.hpp"
#include "agent/services/timer_table.hpp"
#include "rendezvous/base/loop.hpp"

namespace dlaunch::agent {

/// One per agent, on the loop's thread; the loop must outlive it.
class TimerService final : public RoundService {
public:
    /// A deadline of this process passed; the request names `signal`. The process was alive just before. May destroy
    /// the TimerService.
    using OnExpired = std::function<void(pid_t pid, const std::string& scope, int signal)>;

    TimerService(base::Loop& loop, std::shared_ptr<const TimerFifo> fifo, OnExpired on_expired);
    TimerService(const TimerService&) = delete;
    TimerService& operator=(const TimerService&) = delete;

    /// The workers' TORCHELASTIC_TIMER_FILE.
    [[nodiscard]] const std::string& path() const { return fifo_->path(); }

    void contribute(const Assignment&, int, Contribution& to) override {
        to.variables.emplace_back("TORCHELASTIC_TIMER_FILE", path());
    }
    void ended(WorkerExit& exit) override { table_.forget(exit.pid); }

private:
    void read_requests();
    void wait();
    void check();

    base::Loop& loop_;
    const std::shared_ptr<const TimerFifo> fifo_;
    OnExpired on_expired_;
    TimerTable table_;
    base::Watch watch_;
    base::Timer timer_;
};

}  // namespace dlaunch::agent
