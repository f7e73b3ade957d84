#pragma once
/// The FIFO behind torch's file timer (TORCHELASTIC_ENABLE_FILE_TIMER=1): reads requests from workers, and calls back
/// when a deadline has passed. timer_table.hpp has the format and the deadlines.

#include <functional>
#include <memory>
#include <string>

#include "agent/plan.hpp"
#include "agent/services/round_service.hpp"
#include "agent/services/timer_table.hpp"
#include "rendezvous/base/fd.hpp"
#include "rendezvous/base/loop.hpp"
#include "rendezvous/base/result.hpp"

namespace dlaunch::agent {

/// One per agent, on the loop's thread; the loop must outlive it. Removes the FIFO at its end.
class TimerFifo final : public RoundService {
public:
    /// A deadline of this process passed; the request names `signal`. The process was alive just before. May destroy
    /// the TimerFifo.
    using OnExpired = std::function<void(pid_t pid, const std::string& scope, int signal)>;

    /// Makes the FIFO (0600). An empty `path` (no TORCHELASTIC_TIMER_FILE) becomes $TMPDIR/watchdog_timer_<random>.
    /// Replaces an existing FIFO; any other file is an error.
    [[nodiscard]] static base::Result<std::unique_ptr<TimerFifo>> open(base::Loop& loop, std::string path,
                                                                       OnExpired on_expired);

    /// Null if the plan has no timers.
    [[nodiscard]] static base::Result<std::unique_ptr<TimerFifo>> open_if_enabled(base::Loop& loop,
                                                                                  const TimerPlan& plan,
                                                                                  OnExpired on_expired) {
        if (!plan.enabled) return std::unique_ptr<TimerFifo>();
        return open(loop, plan.path, std::move(on_expired));
    }

    TimerFifo(const TimerFifo&) = delete;
    TimerFifo& operator=(const TimerFifo&) = delete;
    ~TimerFifo() override;

    /// The workers' TORCHELASTIC_TIMER_FILE.
    [[nodiscard]] const std::string& path() const { return path_; }

    void contribute(const Assignment&, int, Contribution& to) override {
        to.variables.emplace_back("TORCHELASTIC_TIMER_FILE", path_);
    }
    void ended(pid_t worker) override { table_.forget(worker); }

private:
    TimerFifo(base::Loop& loop, std::string path, base::UniqueFd fifo, OnExpired on_expired);

    void read_all();
    void wait();
    void check();

    base::Loop& loop_;
    std::string path_;
    base::UniqueFd fifo_;
    OnExpired on_expired_;
    TimerTable table_;
    base::Watch watch_;
    base::Timer timer_;
};

}  // namespace dlaunch::agent
