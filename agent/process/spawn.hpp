#pragma once
/// Starts one worker with exact errors, a pidfd, and a session and cgroup of its own. The cost does not grow with the
/// agent's size.

#include <sys/resource.h>
#include <sys/types.h>

#include <array>
#include <chrono>
#include <csignal>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "rendezvous/base/fd.hpp"

namespace dlaunch::agent {

struct SpawnRequest {
    std::vector<std::string> paths;        ///< the file to execute is the first that can be; see program_paths.hpp
    std::vector<std::string> arguments;    ///< argv with argv[0]
    std::vector<std::string> variables;    ///< "NAME=value", of this worker
    std::vector<const char*> inherited;    ///< "NAME=value", not copied
    std::array<int, 3> files{-1, -1, -1};  ///< become fds 0, 1, 2; -1: inherited. May be closed after begin()
    std::vector<int> kept;                 ///< further descriptors, open in the worker under the same numbers
    std::string working_directory;         ///< empty: inherited
    std::vector<int> processors;           ///< by number; empty: inherited
    int cgroup = -1;                       ///< descriptor of a cgroup v2 folder in which the worker is born; -1: none
    std::optional<rlimit> open_files;      ///< limit to restore in the worker
    std::string not_found_hint;            ///< appended to the error where no candidate exists: "; did you mean ...?"
    int terminal = -1;           ///< terminal for the worker, in its own process group; -1: a session of its own
    bool foreground = false;     ///< make that group the terminal's foreground group
    int death_signal = SIGKILL;  ///< received when the thread that calls begin() ends
};

/// The failed step and its errno: {"chdir /nodir", ENOENT}.
struct SpawnError {
    std::string step;
    int number = 0;
    bool permanent = false;   ///< the program or its folder is wrong: a restart cannot help
    bool no_program = false;  ///< the program, or its interpreter, does not exist
    std::string hint;         ///< " (the limit ... is 40)"; may be empty

    [[nodiscard]] std::string text() const;
    /// 127 with no_program, else 126.
    [[nodiscard]] int exit_status() const;
};

/// A worker between clone and exec; there may be several at once. Call from one thread that outlives the workers,
/// because they receive a signal when it ends (PR_SET_PDEATHSIG).
class Spawning {
public:
    /// Makes the process.
    [[nodiscard]] static std::variant<Spawning, SpawnError> begin(SpawnRequest request);

    Spawning(Spawning&&) noexcept;
    Spawning& operator=(Spawning&&) noexcept;
    /// Leaks the orders of a child that has not executed yet, because the child still reads them.
    ~Spawning();

    [[nodiscard]] pid_t pid() const;
    [[nodiscard]] bool in_cgroup() const;
    /// The pidfd, readable when the process has exited. Only once.
    [[nodiscard]] base::UniqueFd take_pidfd();

    /// The worker does not run its program yet, and has not failed to: finish() would block. The kernel ends this state
    /// without an event; a failure is followed by the exit, which the pidfd reports.
    [[nodiscard]] bool is_starting() const;
    /// Waits for the end of that state. False: `limit` is over.
    [[nodiscard]] bool await(std::chrono::milliseconds limit) const;
    /// Waits until the worker runs its program. Returns an error, with the child reaped, if it does not. Blocks as long
    /// as the program's file system does.
    [[nodiscard]] std::optional<SpawnError> finish();

private:
    struct State;
    explicit Spawning(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

/// A mask for sched_setaffinity(2) from numbers of processors.
[[nodiscard]] std::vector<unsigned long> affinity_mask(const std::vector<int>& processors);

}  // namespace dlaunch::agent
