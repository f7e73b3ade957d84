#include "agent/agent.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <memory>
#include <utility>

#include "agent/binding/binding.hpp"
#include "agent/errors/escape.hpp"
#include "agent/errors/report.hpp"
#include "agent/group/group_shell.hpp"
#include "agent/group/node_status.hpp"
#include "agent/membership/net_membership.hpp"
#include "agent/process/leftovers.hpp"
#include "agent/process/limits.hpp"
#include "agent/process/signals.hpp"
#include "agent/services/input.hpp"
#include "agent/services/losses.hpp"
#include "agent/services/socket.hpp"
#include "agent/services/timer_fifo.hpp"
#include "agent/status/write_reports.hpp"
#include "rendezvous/base/aside.hpp"
#include "rendezvous/base/signal_names.hpp"

namespace dlaunch::agent {
namespace {

class Agent final : private GroupOwner {
public:
    /// Both must live longer.
    Agent(const Plan& plan, GuardLink& link);

    /// Everything that can be refused before a worker starts.
    base::Result<void> prepare();
    void abandon() { logs_.finish(); }  ///< after prepare() failed: leaves nothing of it
    int run();

private:
    void on_start(const Assignment& assignment);
    void on_tell(const std::string& text);
    void on_end(const JobVerdict& verdict);
    void on_signals(const sigset_t& set);
    bool takes_lightly(int number);
    void on_child();
    void on_guard_died();
    void on_time_out();
    void end_by_signal(int number);
    void suspend(int stop_signal);
    void resume();
    bool give_terminal();
    void say_complaints();
    [[nodiscard]] JobEnd job_end(const JobVerdict& verdict) const;
    [[nodiscard]] bool is_said(const std::string& reason) const;
    void report(const JobVerdict& verdict);

    // GroupOwner
    /// One line, whatever peers and error files have put into it.
    void say(const std::string& text) override { logs_.say("dlaunch: " + printable(text) + "\n"); }
    void mention(const std::string& text) override {
        if (plan_.verbosity >= 0) say(text);
    }
    [[nodiscard]] bool is_fenced() const override { return link_.has_fenced(); }
    [[nodiscard]] bool is_asked_to_end() const override { return signals_->is_asked(); }
    void on_started() override {
        if (rounds_ == 1) leftovers_.begin_soon();
    }
    void on_failure(const Failure& cause) override { membership_->failed(cause); }
    void on_lost(const Failure& failure) override { losses_->report({failure.rank, 1}, summary(failure)); }
    void on_round_over(const RoundEnd& end) override;

    const Plan& plan_;
    GuardLink& link_;
    const base::Time began_ = base::Clock::now();
    base::Loop loop_;
    NodeFacts node_;
    Logs logs_;
    EventLog events_;
    Terminal terminal_;
    StandardInput input_;
    WorkerCgroups cgroups_;
    Children children_;
    std::unique_ptr<AgentSocket> socket_;
    std::unique_ptr<LossNotices> losses_;
    std::unique_ptr<Template> template_;
    std::unique_ptr<TimerFifo> timers_;
    std::unique_ptr<Membership> membership_;
    std::unique_ptr<WorkerHost> host_;
    std::unique_ptr<GroupShell> round_;
    std::unique_ptr<SignalIntake> signals_;
    base::Timer time_limit_;
    LeftoverSweep leftovers_{loop_};

    RoundEnd last_round_;
    int rounds_ = 0, status_ = 0;
    bool suspended_ = false;
    bool leaving_ = false, signalled_ = false;  ///< the membership knows that we end; a signal has asked for the end
    std::string told_;                          ///< the latest line that the user was told; he need not read it again
    std::string said_reason_;                   ///< of our end, "SIGTERM received"
};

Agent::Agent(const Plan& plan, GuardLink& link)
    : plan_(plan),
      link_(link),
      node_{plan.host.name, {}, {}, plan.host.usable_cores},
      logs_(loop_, {plan.logs, plan.rendezvous.job_id, plan.program.role, node_.host, plan.workers,
                    plan.workers == 1 && plan.rendezvous.max_nodes == 1}),
      terminal_(link_.guard()),
      input_(loop_, plan, terminal_),
      cgroups_(plan.use_cgroups) {
    node_.node_id = fmt::format("{}-{}", node_.host, getpid());
}

base::Result<void> Agent::prepare() {
    ignore_write_signals();
    keep_descriptors();
    const auto open_files = raise_open_files();
    if (!plan_.event_log.empty()) {
        auto events = EventLog::open(plan_.event_log, plan_.rendezvous.job_id);
        if (!events) return events.error();
        events_ = std::move(*events);
    }
    membership_ = std::make_unique<NetMembership>(
        loop_, plan_, node_.host, link_,
        [this](const rendezvous::CoordinatorJob& job, const std::vector<store::Listener>& listeners) {
            return host_in_guard(link_, job, listeners);
        });

    auto processors = bind_workers_here(plan_.binding, plan_.workers, given_variable(plan_, "CUDA_VISIBLE_DEVICES"));
    if (!processors) return processors.error();
    link_.ready();
    if (auto made = logs_.prepare(); !made) return made.error();
    const std::string temporary = logs_.temporary_directory();
    link_.tell_folder(temporary);
    logs_.on_complaint([this] { say_complaints(); });
    socket_ = std::make_unique<AgentSocket>(loop_, temporary);
    socket_->on_status([this] { return node_status(plan_, node_, *round_); });
    losses_ = std::make_unique<LossNotices>(loop_, *socket_);
    node_.agent_socket = socket_->path();
    if (plan_.forks) template_ = std::make_unique<Template>(loop_, *socket_, children_);
    auto fifo = TimerFifo::open_if_enabled(
        loop_, plan_.timers,
        [this](pid_t pid, const std::string& scope, int signal) { round_->hang(pid, signal, scope); });
    if (!fifo) return fifo.error();
    timers_ = std::move(*fifo);
    input_.on_terminal_wanted([this] { suspend(SIGTTIN); });
    link_.tell_folder(socket_->folder());
    link_.tell_cgroup(cgroups_.folder());
    cgroups_.make();

    std::vector<RoundService*> services{losses_.get(), &input_};
    if (timers_) services.push_back(timers_.get());
    host_.reset(new WorkerHost{.loop = loop_,
                               .plan = plan_,
                               .node = node_,
                               .logs = logs_,
                               .cgroups = cgroups_,
                               .terminal = terminal_,
                               .children = children_,
                               .services = std::move(services),
                               .processors = std::move(*processors),
                               .open_files = open_files,
                               .program = template_.get()});
    round_ = std::make_unique<GroupShell>(*host_, events_, static_cast<GroupOwner&>(*this));
    return {};
}

int Agent::run() {
    signals_ =
        std::make_unique<SignalIntake>(loop_, link_, plan_.handled_signals,
                                       SignalIntake::Handlers{[this](const sigset_t& set) { on_signals(set); },
                                                              [this] { on_child(); }, [this] { on_guard_died(); }});
    events_.write("job_started", {{"workers", std::int64_t{plan_.workers}},
                                  {"pid", std::int64_t{getpid()}},
                                  {"host", std::string_view(node_.host)}});
    if (plan_.timeout.count() > 0) time_limit_ = loop_.after(plan_.timeout, [this] { on_time_out(); });
    membership_->join({[this](const Assignment& assignment) { on_start(assignment); },
                       [this](const std::string& reason, const rendezvous::LostRanks& lost) {
                           losses_->report(lost, reason);
                           round_->stop(plan_.stop_signal, reason);
                       },
                       [this](const std::string& text) { on_tell(text); },
                       [this](const JobVerdict& verdict) { on_end(verdict); },
                       [this](const std::string& reason) { round_->kill(reason); }});
    loop_.run();
    return status_;
}

void Agent::on_start(const Assignment& assignment) {
    ++rounds_;
    if (plan_.verbosity > 0)
        say(fmt::format("round {}: starting {} worker{}, ranks {} to {} of {}, master address {}:{}", assignment.round,
                        assignment.local_world_size, assignment.local_world_size == 1 ? "" : "s", assignment.first_rank,
                        assignment.first_rank + assignment.local_world_size - 1, assignment.world_size,
                        assignment.master_addr, assignment.master_port));
    round_->begin(assignment);
}

/// The membership goes on after a failure: the user learns first what failed.
void Agent::on_tell(const std::string& text) {
    if (!last_round_.failures.empty() && !last_round_.failures.front().victim) {
        const Failure& cause = last_round_.failures.front();
        mention(summary(cause));
        if (cause.record) mention("  " + cause.record->message.substr(0, cause.record->message.find('\n')));
    }
    for (const auto& remark : last_round_.remarks) mention(remark);
    mention(text);
    if (plan_.verbosity >= 0) told_ = text;
    last_round_ = {};  // what was told is no cause of what comes later
}

void Agent::on_round_over(const RoundEnd& end) {
    last_round_ = end;
    if (round_->unkillable()) {
        leaving_ = true;
        membership_->leave(exit_status::kNodeUnhealthy, "a worker cannot be killed", false);
    }
    membership_->round_over(end);
}

void Agent::on_end(const JobVerdict& verdict) {
    status_ = verdict.status;
    report(verdict);
    events_.write("job_ended", {{"status", std::int64_t{status_}},
                                {"seconds", std::chrono::duration<double>(base::Clock::now() - began_).count()}});
    say_complaints();
    logs_.finish();
    cgroups_.remove();
    loop_.stop();
}

/// systemd sends SIGTERM and SIGHUP, a shell that ends SIGHUP and SIGCONT: one request, and one of them names it.
void Agent::on_signals(const sigset_t& set) {
    int ending = 0;
    for (int number = NSIG - 1; number > 0; --number) {
        if (sigismember(&set, number) != 1 || takes_lightly(number)) continue;
        if (ending != SIGINT && ending != SIGTERM) ending = number;
    }
    if (ending) end_by_signal(ending);
}

/// Does what a signal asks for, if that is anything but the end of the job.
bool Agent::takes_lightly(int number) {
    const bool asked_for = signals_->ends_job(number);
    switch (number) {
        case SIGTSTP: suspend(SIGTSTP); return true;
        case SIGCONT: resume(); return true;
        case SIGHUP: return link_.hangup_ignored();
        case SIGUSR1:
        case SIGUSR2:
            if (!asked_for) round_->forward(number);
            return !asked_for;
        // Whatever would end a process by default ends the job, and nothing is left behind.
        default: return is_of_no_matter(number) && !asked_for;
    }
}

void Agent::end_by_signal(int number) {
    const std::string signal_name = base::signal_name(number);
    events_.write("signal", {{"signal", std::string_view(signal_name)}});
    const int running = round_->workers().alive();
    const bool again = std::exchange(signalled_, true);
    const auto message = [&](Ending ending) { return ending_message(ending, signal_name, running, plan_.grace); };
    if (leaving_ && !again) return mention(message(Ending::already));  // after --timeout: the workers keep their grace
    if (leaving_) {
        mention(message(Ending::at_once));
        round_->kill(signal_name);
        return membership_->hurry();
    }
    leaving_ = true;
    say(message(Ending::asked));
    said_reason_ = signal_name + " received";
    if (suspended_) resume();
    membership_->leave(exit_status::kSignalBase + number, said_reason_,
                       signals_->came_to_all() || round_->holds_ends());
    round_->stop(number, signal_name);
}

void Agent::on_time_out() {
    if (leaving_) return;
    leaving_ = true;
    const auto limit = static_cast<double>(plan_.timeout.count()) / 1e3;
    membership_->leave(exit_status::kHang, fmt::format("the job outlived --timeout={:g}", limit), false);
    round_->time_out();
}

void Agent::on_guard_died() {
    leaving_ = true;
    membership_->leave(exit_status::kSignalBase + SIGKILL, "the guard died", false);
    round_->kill("the guard died");
}

void Agent::on_child() {
    if (!round_->on_child() || suspended_) return;
    // A worker that has the terminal was stopped by Ctrl-Z, one that has not by reading from it: fg may have come
    // since.
    if (!give_terminal()) suspend(terminal_.is_given() ? SIGTSTP : SIGTTIN);
}

void Agent::suspend(int stop_signal) {
    if (suspended_) return;
    suspended_ = true;
    input_.suspend();
    round_->suspend();
    terminal_.take_back();
    link_.tell_suspended(stop_signal);
}

void Agent::resume() {
    suspended_ = false;
    give_terminal();
    input_.resume();
    round_->resume();
}

/// To the worker that reads from it, if the job has it. True when that worker goes on.
bool Agent::give_terminal() {
    if (!terminal_.usable()) return false;
    for (const Worker& worker : round_->workers().all()) {
        if (!worker.alive || !worker.has_terminal) continue;
        terminal_.give(worker.pid);
        kill(-worker.pid, SIGCONT);
        return true;
    }
    return false;
}

void Agent::say_complaints() {
    for (const auto& complaint : logs_.take_complaints()) say(complaint);
    if (auto complaint = events_.take_complaint(); !complaint.empty()) say(complaint);
}

JobEnd Agent::job_end(const JobVerdict& verdict) const {
    JobEnd end;
    end.job_id = plan_.rendezvous.job_id;
    end.program = plan_.program.command.at(plan_.program.name_index);
    end.exit_status = verdict.status;
    end.rounds = rounds_;
    end.restarts = round_->assignment().restart_count;
    end.max_restarts = rounds_ > 0 ? round_->assignment().max_restarts : plan_.restarts.max_restarts;
    end.seconds = std::chrono::duration<double>(base::Clock::now() - began_).count();
    end.reason = verdict.reason;
    end.failures = verdict.failures ? *verdict.failures : last_round_.failures;
    for (const Worker& worker : round_->workers().all())
        if (worker.pid)
            end.workers.push_back(
                {worker.rank, worker.local_rank, worker.pid, node_.host, worker.exit_status(), worker.usage});
    if (plan_.logs.keeps_files()) end.log_directory = logs_.run_directory();
    return end;
}

bool Agent::is_said(const std::string& reason) const {
    if (reason.empty() || reason == told_) return true;
    return !said_reason_.empty() && (reason == said_reason_ || reason == said_reason_ + " on " + node_.host);
}

void Agent::report(const JobVerdict& verdict) {
    const JobEnd end = job_end(verdict);
    const bool has_cause = verdict.status != 0 && !end.failures.empty() && !end.failures.front().victim;
    if (has_cause)
        logs_.say(text_report(end, told_));
    else if (verdict.status != 0 && !is_said(verdict.reason))
        say(verdict.reason);
    else if (verdict.status == 0 && rounds_ == 0)
        mention("the job has ended well without this node, a spare throughout");
    for (const auto& remark : last_round_.remarks) mention(remark);
    for (const auto& complaint : write_reports(plan_, end)) say(complaint);
}

int prepare_and_run(const Plan& plan, GuardLink& link) {
    const auto refuse = [&link](int status, const std::string& why) {
        link.announce_end(status, printable(why));
        return status;
    };
    if (const std::string complaint = too_few_open_files(plan.rendezvous.max_nodes == 1); !complaint.empty())
        return refuse(exit_status::kCannotExecute, complaint);
    Agent agent(plan, link);
    if (auto ready = agent.prepare(); !ready) {
        agent.abandon();
        return refuse(ready.error().status, ready.error().text);
    }
    return agent.run();
}

}  // namespace

int run_agent(const Plan& plan, GuardLink link) {
    // Errors are values here; what is thrown comes from libraries that the system refused something basic.
    try {
        return prepare_and_run(plan, link);
    } catch (const std::exception& error) {
        link.announce_end(exit_status::kCannotExecute, printable(error.what()));
        return exit_status::kCannotExecute;
    }
}

}  // namespace dlaunch::agent
