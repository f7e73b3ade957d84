// The part of GroupShell that starts workers, as soon as their folders exist and the services are ready.

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "agent/group/group_shell.hpp"

namespace dlaunch::agent {
namespace {

/// Longest wait of the first worker for the folder of its error file: an unresponsive disk must not block the worker.
constexpr auto kFoldersDue = std::chrono::milliseconds(100);

}  // namespace

void GroupShell::make_folders() {
    if (!deps_.output.paths().has_tree()) return;
    awaits_folders_ = true;
    std::vector<LogSource> sources;
    for (const Worker& worker : workers_.all()) sources.push_back(workers_.source_of(worker));
    if (deps_.program && !workers_.has_template()) sources.push_back(workers_.next_template_source());
    deps_.output.make_folders(std::move(sources), [this, round = assignment_.round] {
        if (round == assignment_.round) end_wait_for_folders();
    });
    folders_due_ = deps_.loop.after(kFoldersDue, [this] { end_wait_for_folders(); });
}

void GroupShell::end_wait_for_folders() {
    awaits_folders_ = false;
    folders_due_ = {};
    start_waiting();
}

bool GroupShell::must_wait() const {
    return awaits_folders_ || group_.suspended() ||
           !std::ranges::all_of(deps_.services, [](const auto* each) { return each->is_ready(); });
}

void GroupShell::start_waiting() {
    feed([this](base::Time) {
        if (must_wait()) return;
        if (const auto waiting = std::exchange(to_be_started_, std::nullopt)) start_when_ready(*waiting);
    });
}

/// A stop cancels the start that waits for a folder or a service.
void GroupShell::cancel_start() {
    const auto waiting = std::exchange(to_be_started_, std::nullopt);
    if (!waiting) return;
    if (*waiting == LogSource::kTemplate)
        on_template_refused({.step = "the round was stopped", .permanent = true});
    else
        feed([this, local = *waiting](base::Time now) { group_.unmade(local, now); });
}

void GroupShell::start_when_ready(int local_rank) {
    if (must_wait())
        to_be_started_ = local_rank;
    else if (local_rank == LogSource::kTemplate)
        start_template();
    else
        start(local_rank);
}

/// Starts one worker per turn of the loop, so that signals and exits are served between two starts.
void GroupShell::start(int local_rank) {
    workers_.start(local_rank);
    deps_.loop.post([this] { feed([this](base::Time now) { group_.proceed(now); }); });
}

void GroupShell::start_template() {
    if (const auto error = workers_.start_template()) on_template_refused(*error);
}

void GroupShell::hint() {
    owner_.print_unless_quiet(
        fmt::format("no worker runs yet: the program (pid {}) has not reached dlaunch::fork_point() within {} s; a "
                    "program without that call needs --start-method=spawn",
                    deps_.program->pid(), std::chrono::seconds(WorkerGroup::kLongPreparation).count()));
}

}  // namespace dlaunch::agent
