#pragma once
/// Processes of this program's own, as torch.multiprocessing makes them: for programs that start without a launcher.
///
///     void work(int rank, const std::vector<std::string>& args) { ... }
///     const dlaunch::Spawnable kWork("work", work);
///
///     int main() {
///         dlaunch::run_if_spawned();  // first: a spawned process comes through here and does not return
///         dlaunch::spawn(kWork, 4);
///     }
///
/// Children die with the thread that started them, so start them from one that stays, such as main()'s.

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace dlaunch {

using SpawnFunction = void (*)(int rank, const std::vector<std::string>& args);

/// A function that a new process can find by its name. Global, and unique in the program.
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
    spawn,  ///< the program anew, from main() to run_if_spawned(): nothing of the parent's state
    fork,   ///< a copy of the parent as it is; only before it has threads
};

struct SpawnOptions {
    std::vector<std::string> args = {};
    StartMethod start_method = StartMethod::spawn;
    bool daemon = false;  ///< killed, not waited for, when the last handle goes
    std::chrono::milliseconds grace =
        std::chrono::seconds(30);  ///< between SIGTERM and SIGKILL of the others after a failure
};

/// A process has failed: the first of its siblings.
class ProcessError : public std::runtime_error {
public:
    ProcessError(int index, int pid, int exit_code, const std::string& message);
    [[nodiscard]] int index() const { return index_; }
    [[nodiscard]] int pid() const { return pid_; }
    [[nodiscard]] int exit_code() const { return exit_code_; }  ///< -n when signal n ended it, 255: taken (see Process)
    /// What its exception said, else "exit status 3" or "SIGSEGV".
    [[nodiscard]] const std::string& message() const { return message_; }

private:
    int index_, pid_, exit_code_;
    std::string message_;
};

/// One child. Copies are the same child. One thread at a time.
class Process {
public:
    /// Starts it; it runs the function as rank `index`, and ends with 1 where that throws.
    Process(const Spawnable& function, int index, const SpawnOptions& options = {});
    /// A copy of this process (start method fork) that runs `function`.
    Process(std::function<void()> function, int index, const SpawnOptions& options = {});

    [[nodiscard]] int pid() const;
    [[nodiscard]] bool is_alive();
    /// Unset while it runs; -n when signal n ended it; 255 where another wait() of this program was told instead of us.
    [[nodiscard]] std::optional<int> exit_code();
    /// What its exception said, once it has ended; else empty.
    [[nodiscard]] std::string error() const;
    void terminate();  ///< SIGTERM
    void kill();       ///< SIGKILL
    /// Whether it has ended, within the time if one is given.
    bool join(std::optional<std::chrono::milliseconds> timeout = std::nullopt);

    struct Impl;

private:
    friend class ProcessContext;
    std::shared_ptr<Impl> impl_;
};

/// Siblings, by rank.
class ProcessContext {
public:
    ProcessContext(std::vector<Process> processes, SpawnOptions options);
    [[nodiscard]] std::vector<Process>& processes() { return processes_; }
    /// Whether all have ended well, within the time if one is given. At the first failure ends the others and throws
    /// its ProcessError.
    bool join(std::optional<std::chrono::milliseconds> timeout = std::nullopt);

private:
    struct Order;
    std::vector<Process> processes_;
    SpawnOptions options_;
    std::shared_ptr<Order> order_;
};

/// Starts `nprocs` processes of ranks 0, 1, ...; none where it is 0. Throws Error.
[[nodiscard]] ProcessContext start_processes(const Spawnable& function, int nprocs, const SpawnOptions& options = {});
[[nodiscard]] ProcessContext start_processes(const std::function<void(int rank)>& function, int nprocs,
                                             const SpawnOptions& options = {});
/// The same, and joins them.
void spawn(const Spawnable& function, int nprocs, const SpawnOptions& options = {});
/// By fork, as a new process could not find a function object.
void spawn(const std::function<void(int rank)>& function, int nprocs, const SpawnOptions& options = {});

/// In a process that spawn() started: runs its function and ends. Else returns at once. A process that has not come
/// through here cannot start others: each would start the next.
void run_if_spawned();

}  // namespace dlaunch
