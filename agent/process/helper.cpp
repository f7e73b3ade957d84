#include "agent/process/helper.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <utility>
#include <variant>

#include "agent/process/program_paths.hpp"
#include "rendezvous/base/exit_status.hpp"

namespace dlaunch::agent {
namespace {

constexpr int kTimedOut = 124;  // as timeout(1)

}  // namespace

Helper::~Helper() {
    if (pid_ == 0) return;
    kill(pid_, SIGKILL);
    children_.add(pid_, Children::Kind::worker);  // the guard's sweep reaps it
}

void Helper::run(const std::vector<std::string>& words,
                 const std::vector<std::pair<std::string, std::string>>& variables, base::Duration limit,
                 std::function<void(const Result&)> done) {
    done_ = std::move(done);
    limit_ = loop_.after(limit, [this] {
        if (pid_ != 0) kill(pid_, SIGKILL);
        finish({kTimedOut, "it has not ended in time"});
    });
    SpawnRequest request;
    std::string path = "/usr/bin:/bin";
    for (const auto& [name, value] : variables) {
        request.variables.push_back(fmt::format("{}={}", name, value));
        if (name == "PATH") path = value;
    }
    request.arguments = words;
    request.paths = candidates(words.front(), path);
    start(std::move(request));
}

/// The pipe holds what the program writes until its end. A program that writes more than a pipe holds runs into the
/// limit.
void Helper::start(SpawnRequest request) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0) pipe_.reset(ends[0]);
    const base::UniqueFd writer(pipe_ ? ends[1] : -1), nothing(open("/dev/null", O_RDWR | O_CLOEXEC));
    const int output = writer ? writer.get() : nothing.get();
    request.files = {nothing.get(), output, output};
    auto outcome = Spawning::begin(std::move(request));
    if (auto* error = std::get_if<SpawnError>(&outcome)) {
        limit_ = loop_.after(base::Duration::zero(), [this, refusal = *error] {
            finish({refusal.exit_status(), refusal.text()});
        });
        return;
    }
    spawning_ = std::move(std::get<Spawning>(outcome));
    pid_ = spawning_->pid();
    pidfd_ = spawning_->take_pidfd();
    children_.add(pid_, Children::Kind::lasting);
    executed_ = loop_.readable(spawning_->result(), [this] { on_result(); });
    ended_ = loop_.readable(pidfd_.get(), [this] { on_end(); });
}

/// execve has succeeded or failed.
void Helper::on_result() {
    const auto error = spawning_->finish();
    executed_ = {};
    spawning_.reset();
    if (!error) return;
    children_.remove(std::exchange(pid_, 0));
    finish({error->exit_status(), error->text()});
}

void Helper::on_end() {
    if (spawning_) return on_result();
    siginfo_t info{};
    if (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG) != 0 || info.si_pid != pid_) return;
    children_.remove(std::exchange(pid_, 0));
    std::array<char, 1'024> text;
    const ssize_t got = read(pipe_.get(), text.data(), text.size());
    finish({info.si_code == CLD_EXITED ? info.si_status : exit_status::kSignalBase + info.si_status,
            std::string(text.data(), got > 0 ? static_cast<std::size_t>(got) : 0)});
}

void Helper::finish(Result result) {
    limit_ = {};
    executed_ = {};
    ended_ = {};
    std::exchange(done_, nullptr)(result);
}

}  // namespace dlaunch::agent
