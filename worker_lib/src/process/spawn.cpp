#include <dlaunch/spawn.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
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

/// Remaining time in milliseconds for poll() and epoll_wait(), within the range of int.
int left_until(Time deadline) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    return static_cast<int>(std::clamp<std::int64_t>(left, 0, 1 << 30));
}

/// Waits until the descriptor is readable; false: the deadline passed.
bool await(int file, Time deadline) {
    pollfd wanted{file, POLLIN, 0};
    while (poll(&wanted, 1, left_until(deadline)) <= 0)
        if (Clock::now() >= deadline) return false;
    return true;
}

Time deadline_of(const std::optional<std::chrono::milliseconds>& timeout) {
    return worker::after(timeout.value_or(std::chrono::milliseconds::max()));
}

}  // namespace

// --- one process -----------------------------------------------------------------------------------------------------

struct Process::Impl {
    Impl(worker::Child made, bool is_daemon, std::chrono::milliseconds patience)
        : child(std::move(made)), daemon(is_daemon), grace(patience) {}
    ~Impl() {
        if (exit_code || owner != getpid()) return;  // a forked sibling holds a copy of the handle, but not the child
        if (daemon) send_signal(SIGKILL);
        reap(0);
    }
    /// True: the child has been reaped.
    bool reap(int options) {
        if (exit_code) return true;
        siginfo_t info{};
        int result = 0;
        do result = waitid(P_PID, static_cast<id_t>(child.pid), &info, WEXITED | options);
        while (result < 0 && errno == EINTR);
        taken = result < 0 && owner == getpid();
        if (taken)
            exit_code = kUnknownStatus;
        else if (info.si_pid == child.pid)
            exit_code = info.si_code == CLD_EXITED ? info.si_status : -info.si_status;
        return exit_code.has_value();
    }
    /// Signals through the pidfd, hence never another process that has reused the pid.
    void send_signal(int signal) const { syscall(SYS_pidfd_send_signal, child.process.get(), signal, nullptr, 0); }
    [[nodiscard]] std::string exit_text() const { return taken ? worker::kStatusTaken : describe(*exit_code); }

    static constexpr int kUnknownStatus = 255;

    worker::Child child;
    int owner = getpid();
    bool taken = false;  ///< another wait of this program has consumed the exit status
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
    if (is_alive()) impl_->send_signal(SIGTERM);
}
void Process::kill() {
    if (is_alive()) impl_->send_signal(SIGKILL);
}
bool Process::join(std::optional<std::chrono::milliseconds> timeout) {
    if (impl_->exit_code) return true;
    return await(impl_->child.process.get(), deadline_of(timeout)) && impl_->reap(0);
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

/// The exits of the processes in the order in which they happened; epoll's ready list keeps that order until it is
/// read.
struct ProcessContext::Order {
    base::UniqueFd ended;
    std::size_t running = 0;
    std::optional<std::size_t> failed;

    explicit Order(const std::vector<Process>& processes) : ended(epoll_create1(EPOLL_CLOEXEC)) {
        for (const Process& process : processes) {
            epoll_event event{};
            event.events = EPOLLIN;
            event.data.u64 = running++;
            if (epoll_ctl(ended.get(), EPOLL_CTL_ADD, process.impl_->child.process.get(), &event) != 0)
                throw Error(ErrorCode::backend, fmt::format("spawn: epoll: {}", std::strerror(errno)));
        }
    }
    /// The index of the next process to exit; unset: none until the deadline.
    std::optional<std::size_t> next(const std::vector<Process>& processes, Time deadline) {
        epoll_event event{};
        for (int count = 0; (count = epoll_wait(ended.get(), &event, 1, left_until(deadline))) <= 0;) {
            if (count < 0 && errno != EINTR)
                throw Error(ErrorCode::backend, "spawn: the program has closed the descriptors of its processes");
            if (Clock::now() >= deadline) return std::nullopt;
        }
        const auto index = static_cast<std::size_t>(event.data.u64);
        epoll_ctl(ended.get(), EPOLL_CTL_DEL, processes[index].impl_->child.process.get(), nullptr);
        --running;
        return index;
    }
};

ProcessContext::ProcessContext(std::vector<Process> processes, SpawnOptions options)
    : processes_(std::move(processes)), options_(std::move(options)), order_(std::make_shared<Order>(processes_)) {}

bool ProcessContext::join(std::optional<std::chrono::milliseconds> timeout) {
    const Time deadline = deadline_of(timeout);
    while (!order_->failed && order_->running > 0) {
        const auto index = order_->next(processes_, deadline);
        if (!index) return false;
        processes_[*index].join();
        if (*processes_[*index].exit_code() != 0) order_->failed = index;
    }
    if (!order_->failed) return true;
    for (Process& other : processes_) other.terminate();
    const Time patience = worker::after(options_.grace);
    for (Process& other : processes_) other.join(std::chrono::ceil<std::chrono::milliseconds>(patience - Clock::now()));
    for (Process& other : processes_) other.kill();
    for (Process& other : processes_) other.join();
    Process& first = processes_[*order_->failed];
    const int code = *first.exit_code();
    const std::string message = first.error();
    throw ProcessError(static_cast<int>(*order_->failed), first.pid(), code,
                       message.empty() ? first.impl_->exit_text() : message);
}

namespace {

/// Starts all processes; if one cannot be started, kills those that have been.
template <class Start>
ProcessContext start_all(int nprocs, const SpawnOptions& options, const Start& start) {
    if (nprocs < 0) throw Error(ErrorCode::invalid_argument, fmt::format("spawn: {} processes", nprocs));
    std::vector<Process> processes;
    try {
        for (int i = 0; i < nprocs; ++i) processes.push_back(start(i));
        return {processes, options};
    } catch (...) {
        for (Process& process : processes) process.kill();
        throw;
    }
}

}  // namespace

ProcessContext start_processes(const Spawnable& function, int nprocs, const SpawnOptions& options) {
    return start_all(nprocs, options, [&](int i) { return Process(function, i, options); });
}

ProcessContext start_processes(const std::function<void(int)>& function, int nprocs, const SpawnOptions& options) {
    return start_all(nprocs, options, [&](int i) { return Process([&function, i] { function(i); }, i, options); });
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
    std::istringstream words_of(mark);
    words_of >> index >> error_fd >> std::ws;
    std::getline(words_of, name, '\0');
    unsetenv(worker::kSpawnVariable);
    fcntl(error_fd, F_SETFD, FD_CLOEXEC);
    std::vector<std::string> words;
    std::ifstream line("/proc/self/cmdline");
    for (std::string word; std::getline(line, word, '\0');) words.push_back(word);
    words.erase(words.begin());
    worker::run_child(error_fd, [&] {
        const auto& all = registry();
        const auto is_meant = [&](const Spawnable* function) { return function->name() == name; };
        const auto found = std::find_if(all.begin(), all.end(), is_meant);
        if (found == all.end()) throw Error(ErrorCode::invalid_argument, "spawn: no Spawnable is called " + name);
        if (std::any_of(found + 1, all.end(), is_meant))
            throw Error(ErrorCode::invalid_argument, "spawn: several Spawnables are called " + name);
        (*found)->function()(index, words);
    });
}

}  // namespace dlaunch
