#include "launcher/start/helper_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "agent/process/program_paths.hpp"

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

}  // namespace

HelperProcess::HelperProcess(base::Loop& loop, agent::Children& children, Handlers handlers)
    : loop_(loop), handlers_(std::move(handlers)), child_(loop, children) {}

void HelperProcess::begin(Command command, const std::string& path) {
    name_ = command.words.front().substr(command.words.front().rfind('/') + 1);
    if (const auto error = spawn(command, path))
        failed_ = loop_.after({}, [this, text = *error] {
            std::exchange(handlers_.ended, nullptr)({std::nullopt, text});
        });
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
    request.death_signal = end_signal_ = command.end_signal;
    request.paths = agent::candidates(command.words.front(), path);
    request.arguments = command.words;
    set_environment(request, std::move(command.variables));
    request.files = {reads.get(), writes.get(), command.merges_errors ? writes.get() : -1};
    program_ = std::move(command.program);
    rest_ = std::move(command.input);
    child_.begin(std::move(request), [this](const agent::ChildProgram::End& how) { on_end(how); });
    output_watch_ = loop_.readable(output_.get(), [this] { on_output(); });
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

void HelperProcess::on_end(const agent::ChildProgram::End& how) {
    output_watch_ = {};
    std::array<char, 4096> bytes;
    for (ssize_t count; (count = read(output_.get(), bytes.data(), bytes.size())) > 0;)
        handlers_.output({bytes.data(), static_cast<std::size_t>(count)});
    const auto ended = std::exchange(handlers_.ended, nullptr);
    if (how.executed) return ended({how.status, fmt::format("{} {}", name_, how.text)});
    ended({std::nullopt, fmt::format("{} cannot be started: {}", name_, how.text)});
}

}  // namespace dlaunch::launcher
