#include "agent/process/spawn.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "agent/process/clone_launcher.hpp"
#include "rendezvous/base/exit_status.hpp"
#include "rendezvous/base/signals_blocked.hpp"

namespace dlaunch::agent {
namespace {

using boost::system::error_code;

// Initializers in Boost's protocol: each copies a part of the request into the orders.
struct Files {
    const std::array<int, 3>& standard;
    const std::vector<int>& kept;
    error_code on_setup(WorkerLauncher& launcher, const process::filesystem::path&, const char* const*&) const {
        std::copy(standard.begin(), standard.end(), launcher.orders.files);
        launcher.orders.kept = kept.data();
        return {};
    }
};

struct Place {
    const SpawnRequest& request;
    const std::vector<unsigned long>& mask;
    error_code on_setup(WorkerLauncher& launcher, const process::filesystem::path&, const char* const*&) const {
        launcher.orders.terminal = request.terminal;
        launcher.orders.foreground = request.foreground;
        launcher.orders.death_signal = request.death_signal;
        launcher.orders.affinity = mask.empty() ? nullptr : mask.data();
        launcher.orders.affinity_bytes = mask.size() * sizeof(unsigned long);
        launcher.orders.open_files = request.open_files ? &*request.open_files : nullptr;
        launcher.orders.working_directory =
            request.working_directory.empty() ? nullptr : request.working_directory.c_str();
        launcher.cgroup = request.cgroup;
        return {};
    }
};

/// The signals that this process ignores; a program would inherit them.
sigset_t ignored_signals() {
    sigset_t set;
    sigemptyset(&set);
    for (int number = 1; number < NSIG; ++number) {
        struct sigaction now {};
        if (sigaction(number, nullptr, &now) == 0 && now.sa_handler == SIG_IGN) sigaddset(&set, number);
    }
    return set;
}

std::string step_name(SpawnStep step, const SpawnRequest& request) {
    switch (step) {
        case SpawnStep::prepare: return "prctl";
        case SpawnStep::parent_died: return "the agent died";
        case SpawnStep::session: return "setsid";
        case SpawnStep::terminal: return "take the terminal (TIOCSPGRP)";
        case SpawnStep::affinity: return "bind to processors";
        case SpawnStep::limits: return "set the limit of open files";
        case SpawnStep::directory: return "chdir " + request.working_directory;
        case SpawnStep::files: return "open standard streams";
        case SpawnStep::execute: break;
    }
    return "execute";
}

/// Explains why the program was not executed.
SpawnError execution_error(const ChildOrders& orders, const SpawnRequest& request) {
    SpawnError error{.number = orders.error, .permanent = true, .no_program = orders.error == ENOENT};
    const bool searched = request.paths.front() != request.arguments.front();
    if (orders.tried < 0 && searched) {
        error.step = request.arguments.front();
        if (request.not_found_hint.empty()) {
            error.step += " (not found in PATH)";
        } else {
            error.step += ": not in PATH" + request.not_found_hint;
            error.number = 0;
        }
        return error;
    }
    error.step = request.paths.at(orders.tried < 0 ? 0 : static_cast<std::size_t>(orders.tried));
    if (orders.tried < 0) return error;
    if (S_ISDIR(orders.mode))
        error.step += " (it is a directory)";
    else if (orders.error == ENOENT)
        error.step += " (the interpreter that its first line names)";
    else if (orders.error == ENOEXEC)
        error.step += " (neither a binary for this machine nor a script that begins with #!)";
    return error;
}

void reap(pid_t pid) {
    siginfo_t info{};
    while (waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED) != 0 && errno == EINTR) {}
}

}  // namespace

Cloned WorkerLauncher::run() {
    const base::SignalsBlocked until_the_child_has_its_own;
    static const sigset_t ignored = ignored_signals();
    orders.ignored = &ignored;
    orders.parent = getpid();
    return clone_child(&orders, stack.get(), cgroup);
}

std::vector<unsigned long> affinity_mask(const std::vector<int>& processors) {
    constexpr std::size_t kBits = 8 * sizeof(unsigned long);
    std::vector<unsigned long> mask;
    for (int processor : processors) {
        const auto number = static_cast<std::size_t>(processor);
        mask.resize(std::max(mask.size(), number / kBits + 1));
        mask[number / kBits] |= 1UL << (number % kBits);
    }
    return mask;
}

std::string SpawnError::text() const {
    return number ? fmt::format("{}: {}{}", step, std::strerror(number), hint) : step;
}

int SpawnError::exit_status() const { return no_program ? exit_status::kNotFound : exit_status::kCannotExecute; }

struct Spawning::State {
    SpawnRequest request;
    std::vector<const char*> paths, arguments, environment;
    std::vector<unsigned long> affinity;
    WorkerLauncher launcher;
    Cloned made;
    base::UniqueFd pidfd;
};

Spawning::Spawning(std::unique_ptr<State> state) : state_(std::move(state)) {}
Spawning::Spawning(Spawning&&) noexcept = default;
Spawning& Spawning::operator=(Spawning&&) noexcept = default;

Spawning::~Spawning() {
    if (state_ && is_starting()) (void)state_.release();
}

std::variant<Spawning, SpawnError> Spawning::begin(SpawnRequest given) {
    auto state = std::make_unique<State>();
    state->request = std::move(given);
    const SpawnRequest& request = state->request;
    for (const auto& path : request.paths) state->paths.push_back(path.c_str());
    state->paths.push_back(nullptr);
    for (const auto& argument : request.arguments) state->arguments.push_back(argument.c_str());
    state->arguments.push_back(nullptr);
    state->environment = request.inherited;
    for (const auto& variable : request.variables) state->environment.push_back(variable.c_str());
    state->environment.push_back(nullptr);

    state->affinity = affinity_mask(request.processors);
    state->request.kept.push_back(-1);
    state->launcher.env = state->environment.data();
    error_code error;
    const Cloned made = state->launcher(error, state->paths.data(), state->arguments.data(),
                                        Files{request.files, request.kept}, Place{request, state->affinity});
    if (made.pid < 0) return SpawnError{.step = "fork", .number = error ? error.value() : made.error};
    state->made = made;
    state->pidfd.reset(made.pidfd);
    Spawning spawning(std::move(state));
    if (made.pidfd >= 0) return spawning;
    kill(made.pid, SIGKILL);
    reap(made.pid);
    return SpawnError{.step = "pidfd_open", .number = made.error};
}

pid_t Spawning::pid() const { return state_->made.pid; }
bool Spawning::in_cgroup() const { return state_->made.in_cgroup; }
base::UniqueFd Spawning::take_pidfd() { return std::move(state_->pidfd); }

bool Spawning::is_starting() const { return agent::is_starting(&state_->launcher.orders); }

bool Spawning::await(std::chrono::milliseconds limit) const { return await_child(&state_->launcher.orders, limit); }

std::optional<SpawnError> Spawning::finish() {
    const ChildOrders& orders = state_->launcher.orders;
    await_child(&state_->launcher.orders);
    if (orders.error == 0) return std::nullopt;
    reap(pid());
    if (orders.step == SpawnStep::execute) return execution_error(orders, state_->request);
    return SpawnError{.step = step_name(orders.step, state_->request),
                      .number = orders.error,
                      .permanent = orders.step == SpawnStep::directory};
}

}  // namespace dlaunch::agent
