// The part of GroupShell that describes failures.

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <memory>
#include <set>

#include "agent/errors/first_cause.hpp"
#include "agent/errors/peer_loss.hpp"
#include "agent/group/group_shell.hpp"

namespace dlaunch::agent {
namespace {

void set_not_executed(Failure& failure, const SpawnError& error) {
    failure.how = ExitKind::not_executed;
    failure.permanent = error.permanent;
    failure.code = error.exit_status();
    failure.text = error.text();
}

/// `code` and `status` as waitid(2) returns them.
void set_exit(Failure& failure, int code, int status) {
    failure.how = code == CLD_EXITED ? ExitKind::exited : ExitKind::signalled;
    (code == CLD_EXITED ? failure.code : failure.signal) = status;
    failure.core_dumped = code == CLD_DUMPED;
}

void set_verdict(Failure& failure, const Verdict& verdict) {
    failure.how = ExitKind::judged;
    failure.code = verdict.code;
    failure.text = verdict.text;
    failure.permanent = verdict.permanent;
}

/// Of a rank that may still live: it has not gone on after the same error before.
bool states_own_error(const Evidence& found, int rank) {
    Failure exit;
    exit.rank = rank;
    exit.code = 1;
    exit.message = found.message;
    exit.stderr_tail = found.stderr_tail;
    exit.record = found.record;
    return found.error && !found.error->was_there_before && !peer_loss(exit);
}

}  // namespace

Failure GroupShell::describe(const Worker& worker) const {
    Failure failure;
    failure.rank = worker.rank;
    failure.local_rank = worker.local_rank;
    failure.node_rank = assignment_.group_rank;
    failure.role = deps_.plan.context_of(worker.local_rank).program.role;
    failure.host = deps_.node.host;
    failure.pid = worker.pid;
    failure.is_unread = worker.writes_to_terminal;
    failure.round = assignment_.round;
    failure.after = (worker.ended_at == base::Time{} ? base::Clock::now() : worker.ended_at) - started_;
    failure.when = std::chrono::system_clock::now();
    return failure;
}

Failure GroupShell::make_failure(const GroupCommand& command) const {
    const Worker& worker = workers_.all()[static_cast<std::size_t>(command.worker)];
    Failure failure = describe(worker);
    failure.collateral = command.collateral;
    switch (command.failure) {
        case FailureKind::ended:
            set_exit(failure, worker.code, worker.status);
            if (worker.verdict) set_verdict(failure, *worker.verdict);
            if (!worker.hung) break;
            failure.how = ExitKind::hung;
            failure.text = fmt::format("its timer \"{}\" expired", worker.hung_in);
            break;
        case FailureKind::not_started: set_not_executed(failure, spawn_errors_.at(command.worker)); break;
        case FailureKind::template_refused: set_not_executed(failure, *template_error_); break;
        case FailureKind::template_passed:
            set_not_executed(failure, {.step = fmt::format("it ended with 0 {} dlaunch::fork_point() (call it where "
                                                           "workers shall begin, or use --start-method=spawn)",
                                                           template_end_->at_fork_point ? "at" : "before"),
                                       .permanent = true});
            break;
        case FailureKind::template_ended:
            failure.pid = template_end_->pid;
            set_exit(failure, template_end_->code, template_end_->status);
            failure.text = template_end_->at_fork_point ? "at its fork point" : "before its fork point";
            break;
        case FailureKind::judged: set_verdict(failure, *worker.verdict); break;
        case FailureKind::timed_out:
            failure.how = ExitKind::timed_out;
            failure.text = fmt::format("of {:g} s", static_cast<double>(deps_.plan.timeout.count()) / 1e3);
            break;
    }
    return failure;
}

/// Ignored verdicts leave no trace: the report of a stopped worker shows its own exit.
void GroupShell::fail(int local_rank, const Verdict& verdict) {
    feed([this, local_rank, verdict](base::Time now) {
        if (!group_.heeds_verdicts()) return;
        workers_.judge(local_rank, verdict);
        group_.judged(local_rank, now);
    });
}

/// Only an exit that may follow from a lost peer needs its message.
bool GroupShell::message_matters(const Worker& worker) const {
    const bool may_have_lost_peer = worker.code == CLD_EXITED || worker.status == SIGABRT;
    return may_have_lost_peer && !worker.verdict && !worker.hung && !worker.asked_to_stop &&
           deps_.plan.settle.count() > 0 && assignment_.world_size > 1 && group_.is_before_stop();
}

void GroupShell::look_for_message(const Worker& worker) {
    const LogSource source = workers_.source_of(worker);
    deps_.output.inspect(source, [this, source](Evidence found) {
        if (source.restart_round != assignment_.round) return;
        const Evidence& evidence = evidence_[source.local_rank] = std::move(found);
        const Failure exit = described_exit(source.local_rank);
        const bool may_follow = !evidence.record && exit.how == ExitKind::exited;
        const auto end = end_of(source.local_rank, evidence);
        if (may_follow && end.message.empty() && !peer_loss(exit))
            return earlier_errors_.find(end, [this, source] {
                if (evidence_.contains(source.local_rank)) judge_message(source.local_rank);  // not drained meanwhile
            });
        const Strength strength = judge_message(source.local_rank);
        if (may_follow && strength == Strength::own_error)
            earlier_errors_.find(end, [] {});  // the report waits for it, the stop does not
    });
}

bool GroupShell::lives(int rank) const {
    return std::ranges::any_of(workers_.all(), [rank](const Worker& each) { return each.rank == rank && each.alive; });
}

/// The error that a worker exited by, else its exit.
EarlierErrors::Event GroupShell::end_of(int local_rank, const Evidence& evidence) const {
    const Worker& worker = workers_.all()[static_cast<std::size_t>(local_rank)];
    if (const auto& error = evidence.error) {
        const EarlierErrors::Event shown{worker.rank, error->at, evidence.message, error->may_be_survived};
        if (EarlierErrors::ends_by(shown, worker.ended_at)) return shown;
    }
    return exit_of(local_rank);
}

EarlierErrors::Event GroupShell::exit_of(int local_rank) const {
    const Worker& worker = workers_.all()[static_cast<std::size_t>(local_rank)];
    return {.rank = worker.rank, .at = worker.ended_at, .status = worker.exit_status()};
}

Failure GroupShell::described_exit(int local_rank) const {
    const Worker& exited = workers_.all()[static_cast<std::size_t>(local_rank)];
    Failure failure = describe(exited);
    set_exit(failure, exited.code, exited.status);
    add_evidence(failure);
    return failure;
}

Strength GroupShell::judge_message(int local_rank) {
    Failure failure = described_exit(local_rank);
    weigh(failure);
    const bool is_unclear = failure.strength > Strength::own_error;
    feed([this, local_rank, is_unclear](base::Time now) { group_.message(local_rank, is_unclear, now); });
    const auto evidence = evidence_.find(local_rank);
    if (evidence == evidence_.end() || !evidence->second.error) return failure.strength;
    is_unclear ? earlier_errors_.has_survived(failure.rank) : earlier_errors_.has_failed(exit_of(local_rank));
    return failure.strength;
}

void GroupShell::look_at_errors(std::function<void(const std::vector<EarlierErrors::Event>&)> done) {
    struct Look {
        std::size_t left = 0;
        std::vector<EarlierErrors::Event> shown;
    };
    std::vector<LogSource> all;
    for (const Worker& worker : workers_.all())
        if (worker.pid > 0) all.push_back(workers_.source_of(worker));
    const auto look = std::make_shared<Look>(Look{all.size(), {}});
    for (const LogSource& source : all)
        deps_.output.inspect(source, [look, done, rank = source.rank](const Evidence& found) {
            if (states_own_error(found, rank))
                look->shown.push_back({rank, found.error->at, found.message, found.error->may_be_survived});
            if (--look->left == 0) done(look->shown);
        });
}

/// Reports the best cause that is known now; the report of the round's end may name a better one.
void GroupShell::announce() {
    std::vector<Failure> failures = failures_;
    for (Failure& failure : failures) {
        if (!failure.collateral) add_evidence(failure);
        weigh(failure);
    }
    const Strength strength = put_first_cause_first(failures);
    owner_.on_failure(failures.front(), strength);
}

void GroupShell::add_evidence(Failure& failure) const {
    const auto found = evidence_.find(source_of(failure).local_rank);
    if (found == evidence_.end()) return;
    failure.follows_rank = earlier_errors_.rank_before(end_of(failure.local_rank, found->second));
    failure.stderr_tail = found->second.stderr_tail;
    if (!found->second.is_said_on_stdout || failure.how == ExitKind::exited) failure.message = found->second.message;
    failure.record = found->second.record;
    failure.is_on_screen = found->second.is_on_screen;
}

/// Ranks have failed by themselves, and all of them have lost a peer.
bool GroupShell::is_unclear() const {
    bool any = false;
    for (Failure failure : failures_) {
        if (failure.collateral) continue;
        add_evidence(failure);
        weigh(failure);
        if (failure.strength <= Strength::own_error) return false;
        any = true;
    }
    return any;
}

/// A rank may show its error, close its connections, and not exit: it waits for a thread, or in an exit handler. Its
/// peers lose it, and it is stopped with them. An error of long before is one that the rank has survived.
void GroupShell::blame_stopped_rank() {
    constexpr auto kJustShown = std::chrono::seconds(1);  // before the first exit
    base::Time since = base::Time::max();
    for (const Failure& failure : failures_)
        if (!failure.collateral)
            since = std::min(since, started_ + std::chrono::duration_cast<base::Duration>(failure.after) - kJustShown);
    Failure* first = nullptr;
    base::Time first_at = stopped_at_;
    for (Failure& failure : failures_) {
        const auto found = evidence_.find(source_of(failure).local_rank);
        if (!failure.collateral || found == evidence_.end() || !states_own_error(found->second, failure.rank)) continue;
        const base::Time at = found->second.error->at;
        if (at < since || at >= first_at) continue;
        first = &failure;
        first_at = at;
    }
    if (!first) return;
    for (Failure& failure : failures_)
        if (failure.strength == Strength::lost_peer && failure.lost_ranks.empty())
            failure.lost_ranks = {failure.follows_rank = first->rank};
}

/// At the end of the round; exits behind the first stop were not judged before.
void GroupShell::complete_failures() {
    for (const Failure& failure : failures_) {
        const auto found = evidence_.find(source_of(failure).local_rank);
        if (!failure.collateral && found != evidence_.end() && states_own_error(found->second, failure.rank))
            earlier_errors_.has_failed(exit_of(failure.local_rank));
    }
    for (Failure& failure : failures_) complete(failure);
    blame_stopped_rank();
    std::set<int> followed;
    for (const Failure& failure : failures_) followed.insert(failure.follows_rank);
    for (Failure& failure : failures_)
        if (failure.collateral && followed.contains(failure.rank)) add_evidence(failure);
}

/// A worker that exited with 0 may be the peer that the failed workers have lost.
void GroupShell::add_early_exits() {
    for (const Worker& worker : workers_.all()) {
        if (worker.pid <= 0 || worker.alive || worker.exit_status() != 0 || worker.asked_to_stop) continue;
        const bool is_listed = std::any_of(failures_.begin(), failures_.end(),
                                           [&](const Failure& failure) { return failure.rank == worker.rank; });
        if (is_listed) continue;
        Failure exit = describe(worker);
        exit.collateral = true;
        complete(exit);
        failures_.push_back(std::move(exit));
    }
}

void GroupShell::add_failure(const GroupCommand& command) {
    const Failure& failure = failures_.emplace_back(make_failure(command));
    if (!failure.collateral && failure.how != ExitKind::timed_out) owner_.on_lost(failure);
}

/// Of the workers without a failure of their own.
rendezvous::RankOutcomes GroupShell::outcomes() const {
    std::vector<std::int32_t> stopped, finished, outlived;
    for (const Worker& worker : workers_.all()) {
        const auto failure = std::find_if(failures_.begin(), failures_.end(),
                                          [&](const Failure& each) { return each.rank == worker.rank; });
        const bool has_failed = failure != failures_.end();
        if (has_failed && failure->how == ExitKind::timed_out)
            outlived.push_back(worker.rank);
        else if (has_failed && failure->collateral && worker.exit_status() != 0)
            stopped.push_back(worker.rank);
        else if (worker.pid > 0 && !worker.alive && worker.exit_status() == 0)
            finished.push_back(worker.rank);
    }
    return {rendezvous::ranges_of(stopped), rendezvous::ranges_of(finished), rendezvous::ranges_of(outlived)};
}

LogSource GroupShell::source_of(const Failure& failure) const {
    if (failure.of_template()) return workers_.template_source();
    return {failure.rank, failure.local_rank, assignment_.group_rank, assignment_.round};
}

/// Adds facts that exist only after the drain: log files, stderr tail, error record, memory.
void GroupShell::complete(Failure& failure) {
    const LogSource source = source_of(failure);
    const LogPlan& logs = deps_.plan.logs;
    const RunPaths& paths = deps_.output.paths();
    failure.stdout_file = paths.file_of(logs, source, kStdout);
    failure.stderr_file = paths.file_of(logs, source, kStderr);
    if (!failure.stdout_file.empty() || !failure.stderr_file.empty()) failure.log_folder = paths.short_worker(source);
    const Worker& worker = workers_.all()[static_cast<std::size_t>(failure.local_rank)];
    if (worker.pid > 0 && !failure.of_template()) failure.usage = worker.usage;
    last_look_.describe(failure);
    if (failure.collateral) return weigh(failure);
    add_evidence(failure);
    failure.is_on_screen = failure.is_on_screen || worker.writes_to_terminal;
    if (failure.record && logs.keeps_files())
        failure.error_file = paths.error_file(source);  // else the file is removed with the temporary folder
    // A helper process that ran out of memory shows as an exit of its worker.
    if (failure.how == ExitKind::exited || (failure.how == ExitKind::signalled && failure.signal == SIGKILL)) {
        const std::int64_t own = worker.oom_kills;
        failure.out_of_memory =
            judge_out_of_memory({std::min<std::int64_t>(own, 0), memory_before_}, {own, memory_.read()});
        if (failure.out_of_memory != OutOfMemory::no) failure.memory_limit = memory_.limit();
    }
    weigh(failure);
    std::erase_if(failure.lost_ranks, [this](int rank) { return rank >= assignment_.world_size; });
}

}  // namespace dlaunch::agent
