#include "agent/process/child_program.hpp"

#include <fmt/format.h>
#include <sys/wait.h>

#include <csignal>
#include <utility>
#include <variant>

#include "rendezvous/base/exit_status.hpp"
#include "rendezvous/base/signal_names.hpp"

namespace dlaunch::agent {

void ChildProgram::begin(SpawnRequest request, std::function<void(const End&)> ended) {
    ended_ = std::move(ended);
    auto outcome = Spawning::begin(std::move(request));
    if (auto* error = std::get_if<SpawnError>(&outcome)) {
        refused_ = loop_.after(base::Duration::zero(), [this, refusal = *error] {
            finish({refusal.exit_status(), refusal.text(), false});
        });
        return;
    }
    spawning_ = std::move(std::get<Spawning>(outcome));
    pid_ = spawning_->pid();
    pidfd_ = spawning_->take_pidfd();
    children_.add(pid_, Children::Kind::lasting);
    end_watch_ = loop_.readable(pidfd_.get(), [this] { on_end(); });
}

void ChildProgram::on_end() {
    if (const auto error = spawning_->finish()) {
        children_.remove(std::exchange(pid_, 0));
        return finish({error->exit_status(), error->text(), false});
    }
    siginfo_t info{};
    if (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG) != 0 || info.si_pid != pid_) return;
    children_.remove(std::exchange(pid_, 0));
    if (info.si_code == CLD_EXITED)
        return finish({info.si_status, fmt::format("exited with {}", info.si_status), true});
    finish({exit_status::kSignalBase + info.si_status,
            fmt::format("was killed by {}", base::signal_name(info.si_status)), true});
}

void ChildProgram::finish(const End& end) {
    spawning_.reset();
    end_watch_ = {};
    std::exchange(ended_, nullptr)(end);
}

void ChildProgram::signal(int number) const {
    if (pid_ == 0) return;
    const bool has_session = !spawning_->is_starting();
    ::kill(has_session ? -pid_ : pid_, number);
}

base::UniqueFd ChildProgram::kill() {
    end_watch_ = {};
    refused_ = {};
    if (pid_ == 0) return {};
    signal(SIGKILL);
    spawning_.reset();
    children_.remove(std::exchange(pid_, 0));  // from now on reaped as any child
    return std::move(pidfd_);
}

}  // namespace dlaunch::agent
