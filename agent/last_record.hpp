#pragma once
/// The last record of a job whose agent is killed: the guard writes the report and the last event in its place. The
/// agent keeps the facts for them in a memory file; the guard has only the descriptor, to stay small.

#include <chrono>
#include <string>
#include <string_view>

#include "agent/plan.hpp"
#include "rendezvous/base/fd.hpp"

namespace dlaunch::agent {

/// The agent's side. Belongs to the agent.
class LastRecord {
public:
    /// Writes the facts; without a report and an event log there are none.
    static LastRecord of(const Plan& plan);

    /// The memory file; -1: there is none.
    [[nodiscard]] int file() const { return file_.get(); }
    /// A further round begins.
    void add_round(int rounds, int restarts, int max_restarts) const;

private:
    base::UniqueFd file_;
};

/// The guard's side, in a child process: writes the report and the event that the file's job has ended with `status`.
void write_last_record(int file, int status, std::string_view reason);

}  // namespace dlaunch::agent
