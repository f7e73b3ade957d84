#include <dlaunch/spawn.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <iterator>
#include <sstream>

#include <dlaunch/error.hpp>
#include "rendezvous/base/signal_names.hpp"
#include "worker_lib/src/core/call.hpp"
#include "worker_lib/src/process/child.hpp"

namespace dlaunch {
namespace {

using worker::Clock;
using worker::Time;

std::vector<const Spawnable*>& registry() {
    static std::vector<const Spawnable*> functions;
    return functions;
}

std::string describe(int exit_code) {
    return exit_code < 0 ? base::signal_name(-exit_code) : fmt::format("exit status {}", exit_code);
}

/// Waits until one of the descriptors is readable; false: the deadline passed.
bool await(std::vector<pollfd>& files, Time deadline) {
    for (;;) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
        const int count =
            poll(files.data(), files.size(),
                 deadline == Time::max() ? -1 : static_cast<int>(std::clamp<std::int64_t>(left, 0, 1 << 30)));
        if (count > 0) return true;
        if (count == 0 && Clock::now() >= deadline) return false;
    }
}

Time deadline_of(const std::optional<std::chrono::milliseconds>& timeout) {
    return timeout ? Clock::now() + *timeout : Time::max();
}

}  // namespace

// --- one process -----------------------------------------------------------------------------------------------------

struct Process::Impl {
    Impl(worker::Child made, bool is_daemon, std::chrono::milliseconds patience)
        : child(std::move(made)), daemon(is_daemon), grace(patience) {}
    ~Impl() {
        if (exit_code) return;
        if (daemon) ::kill(child.pid, SIGKILL);
        reap(0);
    }
    /// Whether it has been reaped.
    bool reap(int options) {
        siginfo_t info{};
        while (!exit_code && waitid(P_PID, static_cast<id_t>(child.pid), &info, WEXITED | options) < 0 &&
               errno == EINTR) {}
        if (!exit_code && info.si_pid == child.pid)
            exit_code = info.si_code == CLD_EXITED ? info.si_status : -info.si_status;
        return exit_code.has_value();
    }

    worker::Child child;
    bool daemon;
    std::chrono::milliseconds grace;
    std::optional<int> exit_code;
};

Process::Process(const Spawnable& function, int index, const SpawnOptions& options) {
    worker::Child child = options.start_method == StartMethod::fork
                              ? worker::fork_child([&] { function.function()(index, options.args); })
                              : worker::exec_child(function.name(), index, options.args);
    impl_ = std::make_shared<Impl>(std::move(child), options.daemon, options.grace);
}

Process::Process(std::function<void()> function, int, const SpawnOptions& options)
    : impl_(std::make_shared<Impl>(worker::fork_child(function), options.daemon, options.grace)) {}

int Process::pid() const { return impl_->child.pid; }
bool Process::is_alive() { return !impl_->reap(WNOHANG); }
std::optional<int> Process::exit_code() {
    impl_->reap(WNOHANG);
    return impl_->exit_code;
}
void Process::terminate() {
    if (is_alive()) ::kill(pid(), SIGTERM);
}
void Process::kill() {
    if (is_alive()) ::kill(pid(), SIGKILL);
}
bool Process::join(std::optional<std::chrono::milliseconds> timeout) {
    if (impl_->exit_code) return true;
    std::vector<pollfd> files{{impl_->child.process.get(), POLLIN, 0}};
    return await(files, deadline_of(timeout)) && impl_->reap(0);
}

std::string Process::error() const {
    std::string text(static_cast<std::size_t>(std::max<off_t>(0, lseek(impl_->child.error.get(), 0, SEEK_END))), '\0');
    const ssize_t size = pread(impl_->child.error.get(), text.data(), text.size(), 0);
    text.resize(static_cast<std::size_t>(std::max<ssize_t>(0, size)));
    return text;
}

// --- siblings --------------------------------------------------------------------------------------------------------

ProcessError::ProcessError(int index, int pid, int exit_code, const std::string& message)
    : std::runtime_error(fmt::format("process {} (pid {}) failed: {}", index, pid, message)),
      index_(index),
      pid_(pid),
      exit_code_(exit_code),
      message_(message) {}

bool ProcessContext::join(std::optional<std::chrono::milliseconds> timeout) {
    const Time deadline = deadline_of(timeout);
    for (;;) {
        std::vector<pollfd> files;
        for (std::size_t i = 0; i < processes_.size(); ++i) {
            Process& process = processes_[i];
            if (process.is_alive()) {
                files.push_back({process.impl_->child.process.get(), POLLIN, 0});
            } else if (const int code = *process.exit_code(); code != 0) {
                const std::string said = process.error();
                for (Process& other : processes_) other.terminate();
                const Time patience = Clock::now() + options_.grace;
                for (Process& other : processes_)
                    other.join(
                        std::max(std::chrono::milliseconds(0),
                                 std::chrono::duration_cast<std::chrono::milliseconds>(patience - Clock::now())));
                for (Process& other : processes_) other.kill();
                for (Process& other : processes_) other.join();
                throw ProcessError(static_cast<int>(i), process.pid(), code, said.empty() ? describe(code) : said);
            }
        }
        if (files.empty()) return true;
        if (!await(files, deadline)) return false;
    }
}

ProcessContext start_processes(const Spawnable& function, int nprocs, const SpawnOptions& options) {
    std::vector<Process> processes;
    for (int i = 0; i < nprocs; ++i) processes.emplace_back(function, i, options);
    return {std::move(processes), options};
}

ProcessContext start_processes(const std::function<void(int)>& function, int nprocs, const SpawnOptions& options) {
    std::vector<Process> processes;
    for (int i = 0; i < nprocs; ++i) processes.emplace_back([&function, i] { function(i); }, i, options);
    return {std::move(processes), options};
}

void spawn(const Spawnable& function, int nprocs, const SpawnOptions& options) {
    start_processes(function, nprocs, options).join();
}
void spawn(const std::function<void(int)>& function, int nprocs, const SpawnOptions& options) {
    start_processes(function, nprocs, options).join();
}

// --- in the child ----------------------------------------------------------------------------------------------------

Spawnable::Spawnable(const char* name, SpawnFunction run) : name_(name), function_(run) { registry().push_back(this); }

void run_if_spawned() {
    const char* mark = std::getenv(worker::kSpawnVariable);
    if (!mark) return;
    int index = 0, error_fd = -1;
    std::string name;
    std::istringstream(mark) >> index >> error_fd >> name;
    unsetenv(worker::kSpawnVariable);
    fcntl(error_fd, F_SETFD, FD_CLOEXEC);
    std::vector<std::string> words;
    std::ifstream line("/proc/self/cmdline");
    for (std::string word; std::getline(line, word, '\0');) words.push_back(word);
    words.erase(words.begin());
    worker::run_child(error_fd, [&] {
        const auto& all = registry();
        const auto found =
            std::find_if(all.begin(), all.end(), [&](const Spawnable* function) { return function->name() == name; });
        if (found == all.end()) throw Error(ErrorCode::invalid_argument, "spawn: no Spawnable is called " + name);
        (*found)->function()(index, words);
    });
}

}  // namespace dlaunch
