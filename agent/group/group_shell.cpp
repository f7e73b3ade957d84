#include "agent/group/group_shell.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <set>
#include <utility>

#include "agent/errors/first_cause.hpp"
#include "agent/process/proc.hpp"
#include "agent/process/sweep.hpp"
#include "rendezvous/base/exit_status.hpp"
#include "rendezvous/base/files.hpp"
#include "rendezvous/base/signal_names.hpp"

namespace dlaunch::agent {
namespace {

std::int64_t number(std::int64_t value) { return value; }
const char* plural(std::size_t count, const char* ending) { return count == 1 ? "" : ending; }

/// Of workers that are bound to processors of their own, as far as there are enough.
std::string shared_processors(const std::vector<std::vector<int>>& bound) {
    std::set<int> all;
    std::size_t given = 0;
    for (const std::vector<int>& each : bound) {
        all.insert(each.begin(), each.end());
        given += each.size();
    }
    if (given == all.size()) return {};
    return fmt::format("--bind=cores: {} workers share {} processor{}", bound.size(), all.size(),
                       plural(all.size(), "s"));
}

}  // namespace

GroupShell::GroupShell(const WorkerDeps& deps, EventLog& events, GroupOwner& owner)
    : deps_(deps),
      events_(events),
      owner_(owner),
      workers_(deps, *this),
      group_({.stop_signal = deps.plan.stop_signal,
              .grace = deps.plan.grace,
              .settle = deps.plan.settle,
              .forks = deps.program != nullptr}),
      memory_(OomCounter::of_this_process()) {
    for (RoundService* service : deps_.services) service->control(*this);
    show_progress();
    if (deps_.plan.logs.terminals.value_or(deps_.plan.logs.live))
        deps_.output.on_resize([this] { workers_.signal(SIGWINCH); });
    if (deps_.plan.binding == Binding::cores)
        if (const std::string shared = shared_processors(deps_.processors); !shared.empty())
            owner_.print_unless_quiet(deps_.plan.with_host(shared));
    if (deps_.plan.rendezvous.max_nodes > 1 && deps_.cgroups.folder().empty() && !proc_is_ours())
        owner_.print_unless_quiet(
            "/proc does not show this process, and no cgroup can be made: should the agent freeze, its workers live "
            "on");
}

/// Runs to completion: events that arrive while commands are carried out wait in a queue.
void GroupShell::feed(Event event) {
    queue_.push_back(std::move(event));
    if (std::exchange(handling_, true)) return;
    for (; !queue_.empty(); queue_.pop_front()) {
        queue_.front()(base::Clock::now());
        for (const GroupCommand& command : group_.take_commands()) perform(command);
    }
    handling_ = false;
    arm_timer();
    show_progress();
}

void GroupShell::show_progress() {
    deps_.output.show({.workers = static_cast<int>(workers_.all().size()),
                       .alive = workers_.alive(),
                       .restarts = assignment_.restart_count,
                       .max_restarts = assignment_.max_restarts,
                       .nodes = workers_.all().empty() ? 0 : assignment_.group_world_size - lost_nodes_,
                       .wanted_nodes = deps_.plan.rendezvous.max_nodes});
}

void GroupShell::arm_timer() {
    const auto next = group_.next_deadline();
    if (next == timer_at_) return;
    timer_at_ = next;
    timer_ = {};
    if (!next) return;
    timer_ = deps_.loop.after(std::max(*next - base::Clock::now(), base::Duration::zero()), [this] {
        timer_at_.reset();
        feed([this](base::Time now) { group_.tick(now); });
    });
}

void GroupShell::perform(const GroupCommand& command) {
    using Kind = GroupCommand::Kind;
    switch (command.kind) {
        case Kind::enter:
            clearing_ = false;
            return events_.write("group_state", {{"state", name(command.state)}, {"because", name(command.event)}});
        case Kind::start_template: return start_when_ready(LogSource::kTemplate);
        case Kind::start: return start_when_ready(command.worker);
        case Kind::hint: return hint();
        case Kind::started:
            for (RoundService* service : deps_.services) service->started();
            return owner_.on_started();
        case Kind::fail: return add_failure(command);
        case Kind::collect: return workers_.collect_exited();
        case Kind::announce: return announce();
        case Kind::stop:
            events_.write("stopping", {{"signal", std::string_view(base::signal_name(command.signal))},
                                       {"workers", number(workers_.alive())}});
            cancel_start();
            stopped_at_ = std::min(stopped_at_, base::Clock::now());
            return stop_workers(command.signal);
        case Kind::kill:
            cancel_start();
            stopped_at_ = std::min(stopped_at_, base::Clock::now());
            return kill_workers(command.event);
        case Kind::look_for_orphans: return look_for_orphans();
        case Kind::end_orphans: return workers_.end_orphans();
        case Kind::signal: return workers_.signal(command.signal);
        case Kind::report_unkillable: return report_unkillable();
        case Kind::cut_drain: return deps_.output.cut_drain();
        case Kind::sweep: return sweep();
        case Kind::drain: return drain();
        case Kind::finish: return finish(command.succeeded);
    }
}

// --- requests --------------------------------------------------------------------------------------------------------

void GroupShell::begin(const Assignment& assignment) {
    feed([this, assignment](base::Time now) {
        assignment_ = assignment;
        started_ = now;
        if (group_.state() != GroupState::over) {
            failures_.clear();
            remarks_.clear();
            spawn_errors_.clear();
            memory_before_ = memory_.read();
            evidence_.clear();
            earlier_errors_.begin();
            stopped_at_ = base::Time::max();
            stop_due_ = {};
            hang_kills_.clear();
            last_look_.begin(assignment.round);
            is_timed_out_ = false;
            lost_nodes_ = 0;
            looks_before_stop_ = nodes_change_ = false;
            workers_.begin(assignment);
            make_folders();
            for (RoundService* service : deps_.services) service->prepare(assignment);
            if (!workers_.has_template()) group_.template_gone();
            events_.write("round_assigned", {{"round", number(assignment.round)},
                                             {"group_rank", number(assignment.group_rank)},
                                             {"world_size", number(assignment.world_size)},
                                             {"ranks", std::string_view(assignment.ranks.text())},
                                             {"local_world_size", number(assignment.ranks.workers())},
                                             {"restart_count", number(assignment.restart_count)},
                                             {"master_addr", std::string_view(assignment.master_addr)},
                                             {"master_port", number(assignment.master_port)}});
        }
        group_.assign(assignment.ranks.workers(), now, assignment.group_world_size > 1);
    });
}

void GroupShell::await_sender(int signal) {
    if (deps_.plan.host.is_set("SLURM_JOB_ID")) workers_.await_sender(signal);
}

void GroupShell::stop(int received, const std::string& why) {
    events_.write("stop_requested", {{"why", std::string_view(why)}});
    if (received != 0 || std::exchange(nodes_change_, false))
        await_sender(received != 0 ? received : SharedSignals::kAnyEnd);
    const int signal = received != 0 ? received : deps_.plan.stop_signal;
    const auto stop_now = [this, signal] { feed([this, signal](base::Time now) { group_.stop(signal, now); }); };
    std::exchange(looks_before_stop_, false) ? last_look_.take({}, stop_now) : stop_now();
}

void GroupShell::explain_stop(StopFor what) {
    looks_before_stop_ = what == StopFor::hang;
    nodes_change_ = what == StopFor::change;
    if (what != StopFor::lost_node) return;
    lost_nodes_ = std::min(lost_nodes_ + 1, assignment_.group_world_size - 1);
    show_progress();
}

void GroupShell::kill(const std::string& why) {
    events_.write("kill_requested", {{"why", std::string_view(why)}});
    feed([this](base::Time now) { group_.kill(now); });
}

void GroupShell::suspend() {
    feed([this](base::Time) { group_.suspend(); });
    events_.write("suspended", {});
}

void GroupShell::resume() {
    if (group_.suspended()) events_.write("resumed", {});
    feed([this](base::Time now) { group_.resume(now); });
    start_waiting();
}

bool GroupShell::on_child() {
    deps_.children.reap_others();
    const bool terminal_stopped = workers_.terminal_stopped();
    feed([this](base::Time now) { group_.child(now); });
    return terminal_stopped;
}

// --- events of workers and the template ------------------------------------------------------------------------------

void GroupShell::on_made(const Worker& worker) {
    feed([this, local = worker.local_rank](base::Time) { group_.made(local); });
}

void GroupShell::on_executed(const Worker& worker) {
    events_.write("worker_started",
                  {{"round", number(assignment_.round)}, {"rank", number(worker.rank)}, {"pid", number(worker.pid)}});
    feed([this, local = worker.local_rank](base::Time now) { group_.executed(local, now); });
}

void GroupShell::on_not_started(const Worker& worker, const SpawnError& error) {
    events_.write(
        "worker_not_started",
        {{"round", number(assignment_.round)}, {"rank", number(worker.rank)}, {"why", std::string_view(error.text())}});
    spawn_errors_[worker.local_rank] = error;
    feed([this, local = worker.local_rank](base::Time now) { group_.not_started(local, now); });
}

void GroupShell::on_unmade(const Worker& worker) {
    feed([this, local = worker.local_rank](base::Time now) { group_.unmade(local, now); });
}

void GroupShell::on_ended(Worker& worker) {
    worker.ended_at = base::Clock::now();
    WorkerExit exit{.local_rank = worker.local_rank, .pid = worker.pid, .status = worker.exit_status()};
    for (RoundService* service : deps_.services) service->ended(exit);
    if (!worker.asked_to_stop) worker.verdict = std::move(exit.verdict);
    // Read the count before the cgroup is removed. Each round has a new cgroup: its count starts at 0.
    const std::string counted_in = deps_.cgroups.worker_folder(assignment_.round, worker.local_rank);
    if (!counted_in.empty()) worker.oom_kills = OomCounter::of_folder(counted_in).read();
    const bool well = worker.exit_status() == 0 && !worker.verdict;
    const auto& ending = deps_.plan.handled_signals;
    const bool as_if_asked =
        !worker.hung && std::find(ending.begin(), ending.end(), worker.exit_status() - 128) != ending.end();
    const WorkerGroup::End end{.well = well,
                               .may_hold = owner_.is_asked_to_end() || as_if_asked,
                               .fenced = owner_.is_fenced(),
                               .asked = worker.asked_to_stop,
                               .lost_peer = worker.code != CLD_EXITED && worker.status == SIGPIPE,
                               .message_follows = !well && message_matters(worker)};
    events_.write("worker_ended",
                  {{"round", number(assignment_.round)},
                   {"rank", number(worker.rank)},
                   {"pid", number(worker.pid)},
                   {"status", number(worker.exit_status())},
                   {"signal", well || worker.code == CLD_EXITED ? std::string_view()
                                                                : std::string_view(base::signal_name(worker.status))},
                   {"asked_to_stop", worker.asked_to_stop},
                   {"max_rss_kib", worker.usage.max_rss_kib},
                   {"user_seconds", worker.usage.user_seconds},
                   {"system_seconds", worker.usage.system_seconds}});
    feed([this, local = worker.local_rank, end](base::Time now) { group_.ended(local, end, now); });
    if (end.message_follows) look_for_message(worker);
}

void GroupShell::on_template_ready() {
    events_.write("template_ready", {{"pid", number(deps_.program->pid())}});
    feed([this](base::Time now) { group_.template_ready(now); });
}

void GroupShell::on_template_refused(const SpawnError& error) {
    template_error_ = error;
    feed([this](base::Time now) { group_.template_refused(now); });
}

void GroupShell::on_template_ended(const Template::End& end) {
    const bool exited = end.code == CLD_EXITED;
    events_.write("template_ended",
                  {{"pid", number(end.pid)},
                   {"status", number(exited ? end.status : exit_status::kSignalBase + end.status)},
                   {"signal", exited ? std::string_view() : std::string_view(base::signal_name(end.status))},
                   {"at_fork_point", end.at_fork_point}});
    template_end_ = end;
    const WorkerGroup::TemplateEnd outcome{
        .well = exited && end.status == 0, .at_fork_point = end.at_fork_point, .fenced = owner_.is_fenced()};
    feed([this, outcome](base::Time now) { group_.template_ended(outcome, now); });
}

// --- commands --------------------------------------------------------------------------------------------------------

void GroupShell::kill_workers(GroupEvent because) {
    const auto alive = static_cast<std::size_t>(workers_.alive());
    if (because == GroupEvent::grace_over && alive > 0)
        owner_.print_own(fmt::format("killing {} worker{} that did not end", alive, plural(alive, "s")));
    if (because == GroupEvent::grace_over && workers_.template_prepares())
        owner_.print_own("killing the program, which did not end before its fork point");
    events_.write("killing", {{"workers", number(workers_.alive())}});
    workers_.kill();
}

void GroupShell::report_unkillable() {
    for (const Worker& worker : workers_.all())
        if (worker.alive)
            owner_.print(fmt::format("rank {} (pid {}) cannot be killed: it hangs in the kernel ({})", worker.rank,
                                     worker.pid, base::text_of(fmt::format("/proc/{}/wchan", worker.pid))));
}

/// Watches each orphan: the exit of an orphan with a living parent outside the group raises no SIGCHLD here.
void GroupShell::look_for_orphans() {
    orphans_ = workers_.orphans();
    for (LocalWorkers::Orphan& orphan : orphans_) {
        if (!orphan.pidfd) continue;
        orphan.watch = deps_.loop.readable(orphan.pidfd.get(), [this, &orphan] {
            orphan.watch = {};
            feed([this](base::Time now) { group_.child(now); });
        });
    }
    feed([this, living = orphans_.size()](base::Time now) { group_.orphans(living, now); });
}

/// Records the names of left-behind processes, then kills them. Returns the number of those in the workers' groups.
std::size_t GroupShell::begin_clearing() {
    clearing_ = true;
    orphans_.clear();
    for (RoundService* service : deps_.services) service->finish();
    deps_.children.reap_others();
    const std::vector<Swept> swept = survey(deps_.children.lasting());
    deps_.cgroups.kill_all();
    const auto orphans = workers_.orphans();
    for (const LocalWorkers::Orphan& orphan : orphans) orphan.signal(SIGKILL);
    if (swept.empty()) return orphans.size();
    constexpr std::size_t kMostNames = 5;
    std::string names;
    for (std::size_t at = 0; at < std::min(swept.size(), kMostNames); ++at)
        names += fmt::format("{}{} (pid {})", at ? ", " : "", swept[at].command, swept[at].pid);
    remarks_.push_back(fmt::format("ended {} process{} that workers had left behind: {}{}", swept.size(),
                                   plural(swept.size(), "es"), names, swept.size() > kMostNames ? " ..." : ""));
    events_.write("swept", {{"processes", number(static_cast<int>(swept.size()))}, {"names", std::string_view(names)}});
    return orphans.size();
}

void GroupShell::sweep() {
    std::size_t living = clearing_ ? 0 : begin_clearing();
    deps_.children.reap_others();
    // Without /proc a search for descendants is slow: assume that the processes just killed are the last.
    if (living == 0 || proc_is_ours()) living = kill_descendants(deps_.children.lasting());
    feed([this, living](base::Time now) { group_.swept(living, now); });
}

void GroupShell::drain() {
    earlier_errors_.end();
    for (RoundService* service : deps_.services) service->cleared();
    std::vector<LogSource> failed;
    const bool may_have_stopped_cause = is_unclear() || earlier_errors_.knows_any();
    for (const Failure& failure : failures_)
        if (!failure.collateral || may_have_stopped_cause) failed.push_back(source_of(failure));
    deps_.output.drain(std::move(failed), [this](Drained drained) {
        if (drained.dropped_bytes)
            remarks_.push_back(
                fmt::format("{} bytes of the workers' output were lost: the console's reader does not read",
                            drained.dropped_bytes));
        if (drained.stalled)
            for (const Failure& failure : failures_)
                drained.evidence[source_of(failure).local_rank].stderr_tail = {
                    "(not known: a file system that dlaunch writes to does not answer)"};
        evidence_ = std::move(drained.evidence);
        feed([this](base::Time now) { group_.drained(now); });
    });
    deps_.cgroups.end_round();  // while the I/O thread reads
}

void GroupShell::finish(bool succeeded) {
    RoundResult end;
    complete_failures();
    std::stable_partition(failures_.begin(), failures_.end(), [](const Failure& one) { return !one.collateral; });
    add_early_exits();
    put_first_cause_first(failures_);
    end.succeeded = succeeded;
    end.outcomes = outcomes();
    end.failures = failures_;
    end.remarks = std::move(remarks_);
    end.lasted = std::chrono::duration_cast<std::chrono::milliseconds>(base::Clock::now() - started_);
    events_.write("round_over", {{"round", number(assignment_.round)}, {"succeeded", end.succeeded}});
    owner_.on_round_over(end);
}

}  // namespace dlaunch::agent
