#include "launcher/start/helper_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>
#include <variant>

#include "agent/process/program_paths.hpp"
#include "rendezvous/base/exit_status.hpp"
#include "rendezvous/base/signal_names.hpp"

namespace dlaunch::launcher {
namespace {

/// The front end's environment with `more` on top.
void set_environment(agent::SpawnRequest& request, std::vector<std::string> more) {
    const auto is_replaced = [&more](std::string_view variable) {
        const std::string_view name = variable.substr(0, variable.find('=') + 1);
        return std::ranges::any_of(more, [name](const std::string& one) { return one.starts_with(name); });
    };
    for (char** variable = environ; *variable; ++variable)
        if (!is_replaced(*variable)) request.inherited.push_back(*variable);
    request.variables = std::move(more);
}

void reap(pid_t pid, siginfo_t& end) {
    while (waitid(P_PID, static_cast<id_t>(pid), &end, WEXITED) != 0 && errno == EINTR) {}
}

}  // namespace

HelperProcess::HelperProcess(base::Loop& loop, agent::Children& children, Handlers handlers)
    : loop_(loop), children_(children), handlers_(std::move(handlers)) {}

HelperProcess::~HelperProcess() {
    if (pid_ <= 0) return;
    exit_watch_ = {};
    kill_now();
    siginfo_t end{};
    reap(pid_, end);
    children_.remove(pid_);
}

void HelperProcess::begin(Command command, const std::string& path) {
    name_ = command.words.front().substr(command.words.front().rfind('/') + 1);
    const auto error = spawn(command, path);
    if (error) failed_ = loop_.after({}, [this, text = *error] { end({std::nullopt, text}); });
}

std::optional<std::string> HelperProcess::spawn(Command& command, const std::string& path) {
    int output[2], input[2];
    if (pipe2(output, O_CLOEXEC) != 0) return fmt::format("pipe: {}", std::strerror(errno));
    output_ = base::UniqueFd(output[0]);
    const base::UniqueFd writes(output[1]);
    if (pipe2(input, O_CLOEXEC) != 0) return fmt::format("pipe: {}", std::strerror(errno));
    const base::UniqueFd reads(input[0]);
    input_ = base::UniqueFd(input[1]);
    fcntl(output_.get(), F_SETFL, O_NONBLOCK);
    fcntl(input_.get(), F_SETFL, O_NONBLOCK);

    agent::SpawnRequest request;
    request.paths = agent::candidates(command.words.front(), path);
    request.arguments = command.words;
    set_environment(request, std::move(command.variables));
    request.files = {reads.get(), writes.get(), command.merges_errors ? writes.get() : -1};
    program_ = std::move(command.program);
    rest_ = std::move(command.input);
    auto begun = agent::Spawning::begin(std::move(request));
    if (const auto* error = std::get_if<agent::SpawnError>(&begun)) return error->text();
    spawning_ = std::move(std::get<agent::Spawning>(begun));
    pid_ = spawning_->pid();
    children_.add(pid_, agent::Children::Kind::lasting);
    pidfd_ = spawning_->take_pidfd();
    output_watch_ = loop_.readable(output_.get(), [this] { on_output(); });
    exit_watch_ = loop_.readable(pidfd_.get(), [this] { on_exit(); });
    write_input();
    return std::nullopt;
}

/// The pipe stays open after the last byte: at an end of file a login that is stuck in a profile would go on.
void HelperProcess::write_input() {
    for (std::string_view bytes; !(bytes = unwritten()).empty();) {
        const ssize_t count = write(input_.get(), bytes.data(), bytes.size());
        if (count < 0 && errno == EINTR) continue;
        if (count < 0 && errno == EAGAIN) {
            if (!input_watch_) input_watch_ = loop_.writable(input_.get(), [this] { write_input(); });
            return;
        }
        if (count < 0) break;  // its exit follows
        written_ += static_cast<std::size_t>(count);
    }
    input_watch_ = {};
    program_.reset();
}

std::string_view HelperProcess::unwritten() const {
    const std::size_t first = program_ ? program_->size() : 0;
    if (written_ < first) return std::string_view(*program_).substr(written_);
    return std::string_view(rest_).substr(std::min(written_ - first, rest_.size()));
}

void HelperProcess::on_output() {
    std::array<char, 16'384> bytes;
    const ssize_t count = read(output_.get(), bytes.data(), bytes.size());
    if (count > 0) return handlers_.output({bytes.data(), static_cast<std::size_t>(count)});
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    output_watch_ = {};
}

void HelperProcess::on_exit() {
    exit_watch_ = {};
    output_watch_ = {};
    if (const auto error = spawning_->finish()) {
        children_.remove(std::exchange(pid_, 0));
        return end({std::nullopt, fmt::format("{} cannot be started: {}", name_, error->text())});
    }
    siginfo_t exited{};
    reap(pid_, exited);
    children_.remove(std::exchange(pid_, 0));
    std::array<char, 4096> bytes;
    for (ssize_t count; (count = read(output_.get(), bytes.data(), bytes.size())) > 0;)
        handlers_.output({bytes.data(), static_cast<std::size_t>(count)});
    if (exited.si_code == CLD_EXITED)
        end({exited.si_status, fmt::format("{} exited with {}", name_, exited.si_status)});
    else
        end({exit_status::kSignalBase + exited.si_status,
             fmt::format("{} was killed by {}", name_, base::signal_name(exited.si_status))});
}

void HelperProcess::end(const End& how) {
    const auto ended = std::exchange(handlers_.ended, nullptr);
    if (ended) ended(how);
}

void HelperProcess::kill_now() {
    if (pid_ <= 0) return;
    const bool has_session = !spawning_->is_starting();
    kill(has_session ? -pid_ : pid_, SIGKILL);
}

}  // namespace dlaunch::launcher
