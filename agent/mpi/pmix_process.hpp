#pragma once
/// The agent's side of its PMIx server: the process, and the messages to and from it.

#include <functional>
#include <string>

#include "agent/mpi/pmix_message.hpp"
#include "agent/plan.hpp"
#include "agent/process/child_program.hpp"
#include "agent/process/children.hpp"
#include "rendezvous/base/fd.hpp"
#include "rendezvous/base/loop.hpp"

namespace dlaunch::agent {

/// Serves one round. Destruction kills the process.
class PmixProcess {
public:
    struct Observer {
        std::function<void(const PmixMessage&)> on_message;
        /// Once, when the process cannot be started or has died; `how` continues a sentence: "was killed by SIGKILL".
        std::function<void(const std::string& how)> on_end;
    };

    /// Starts the process with these variables. `loop` and `children` must outlive this object. The observer is called
    /// from the loop and from drain().
    PmixProcess(base::Loop& loop, Children& children, const Variables& environment, Observer observer);
    PmixProcess(const PmixProcess&) = delete;
    PmixProcess& operator=(const PmixProcess&) = delete;

    void send(const PmixMessage& message);
    /// Handles all that has arrived.
    void drain();
    /// Kills the process. Returns a descriptor that is readable when it has ended; none: it has not begun.
    [[nodiscard]] base::UniqueFd kill();

private:
    void start(const Variables& environment);
    void end(const std::string& how);
    void read();
    void flush();

    base::Loop& loop_;
    const Observer observer_;
    ChildProgram program_;
    base::UniqueFd socket_;
    base::Watch readable_, writable_;
    base::Timer soon_;
    PmixMessages arrived_;
    std::string unsent_;
};

}  // namespace dlaunch::agent
