#pragma once
/// Whether a job that failed is started again, and when. Kept by whoever keeps the job's budget; no I/O, no clock.

#include <chrono>
#include <string>

namespace dlaunch::rendezvous {

/// How a round ended, as far as this decision needs it.
struct FailedRound {
    std::chrono::milliseconds lasted{};
    std::string cause;       ///< equal for failures that are alike: rank, kind, code
    bool permanent = false;  ///< another try cannot end otherwise: the program cannot be executed
};

struct RestartDecision {
    enum class Kind { restart, budget_spent, crash_loop, permanent } kind = Kind::restart;
    std::chrono::milliseconds pause{};  ///< before the restart
};

/// max_restarts for the whole job. The first restart after a healthy round comes at once; quick failures in a row
/// pause, doubling; too many of the same kind in a row are a crash loop.
class Restarts {
public:
    struct Limits {
        int max_restarts = 0;
        std::chrono::milliseconds first{100}, most{30'000};  ///< pauses
        std::chrono::milliseconds healthy{10'000};           ///< a round that lasted longer is no quick failure
        int crash_loop = 10;                                 ///< alike quick failures in a row; 0: never
    };

    /// `used`: restarts that the job has had already, under an earlier coordinator.
    explicit Restarts(Limits limits, int used = 0) : limits_(limits), used_(used) {}

    RestartDecision on_failure(const FailedRound& round);

    /// A line for the user about a decision to restart or to give up.
    [[nodiscard]] std::string told(const RestartDecision& decision) const;

    [[nodiscard]] int used() const { return used_; }
    /// A failure now would be the last.
    [[nodiscard]] bool spent() const { return used_ >= limits_.max_restarts; }

private:
    Limits limits_;
    int used_ = 0;
    int quick_in_a_row_ = 0, alike_in_a_row_ = 0;
    std::string last_cause_;
    std::chrono::milliseconds pause_{};
};

}  // namespace dlaunch::rendezvous
