#pragma once
/// Child processes in the style of torch.multiprocessing, for programs that run without a launcher.
///
///     void work(int rank, const std::vector<std::string>& args) { ... }
///     const dlaunch::Spawnable kWork("work", work);
///
///     int main() {
///         dlaunch::run_if_spawned();  // first: does not return in a spawned process
///         dlaunch::spawn(kWork, 4);
///     }
///
/// The kernel kills the children when the thread that started them ends (PR_SET_PDEATHSIG), so start them from a
/// long-lived thread such as main()'s.

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <dlaunch/standard.hpp>

namespace dlaunch {

using SpawnFunction = void (*)(int rank, const std::vector<std::string>& args);

/// A function that a new process can find by name. Must be a global object; the name must be unique in the program.
class Spawnable {
public:
    Spawnable(const char* name, SpawnFunction run);
    [[nodiscard]] const char* name() const { return name_; }
    [[nodiscard]] SpawnFunction function() const { return function_; }

private:
    const char* name_;
    SpawnFunction function_;
};

enum class StartMethod {
    spawn,  ///< starts the program again, up to run_if_spawned(); no state of the parent is inherited
    fork,   ///< a copy of the parent; only safe while the parent has a single thread
};

struct SpawnOptions {
    std::vector<std::string> args = {};
    StartMethod start_method = StartMethod::spawn;
    bool daemon = false;  ///< killed, instead of waited for, when the last handle is destroyed
    std::chrono::milliseconds grace =
        std::chrono::seconds(30);  ///< between SIGTERM and SIGKILL of the siblings after a failure
};

/// The first failure among sibling processes.
class ProcessError : public std::runtime_error {
public:
    ProcessError(int index, int pid, int exit_code, const std::string& message);
    [[nodiscard]] int index() const { return index_; }
    [[nodiscard]] int pid() const { return pid_; }
    [[nodiscard]] int exit_code() const { return exit_code_; }  ///< as Process::exit_code()
    /// The what() of the process's exception; without one "exit status 3" or "SIGSEGV".
    [[nodiscard]] const std::string& message() const { return message_; }

private:
    int index_, pid_, exit_code_;
    std::string message_;
};

/// A handle of one child process; copies refer to the same child. Not thread-safe. The last handle waits for the child
/// (kills it first if SpawnOptions::daemon is set).
class Process {
public:
    /// Starts a child that calls the function with rank `index`; it exits with 1 if the function throws.
    Process(const Spawnable& function, int index, const SpawnOptions& options = {});
    /// A copy of this process (start method fork) that runs `function`.
    Process(std::function<void()> function, int index, const SpawnOptions& options = {});

    [[nodiscard]] int pid() const;
    [[nodiscard]] bool is_alive();
    /// Unset while the child runs; -n if signal n ended it; 255 if another wait() of this program consumed its status.
    [[nodiscard]] std::optional<int> exit_code();
    /// The what() of the child's exception once the child has exited; else empty.
    [[nodiscard]] std::string error() const;
    void terminate();  ///< SIGTERM
    void kill();       ///< SIGKILL
    /// Waits for the exit, at most for `timeout`; true: the child has exited.
    bool join(std::optional<std::chrono::milliseconds> timeout = std::nullopt);

    struct Impl;

private:
    friend class ProcessContext;
    std::shared_ptr<Impl> impl_;
};

/// Sibling processes, by rank.
class ProcessContext {
public:
    ProcessContext(std::vector<Process> processes, SpawnOptions options);
    [[nodiscard]] std::vector<Process>& processes() { return processes_; }
    /// Waits until all processes have exited with 0, at most for `timeout`; false: some still run. At the first failure
    /// ends the siblings and throws ProcessError.
    bool join(std::optional<std::chrono::milliseconds> timeout = std::nullopt);

private:
    struct Order;
    std::vector<Process> processes_;
    SpawnOptions options_;
    std::shared_ptr<Order> order_;
};

/// Starts `nprocs` processes with the ranks 0, 1, ... (`nprocs` may be 0). Throws Error.
[[nodiscard]] ProcessContext start_processes(const Spawnable& function, int nprocs, const SpawnOptions& options = {});
[[nodiscard]] ProcessContext start_processes(const std::function<void(int rank)>& function, int nprocs,
                                             const SpawnOptions& options = {});
/// start_processes() and join().
void spawn(const Spawnable& function, int nprocs, const SpawnOptions& options = {});
/// The same by fork: a program that is started again could not find a function object.
void spawn(const std::function<void(int rank)>& function, int nprocs, const SpawnOptions& options = {});

/// In a process that spawn() has started: runs the function and exits. In any other process: returns at once. A spawned
/// process must call this function before it spawns processes itself: otherwise the recursion would not end.
void run_if_spawned();

}  // namespace dlaunch
