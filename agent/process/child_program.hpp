#pragma once
/// A program of dlaunch's own beside the workers, from its start to its end, without holding up the loop.

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>

#include "agent/process/children.hpp"
#include "agent/process/spawn.hpp"
#include "rendezvous/base/fd.hpp"
#include "rendezvous/base/loop.hpp"

namespace dlaunch::agent {

/// One program at a time. Destruction kills it.
class ChildProgram {
public:
    struct End {
        int status = 0;         ///< as a shell's $?; 126 or 127: could not be executed
        std::string text;       ///< continues a sentence: "was killed by SIGKILL"; else the error of the start
        bool executed = false;  ///< false: `text` is that error
    };

    /// The arguments must outlive this object.
    ChildProgram(base::Loop& loop, Children& children) : loop_(loop), children_(children) {}
    ChildProgram(const ChildProgram&) = delete;
    ChildProgram& operator=(const ChildProgram&) = delete;
    ~ChildProgram() { static_cast<void>(kill()); }

    /// `ended` runs once, from the loop, also when the program cannot be started; it may destroy this object.
    void begin(SpawnRequest request, std::function<void(const End&)> ended);
    /// Sends the signal to the program and its children: it leads a session.
    void signal(int number) const;
    /// Kills the program and its children, and does not report its end. Returns a descriptor that is readable when it
    /// has ended; none: no program runs.
    base::UniqueFd kill();

private:
    void on_end();
    void finish(const End& end);

    base::Loop& loop_;
    Children& children_;
    std::function<void(const End&)> ended_;
    pid_t pid_ = 0;
    std::optional<Spawning> spawning_;
    base::UniqueFd pidfd_;
    base::Watch end_watch_;
    base::Timer refused_;
};

}  // namespace dlaunch::agent
