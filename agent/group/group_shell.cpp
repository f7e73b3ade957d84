#include "agent/group/round.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <stdexcept>

#include "agent/process/proc.hpp"
#include "agent/process/sweep.hpp"
#include "rendezvous/base/exit_status.hpp"
#include "rendezvous/base/files.hpp"
#include "rendezvous/base/signal_names.hpp"

namespace dlaunch::agent {
namespace {

using namespace std::chrono_literals;

constexpr auto kUnkillable = 10s;  // after SIGKILL; who lives then hangs in the kernel
constexpr auto kSweepDeadline = 5000ms;
constexpr auto kDrainDeadline = 5000ms;
constexpr auto kLongPreparation = 10s;  // from then on the user should know that the program only prepares
constexpr int kOnTheirWay = 4;  // so many processes between clone and exec: enough to keep the other cores at work

std::int64_t number(int value) { return value; }

}  // namespace

NodeRound::NodeRound(LocalWorkers::Surroundings surroundings, Reporting reporting, Listener listener)
    : around_(std::move(surroundings)),
      reporting_(std::move(reporting)),
      listener_(std::move(listener)),
      workers_(around_,
               {[this](const Worker& worker) { on_started(worker); },
                [this](Worker& worker) { on_end(worker); },
                [this](const Worker& worker, const SpawnError& error) { on_not_started(worker, error); },
                {[this] { on_template_ready(); }, [this](const SpawnError& error) { on_template_refused(error); },
                 [this](const Template::End& end) { on_template_ended(end); }},
                [this] { go_on_starting(); }}),
      held_(around_.loop, [this](Worker& worker) { judge(worker); }),
      memory_(OomCounter::of_this_process()) {
    if (around_.plan.rendezvous.max_nodes > 1 && around_.cgroups.folder().empty() && !proc_is_ours())
        reporting_.mention(
            "/proc does not show this process, and no cgroup can be made: should the agent freeze, its workers live "
            "on");
}

void NodeRound::feed(GroupEvent event) {
    const GroupState before = group_.state();
    switch (group_.on(event)) {
        case GroupAction::spawn: start_next(); break;
        case GroupAction::fail:
            listener_.failed(failures_.front());
            stop_signal_ = around_.plan.stop_signal;
            ask_to_stop();
            break;
        case GroupAction::stop: ask_to_stop(); break;
        case GroupAction::kill: kill_all(event); break;
        case GroupAction::clear: clear(); break;
        case GroupAction::finish: finish(before != GroupState::over); break;
        case GroupAction::ignore:
        case GroupAction::note:
        case GroupAction::resign:  // whoever asked has told the membership
        case GroupAction::end: break;
        case GroupAction::unset:
        case GroupAction::impossible:
            throw std::logic_error(fmt::format("worker group: {} in state {}", name(event), name(before)));
    }
    if (group_.state() != before)
        reporting_.events.write("group_state", {{"state", name(group_.state())}, {"because", name(event)}});
}

void NodeRound::begin(const Assignment& assignment) {
    assignment_ = assignment;
    started_ = base::Clock::now();
    if (group_.state() == GroupState::over) return feed(GroupEvent::assigned);
    failures_.clear();
    remarks_.clear();
    next_to_start_ = next_to_settle_ = 0;
    none_left_told_ = orphans_told_ = false;
    memory_before_ = memory_.read();
    workers_.begin(assignment);
    reporting_.events.write("round_assigned", {{"round", number(assignment.round)},
                                               {"group_rank", number(assignment.group_rank)},
                                               {"world_size", number(assignment.world_size)},
                                               {"first_rank", number(assignment.first_rank)},
                                               {"local_world_size", number(assignment.local_world_size)},
                                               {"restart_count", number(assignment.restart_count)},
                                               {"master_addr", std::string_view(assignment.master_addr)},
                                               {"master_port", number(assignment.master_port)}});
    feed(GroupEvent::assigned);
}

/// One worker a turn of the loop, so that signals, output and deaths are heard between them. Some are on their way to
/// their programs while the next are made ready.
void NodeRound::start_next() {
    pending_start_ = false;
    if (group_.state() != GroupState::starting || suspended_) return;
    if (next_to_start_ == 0 && !may_start()) return;
    const int count = assignment_.local_world_size;
    if (next_to_start_ < count && next_to_start_ - next_to_settle_ < kOnTheirWay) {
        Worker& worker = workers_.all()[static_cast<std::size_t>(next_to_start_++)];
        if (auto error = workers_.start(worker.local_rank)) return on_not_started(worker, *error);
    }
    while (next_to_settle_ < next_to_start_ &&
           (next_to_start_ == count || next_to_start_ - next_to_settle_ >= kOnTheirWay)) {
        if (!workers_.settle(next_to_settle_)) return;  // we are told when it is time to go on
        ++next_to_settle_;
        if (group_.state() != GroupState::starting) return;
    }
    if (next_to_settle_ < count) {
        pending_start_ = true;
        return around_.loop.post([this] { start_next(); });
    }
    feed(GroupEvent::started);
    around_.input.start_copying();
    if (listener_.started) listener_.started();
    note_if_none_left();
}

bool NodeRound::may_start() {
    if (workers_.may_start()) return true;
    if (workers_.template_prepares())
        hint_ = around_.loop.after(kLongPreparation, [this] {
            if (group_.state() != GroupState::starting) return;
            reporting_.mention(
                fmt::format("no worker runs yet: in {} s the program (pid {}) has not come to dlaunch::fork_point(); "
                            "one that never calls it needs --start-method=spawn",
                            std::chrono::seconds(kLongPreparation).count(), around_.program->pid()));
        });
    return false;
}

void NodeRound::on_template_ready() {
    hint_ = {};
    reporting_.events.write("template_ready", {{"pid", number(around_.program->pid())}});
    go_on_starting();
    note_if_none_left();  // a stop may have waited for it
}

/// It was for any of them: the first one is as good as another.
void NodeRound::on_template_refused(const SpawnError& error) {
    hint_ = {};
    if (group_.state() == GroupState::starting) return on_not_started(workers_.all().front(), error);
    note_if_none_left();
}

/// A round that needs it fails with it, as with a worker. One of an earlier round that has made nobody of this one, as
/// it was at its end before, is replaced: it must not cost a restart.
void NodeRound::on_template_ended(const Template::End& end) {
    hint_ = {};
    const bool well = end.code == CLD_EXITED && end.status == 0;
    reporting_.events.write(
        "template_ended",
        {{"pid", number(end.pid)},
         {"status", number(end.code == CLD_EXITED ? end.status : exit_status::kSignalBase + end.status)},
         {"signal", end.code == CLD_EXITED ? std::string_view() : std::string_view(base::signal_name(end.status))},
         {"at_fork_point", end.at_fork_point}});
    const bool starting = group_.state() == GroupState::starting;
    if (starting && !workers_.template_is_new() && workers_.none_made()) {
        next_to_start_ = next_to_settle_ = 0;
        return go_on_starting();
    }
    const Worker* missing = workers_.first_missing();
    if (starting && missing && well) {
        const std::string text = fmt::format(
            "it ended with 0 {} dlaunch::fork_point() (call it where workers shall begin, or use --start-method=spawn)",
            end.at_fork_point ? "at" : "before");
        return on_not_started(*missing, {text, 0, true, false, {}});
    }
    const bool asked = group_.state() == GroupState::stopping || group_.state() == GroupState::killing;
    if (missing && !well && (starting || (asked && !end.at_fork_point))) {
        add_failure(failure_of(*missing, end));
        feed(GroupEvent::ended_badly);
    }
    note_if_none_left();
}

void NodeRound::go_on_starting() {
    if (group_.state() != GroupState::starting || pending_start_) return;
    pending_start_ = true;
    around_.loop.post([this] { start_next(); });
}

void NodeRound::on_started(const Worker& worker) {
    reporting_.events.write(
        "worker_started",
        {{"round", number(assignment_.round)}, {"rank", number(worker.rank)}, {"pid", number(worker.pid)}});
}

void NodeRound::on_not_started(const Worker& worker, const SpawnError& error) {
    if (group_.state() == GroupState::starting) add_failure(failure_of(worker, error));  // once is enough
    reporting_.events.write(
        "worker_not_started",
        {{"round", number(assignment_.round)}, {"rank", number(worker.rank)}, {"why", std::string_view(error.text())}});
    feed(GroupEvent::spawn_failed);
    note_if_none_left();
}

void NodeRound::on_end(Worker& worker) {
    listener_.reaped(worker.pid);
    // Now, while its cgroup is there. It is new in every round: the count begins at 0.
    const std::string counted_in = around_.cgroups.worker_folder(assignment_.round, worker.local_rank);
    if (!counted_in.empty()) worker.oom_kills = OomCounter::of_folder(counted_in).read();
    const bool well = worker.exit_status() == 0;
    reporting_.events.write("worker_ended", {{"round", number(assignment_.round)},
                                             {"rank", number(worker.rank)},
                                             {"pid", number(worker.pid)},
                                             {"status", number(worker.exit_status())},
                                             {"signal", well || worker.code == CLD_EXITED
                                                            ? std::string_view()
                                                            : std::string_view(base::signal_name(worker.status))},
                                             {"asked_to_stop", worker.asked_to_stop},
                                             {"max_rss_kib", worker.usage.max_rss_kib},
                                             {"user_seconds", worker.usage.user_seconds},
                                             {"system_seconds", worker.usage.system_seconds}});
    if (!held_.empty() || may_be_asked(worker)) return held_.add(worker);
    judge(worker);
}

/// Whether a request to end that the agent has not heard yet may be why it ended.
bool NodeRound::may_be_asked(const Worker& worker) const {
    if (group_.state() != GroupState::starting && group_.state() != GroupState::running) return false;
    const auto& asks = around_.plan.handled_signals;
    return reporting_.asked() ||
           (!worker.hung && std::find(asks.begin(), asks.end(), worker.exit_status() - 128) != asks.end());
}

void NodeRound::judge(const Worker& worker) {
    const bool well = worker.exit_status() == 0;
    if (!well) add_failure(failure_of(worker));
    feed(well ? GroupEvent::ended_well : GroupEvent::ended_badly);
    note_if_none_left();
}

void NodeRound::note_if_none_left() {
    const bool more_to_start = group_.state() == GroupState::starting;
    if (!workers_.none_left() || more_to_start || none_left_told_ || !held_.empty()) return;
    if (group_.state() == GroupState::stopping && wait_for_orphans()) return;
    none_left_told_ = true;
    feed(GroupEvent::none_left);
}

/// What a worker had started in its group has the same grace, whether the worker died of the stop signal, failed or
/// had ended before. SIGTERM reaches those too that a shell made deaf to SIGINT.
bool NodeRound::wait_for_orphans() {
    const std::vector<pid_t> orphans = workers_.orphans();
    if (!orphans.empty() && !orphans_told_) {
        orphans_told_ = true;
        for (pid_t pid : orphans) {
            ::kill(pid, SIGTERM);
            ::kill(pid, SIGCONT);
        }
    }
    return !orphans.empty();
}

bool NodeRound::on_child() {
    const bool terminal_stopped = workers_.reap_orphans();
    if (group_.state() == GroupState::stopping) note_if_none_left();
    return terminal_stopped;
}

void NodeRound::stop(int signal, const std::string& why) {
    reporting_.events.write("stop_asked", {{"why", std::string_view(why)}});
    stop_signal_ = signal;
    held_.excuse();
    feed(GroupEvent::stop_asked);
    held_.release();
    note_if_none_left();  // a stop may find a group of which nobody runs yet
}

void NodeRound::kill(const std::string& why) {
    reporting_.events.write("kill_asked", {{"why", std::string_view(why)}});
    held_.excuse();
    feed(GroupEvent::kill_asked);
    held_.release();
    around_.logs.cut_drain();
    note_if_none_left();
}

void NodeRound::time_out() {
    for (const Worker& worker : workers_.all()) {
        if (!worker.alive || worker.asked_to_stop) continue;
        Failure failure = about(worker);
        failure.how = HowEnded::timed_out;
        failure.text = fmt::format("of {:g} s", static_cast<double>(around_.plan.timeout.count()) / 1e3);
        add_failure(std::move(failure));
    }
    stop(around_.plan.stop_signal, "--timeout");
}

void NodeRound::hang(pid_t pid, int signal, const std::string& scope) {
    Worker* const owner = workers_.owner_of(pid);
    if (!owner) return;
    owner->hung = true;
    owner->hung_in = scope;
    reporting_.events.write("worker_hung",
                            {{"rank", number(owner->rank)}, {"pid", number(pid)}, {"scope", std::string_view(scope)}});
    for (const pid_t target : {-owner->pid, pid}) {  // `pid` may have left the group
        ::kill(target, SIGCONT);
        ::kill(target, signal);
    }
}

void NodeRound::suspend() {
    suspended_ = true;
    workers_.signal(SIGSTOP);
    reporting_.events.write("suspended", {});
}

void NodeRound::resume() {
    if (!suspended_) return workers_.signal(SIGCONT);
    suspended_ = false;
    workers_.signal(SIGCONT);
    reporting_.events.write("resumed", {});
    go_on_starting();
}

void NodeRound::ask_to_stop() {
    workers_.stop(stop_signal_);
    reporting_.events.write("stopping", {{"signal", std::string_view(base::signal_name(stop_signal_))},
                                         {"workers", number(workers_.alive())}});
    if (around_.plan.grace.count() == 0) return around_.loop.post([this] { feed(GroupEvent::grace_over); });
    grace_ = around_.loop.after(around_.plan.grace, [this] { feed(GroupEvent::grace_over); });
}

/// Whoever asked for it has said so.
void NodeRound::kill_all(GroupEvent why) {
    if (workers_.alive() > 0 && why == GroupEvent::grace_over)
        reporting_.mention(
            fmt::format("killing {} worker{} that did not end", workers_.alive(), workers_.alive() == 1 ? "" : "s"));
    if (workers_.template_prepares() && why == GroupEvent::grace_over)
        reporting_.mention("killing the program, which did not end before its fork point");
    reporting_.events.write("killing", {{"workers", number(workers_.alive())}});
    workers_.kill();
    around_.loop.post([this] { note_if_none_left(); });  // nobody but orphans may be left
    last_resort_ = around_.loop.after(kUnkillable, [this] { give_up_on_unkillable(); });
}

void NodeRound::give_up_on_unkillable() {
    for (const Worker& worker : workers_.all())
        if (worker.alive)
            reporting_.say(fmt::format("rank {} (pid {}) cannot be killed: it hangs in the kernel ({})", worker.rank,
                                       worker.pid, base::text_of(fmt::format("/proc/{}/wchan", worker.pid))));
    unkillable_ = true;
    none_left_told_ = true;
    feed(GroupEvent::none_left);
}

void NodeRound::clear() {
    grace_ = {};
    last_resort_ = {};
    around_.input.stop_copying();
    const std::vector<pid_t> spared = workers_.spared();
    const std::vector<Swept> swept = survey(spared);  // by name, before they are gone
    around_.cgroups.kill_all();
    for (pid_t pid : workers_.orphans()) ::kill(pid, SIGKILL);  // without /proc the sweep is slow
    sweep(unkillable_ ? 0ms : kSweepDeadline, spared);
    if (!swept.empty()) {
        std::string names;
        for (std::size_t at = 0; at < std::min<std::size_t>(swept.size(), 5); ++at)
            names += fmt::format("{}{} (pid {})", at ? ", " : "", swept[at].command, swept[at].pid);
        remarks_.push_back(fmt::format("ended {} process{} that workers had left behind: {}{}", swept.size(),
                                       swept.size() == 1 ? "" : "es", names, swept.size() > 5 ? " ..." : ""));
        reporting_.events.write(
            "swept", {{"processes", number(static_cast<int>(swept.size()))}, {"names", std::string_view(names)}});
    }
    around_.cgroups.end_round();
    around_.logs.drain(kDrainDeadline, [this](std::uint64_t dropped) {
        if (dropped)
            remarks_.push_back(
                fmt::format("{} bytes of the workers' output could not be shown: nobody reads it", dropped));
        feed(GroupEvent::cleared);
    });
}

void NodeRound::finish(bool began) {
    RoundEnd end;
    for (Failure& failure : failures_) complete(failure);
    std::stable_partition(failures_.begin(), failures_.end(), [](const Failure& failure) { return !failure.victim; });
    end.succeeded = began && failures_.empty();
    end.failures = failures_;
    end.remarks = std::move(remarks_);
    end.lasted = std::chrono::duration_cast<std::chrono::milliseconds>(base::Clock::now() - started_);
    reporting_.events.write("round_over", {{"round", number(assignment_.round)}, {"succeeded", end.succeeded}});
    listener_.over(end);
}

/// The first word about a rank is its cause; what follows from our stopping it adds nothing.
void NodeRound::add_failure(Failure failure) {
    const bool known = std::any_of(failures_.begin(), failures_.end(),
                                   [&](const Failure& earlier) { return earlier.rank == failure.rank; });
    if (!known && !failure.victim && failure.how != HowEnded::timed_out) listener_.lost(failure);
    if (!known) failures_.push_back(std::move(failure));
}

}  // namespace dlaunch::agent
