#include "launcher/start/starter_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>
#include <variant>

#include "rendezvous/base/escape.hpp"
#include "rendezvous/base/signal_names.hpp"

namespace dlaunch::launcher {
namespace {

constexpr std::size_t kMostLines = 5, kMostLineBytes = 300;

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

}  // namespace

StarterProcess::StarterProcess(base::Loop& loop, agent::Children& children,
                               std::function<void(const std::string&)> ended)
    : loop_(loop), children_(children), ended_(std::move(ended)) {}

StarterProcess::~StarterProcess() {
    exit_watch_ = {};
    if (pid_ <= 0) return;
    kill_now();
    siginfo_t end{};
    while (waitid(P_PID, static_cast<id_t>(pid_), &end, WEXITED) != 0 && errno == EINTR) {}
    children_.remove(pid_);
}

std::optional<std::string> StarterProcess::begin(StarterCommand command, const std::string& path) {
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
    request.files = {reads.get(), writes.get(), writes.get()};
    name_ = command.words.front().substr(command.words.front().rfind('/') + 1);
    program_ = std::move(command.program);
    unwritten_ = std::move(command.input);
    auto begun = agent::Spawning::begin(std::move(request));
    if (const auto* error = std::get_if<agent::SpawnError>(&begun)) return error->text();
    spawning_ = std::move(std::get<agent::Spawning>(begun));
    pid_ = spawning_->pid();
    children_.add(pid_, agent::Children::Kind::lasting);
    pidfd_ = spawning_->take_pidfd();
    started_watch_ = loop_.readable(spawning_->result(), [this] { on_started(); });
    return std::nullopt;
}

/// The child has executed the launcher, or could not.
void StarterProcess::on_started() {
    started_watch_ = {};
    const auto error = spawning_->finish();
    spawning_.reset();
    if (error) {
        children_.remove(std::exchange(pid_, 0));
        const auto ended = std::exchange(ended_, nullptr);
        if (ended) ended(fmt::format("{} cannot be started: {}", name_, error->text()));
        return;
    }
    output_watch_ = loop_.readable(output_.get(), [this] { on_output(); });
    exit_watch_ = loop_.readable(pidfd_.get(), [this] { on_exit(); });
    write_input();
}

/// The program, if the launcher copies one, then the rest of the input. The pipe stays open: at an end of file a login
/// that is stuck in a profile would go on.
void StarterProcess::write_input() {
    for (std::string_view rest; !(rest = unwritten()).empty();) {
        const ssize_t count = write(input_.get(), rest.data(), rest.size());
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

std::string_view StarterProcess::unwritten() const {
    const std::size_t first = program_ ? program_->size() : 0;
    if (written_ < first) return std::string_view(*program_).substr(written_);
    return std::string_view(unwritten_).substr(std::min(written_ - first, unwritten_.size()));
}

void StarterProcess::take(std::string_view bytes) {
    for (const char c : bytes) {
        if (c != '\n') {
            if (partial_.size() < kMostLineBytes) partial_ += c;
            continue;
        }
        lines_.push_back(std::exchange(partial_, {}));
        if (lines_.size() > kMostLines) lines_.pop_front();
    }
}

void StarterProcess::on_output() {
    std::array<char, 16'384> bytes;
    const ssize_t count = read(output_.get(), bytes.data(), bytes.size());
    if (count > 0) return take({bytes.data(), static_cast<std::size_t>(count)});
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    output_watch_ = {};
}

void StarterProcess::on_exit() {
    exit_watch_ = {};
    siginfo_t end{};
    while (waitid(P_PID, static_cast<id_t>(pid_), &end, WEXITED) != 0 && errno == EINTR) {}
    children_.remove(std::exchange(pid_, 0));
    std::array<char, 4096> bytes;
    for (ssize_t count; (count = read(output_.get(), bytes.data(), bytes.size())) > 0;)
        take({bytes.data(), static_cast<std::size_t>(count)});
    output_watch_ = {};
    const std::string how = end.si_code == CLD_EXITED
                                ? fmt::format("{} exited with {}", name_, end.si_status)
                                : fmt::format("{} was killed by {}", name_, base::signal_name(end.si_status));
    const auto ended = std::exchange(ended_, nullptr);
    if (ended) ended(how);
}

void StarterProcess::kill_now() {
    if (pid_ > 0) kill(-pid_, SIGKILL);  // its children, too: it leads a session
}

std::string StarterProcess::last_words() const {
    std::string words;
    for (const std::string& line : lines_)
        if (!line.empty()) words += (words.empty() ? "" : "; ") + base::printable(line.substr(0, line.find('\r')));
    if (!partial_.empty()) words += (words.empty() ? "" : "; ") + base::printable(partial_);
    return words;
}

}  // namespace dlaunch::launcher
