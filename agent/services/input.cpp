#include "agent/services/input.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <utility>

namespace dlaunch::agent {
namespace {

FrontNotice reading(int round, int nodes, bool reads = true) {
    return {FrontNotice::Kind::input, round, nodes, reads ? 1 : 0};
}

}  // namespace

StandardInput::StandardInput(base::Loop& control, base::Loop& io, const Plan& plan, Terminal& terminal)
    : control_(control),
      copying_(isatty(STDIN_FILENO) ? control : io),
      plan_(plan.standard_input),
      is_mpi_(plan.contexts.front().program.mpi != MpiFamily::none),
      notices_(plan.front_notices),
      terminal_(terminal),
      null_(open("/dev/null", O_RDONLY | O_CLOEXEC)),
      copier_(std::make_shared<InputCopier>(copying_, isatty(STDIN_FILENO) ? &terminal : nullptr,
                                            [this] { terminal_wanted_(); })) {}

void StandardInput::contribute(const Assignment& assignment, int local_rank, Contribution& to) {
    using Mode = StdinPlan::Mode;
    const int rank = assignment.ranks.rank(local_rank);
    const bool is_out_of_reach = terminal_.taken() && !terminal_.usable() && terminal_.orphaned();
    if (plan_.mode == Mode::rank && plan_.rank == rank && !is_out_of_reach) {
        to.terminal = terminal_.is_ours();
        notice_ = reading(assignment.round, 1);
        return;
    }
    // A background job must not read the user's input to the shell. The kernel stops background readers, but not a
    // worker in a session of its own: give it /dev/null.
    const bool in_background = isatty(STDIN_FILENO) && !terminal_.usable();
    const bool is_reader = assignment.world_size == 1 || (is_mpi_ && rank == 0);
    if (plan_.mode == Mode::automatic && is_reader && !in_background) {
        notice_ = reading(assignment.round, 1);
        return;
    }
    to.input = null_.get();
    int ends[2];
    if (plan_.mode != Mode::all) return;
    notice_ = reading(assignment.round, assignment.group_world_size);
    if (pipe2(ends, O_CLOEXEC) != 0) return;
    fcntl(ends[1], F_SETFL, O_NONBLOCK);
    pipes_.emplace_back(ends[1]);
    to.input = ends[0];
    to.owned.emplace_back(ends[0]);
}

/// Where both have one loop, the effect is immediate.
void StandardInput::on_copier(std::function<void(InputCopier&)> work) {
    if (&copying_ == &control_) return work(*copier_);
    copying_.post([copier = copier_, work = std::move(work)] { work(*copier); });
}

void StandardInput::started() {
    if (notice_) tell_front_end(notices_, *notice_);
    if (pipes_.empty()) return;
    auto pipes = std::make_shared<std::vector<base::UniqueFd>>(std::exchange(pipes_, {}));
    on_copier([pipes, on_end = [to = notices_, notice = *std::exchange(notice_, {})] {
        tell_front_end(to, reading(notice.round, notice.nodes, false));
    }](InputCopier& copier) { copier.begin(std::move(*pipes), on_end); });
}

void StandardInput::finish() {
    if (auto notice = std::exchange(notice_, {}))
        tell_front_end(notices_, reading(notice->round, notice->nodes, false));
    pipes_.clear();
    on_copier([](InputCopier& copier) { copier.finish(); });
}

void StandardInput::suspend() {
    on_copier([](InputCopier& copier) { copier.suspend(); });
}

void StandardInput::resume() {
    on_copier([](InputCopier& copier) { copier.resume(); });
}

}  // namespace dlaunch::agent
