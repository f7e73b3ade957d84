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

    struct Pipe {
        std::string path;
        base::UniqueFd fifo;
    };
    /// Makes the FIFO (0600), in whatever thread. An empty `path` (TORCHELASTIC_TIMER_FILE was not given) becomes
    /// $TMPDIR/watchdog_timer_<random>. A FIFO that is already there is replaced, any other file is an error.
    [[nodiscard]] static base::Result<Pipe> make(std::string path);

    TimerFifo(base::Loop& loop, Pipe pipe, OnExpired on_expired);
    TimerFifo(const TimerFifo&) = delete;
    TimerFifo& operator=(const TimerFifo&) = delete;
    ~TimerFifo() override;

    /// The workers' TORCHELASTIC_TIMER_FILE.
    [[nodiscard]] const std::string& path() const { return pipe_.path; }

    void contribute(const Assignment&, int, Contribution& to) override {
        to.variables.emplace_back("TORCHELASTIC_TIMER_FILE", path());
    }
    void ended(pid_t worker) override { table_.forget(worker); }

private:
    void read_all();
    void wait();
    void check();

    base::Loop& loop_;
    Pipe pipe_;
    OnExpired on_expired_;
    TimerTable table_;
    base::Watch watch_;
    base::Timer timer_;
};

}  // namespace dlaunch::agent
