#pragma once
/// Starts one worker: exact errors, a pidfd, its own session and cgroup; the cost does not grow with our size.

#include <sys/resource.h>
#include <sys/types.h>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "rendezvous/base/fd.hpp"

namespace dlaunch::agent {

struct SpawnRequest {
    std::string path;                      ///< what is executed; found by find_program()
    std::vector<std::string> arguments;    ///< argv, argv[0] included
    std::vector<std::string> variables;    ///< "NAME=value", its own
    std::vector<const char*> inherited;    ///< "NAME=value", not copied
    std::array<int, 3> files{-1, -1, -1};  ///< become fds 0, 1, 2; -1: this process's. May be closed after begin()
    std::string working_directory;         ///< empty: that of this process
    std::vector<int> processors;           ///< by number; empty: those of this process
    int cgroup = -1;                       ///< descriptor of a cgroup v2 folder the worker is born in; -1: none
    std::optional<rlimit> open_files;      ///< the limit the worker gets back
    int terminal = -1;        ///< a terminal the worker reads from, in a group of its own; -1: a session of its own
    bool foreground = false;  ///< that group becomes the terminal's foreground group
};

/// Which step failed, and why: {"chdir /nodir", ENOENT}.
struct SpawnError {
    std::string step;
    int number = 0;
    bool permanent = false;   ///< the program or its folder is wrong: another try ends alike
    bool no_program = false;  ///< it, or the interpreter that it names, is not there
    std::string hint;         ///< " (the limit ... is 40)"; may be empty

    [[nodiscard]] std::string text() const;
    /// 127 where there is no program, else 126.
    [[nodiscard]] int exit_status() const;
};

/// A worker between clone and exec. Several may be there at once. Call from one thread that lives as long as
/// the workers: they get SIGKILL when it ends (PR_SET_PDEATHSIG).
class Spawning {
public:
    /// Makes the process, or returns why there is none.
    [[nodiscard]] static std::variant<Spawning, SpawnError> begin(SpawnRequest request);

    Spawning(Spawning&&) noexcept;
    Spawning& operator=(Spawning&&) noexcept;
    /// A child that has not executed yet keeps the memory that it reads.
    ~Spawning();

    [[nodiscard]] pid_t pid() const;
    [[nodiscard]] bool in_cgroup() const;
    /// Readable when the process has ended. Once.
    [[nodiscard]] base::UniqueFd take_pidfd();

    /// Readable as soon as the worker runs its program, or has failed to; finish() does not wait then.
    [[nodiscard]] int result() const;
    /// Waits until the worker runs its program: nothing then, else why it does not; it is reaped then. A program on a
    /// file system that does not answer takes as long as that.
    [[nodiscard]] std::optional<SpawnError> finish();

private:
    struct State;
    explicit Spawning(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

/// Processors by number, as sched_setaffinity(2) takes them.
[[nodiscard]] std::vector<unsigned long> affinity_mask(const std::vector<int>& processors);

/// Where `name` would be executed from: as it is when it holds a slash, else the first executable file of that name in
/// `search_path` (else the first file, whose execution fails with the reason).
[[nodiscard]] std::optional<std::string> find_program(const std::string& name, const std::string& search_path);

}  // namespace dlaunch::agent
