#include "agent/group/last_look.hpp"

#include <algorithm>
#include <utility>

#include "agent/errors/gdb_stack.hpp"

namespace dlaunch::agent {
namespace {

constexpr auto kLookForLines = std::chrono::milliseconds(100);
constexpr auto kDebug = std::chrono::milliseconds(3000);  ///< the grace, where that is shorter
constexpr std::size_t kMostDebuggers = 4;                 ///< each takes a core and reads the program's symbols

}  // namespace

void LastLook::begin(int round) {
    round_ = round;
    lines_.clear();
    stacks_.clear();
    wanted_.clear();
    done_.clear();
    lines_awaited_.clear();
    stacks_awaited_.clear();
    debuggers_.clear();
    lines_due_ = {};
}

void LastLook::take(const std::vector<int>& local_ranks, std::function<void()> done) {
    wanted_.insert(local_ranks.begin(), local_ranks.end());
    done_.push_back(std::move(done));
    if (!lines_awaited_.empty()) return;
    for (const Worker& worker : workers_.all())
        if (worker.alive) lines_awaited_.insert(worker.local_rank);
    if (lines_awaited_.empty()) return take_stacks();
    looked_at_ = base::Clock::now();
    lines_due_ = deps_.loop.after(kLookForLines, [this] { take_stacks(); });
    for (const Worker& worker : workers_.all())
        if (worker.alive) look_for_line(worker);
}

void LastLook::describe(Failure& failure) const {
    if (const auto line = lines_.find(failure.local_rank); line != lines_.end()) {
        failure.last_line = line->second.text;
        failure.silent_for = line->second.age;
    }
    if (const auto stack = stacks_.find(failure.local_rank); stack != stacks_.end()) failure.stack = stack->second;
}

void LastLook::look_for_line(const Worker& worker) {
    deps_.output.inspect(
        workers_.source_of(worker), [this, source = workers_.source_of(worker)](const Evidence& found) {
            if (source.restart_round != round_ || !lines_awaited_.contains(source.local_rank)) return;
            if (!found.last_line.text().empty())
                lines_[source.local_rank] = {found.last_line.text(),
                                             std::max(looked_at_ - found.last_line.at(), base::Duration::zero())};
            lines_awaited_.erase(source.local_rank);
            if (lines_awaited_.empty()) take_stacks();
        });
}

/// Where gdb is not installed or may not attach, the report has no stack and no note about gdb.
void LastLook::take_stacks() {
    lines_due_ = {};
    lines_awaited_.clear();
    for (const int local_rank : std::exchange(wanted_, {})) {
        const Worker& worker = workers_.all()[static_cast<std::size_t>(local_rank)];
        const bool is_native = !deps_.plan.context_of(local_rank).program.is_python;
        if (is_native && worker.alive && worker.pid > 0 && !worker.spawning && deps_.plan.grace.count() > 0 &&
            debuggers_.size() < kMostDebuggers)
            take_stack(worker);
    }
    finish_if_complete();
}

void LastLook::take_stack(const Worker& worker) {
    const int local_rank = worker.local_rank;
    auto [debugger, is_new] = debuggers_.emplace(local_rank, nullptr);
    if (!is_new) return;
    debugger->second = std::make_unique<Helper>(deps_.loop, deps_.children);
    stacks_awaited_.insert(local_rank);
    debugger->second->run(gdb_command(worker.pid), deps_.plan.host.environment,
                          std::min<base::Duration>(deps_.plan.grace, kDebug),
                          [this, local_rank](const Helper::Result& result) {
                              if (result.status == 0) stacks_[local_rank] = gdb_frames(result.output);
                              stacks_awaited_.erase(local_rank);
                              finish_if_complete();
                          });
}

void LastLook::finish_if_complete() {
    if (!stacks_awaited_.empty() || !lines_awaited_.empty()) return;
    for (const auto& done : std::exchange(done_, {})) done();
}

}  // namespace dlaunch::agent
