#include "agent/agent.hpp"

#include <fmt/format.h>
#include <malloc.h>
#include <unistd.h>

#include <csignal>
#include <memory>
#include <utility>

#include "agent/binding/binding.hpp"
#include "agent/group/group_shell.hpp"
#include "agent/group/node_status.hpp"
#include "agent/io/output.hpp"
#include "agent/logs/log_options.hpp"
#include "agent/membership/job_membership.hpp"
#include "agent/mpi/service.hpp"
#include "agent/process/leftovers.hpp"
#include "agent/process/limits.hpp"
#include "agent/process/signals.hpp"
#include "agent/reporter.hpp"
#include "agent/requeue.hpp"
#include "agent/service_files.hpp"
#include "agent/services/input.hpp"
#include "agent/services/losses.hpp"
#include "agent/services/socket.hpp"
#include "agent/services/timer_service.hpp"
#include "agent/status/events.hpp"
#include "rendezvous/base/background.hpp"
#include "rendezvous/base/escape.hpp"
#include "rendezvous/base/signal_names.hpp"

namespace dlaunch::agent {
namespace {

constexpr auto kCleanDue = std::chrono::seconds(2);    ///< longest wait for the removal of files at the job's end
constexpr auto kLag = std::chrono::milliseconds(100);  ///< a longer turn of the control loop is an event

class Agent final : private GroupOwner {
public:
    /// `plan` and `link` must outlive the agent.
    Agent(const Plan& plan, GuardLink& link);

    /// Makes the objects that need no file of the user; an error refuses the job before the loop runs.
    base::Result<void> prepare();
    int run();

private:
    void on_output_ready(const base::Result<void>& made);
    void wire();
    void on_start(const Assignment& assignment);
    void on_end(const JobVerdict& verdict);
    void on_signals(const sigset_t& set);
    bool handle_nonfatal(int number);
    void on_child();
    void on_guard_died();
    void on_time_out();
    void end_by_signal(int number);
    void suspend(int stop_signal);
    void resume();
    void refuse(int status, const std::string& why);
    void on_output_finished(const std::string& lost);

    // GroupOwner
    void print(const std::string& text) override { reporter_.print(text); }
    void print_unless_quiet(const std::string& text) override { reporter_.print_unless_quiet(text); }
    void print_own(const std::string& text) override { reporter_.print_own(text); }
    [[nodiscard]] bool is_fenced() const override { return link_.has_fenced(); }
    [[nodiscard]] bool is_asked_to_end() const override { return signals_->is_asked(); }
    void on_started() override {
        if (rounds_ == 1) leftovers_.begin_soon();
    }
    void on_failure(const Failure& cause, Strength strength) override { membership_->failed(cause, strength); }
    void on_lost(const Failure& failure) override { losses_->report({{failure.rank, 1}}, summary(failure)); }
    void on_round_over(const RoundResult& end) override;

    const Plan& plan_;
    GuardLink& link_;
    const base::Time began_ = base::Clock::now();
    base::Loop loop_;
    NodeFacts node_;
    Output output_;
    EventLog events_;
    Reporter reporter_;
    Terminal terminal_;
    StandardInput input_;
    WorkerCgroups cgroups_;
    Children children_;
    Requeue requeue_{loop_, children_, plan_};
    const std::shared_ptr<ServiceFiles> files_ = std::make_shared<ServiceFiles>();
    std::unique_ptr<AgentSocket> socket_;
    std::unique_ptr<LossNotices> losses_;
    std::unique_ptr<Template> template_;
    std::unique_ptr<TimerService> timers_;
    std::vector<std::unique_ptr<RoundService>> mpi_;
    WorkerStore store_{loop_, [this](const std::string& text) { reporter_.progress(text); }};
    std::unique_ptr<Membership> membership_;
    std::unique_ptr<WorkerDeps> deps_;
    std::unique_ptr<GroupShell> round_;
    std::unique_ptr<SignalIntake> signals_;
    base::Timer time_limit_, clean_due_;
    LeftoverSweep leftovers_{loop_, plan_.temporary_folder};
    std::vector<std::vector<int>> processors_;
    std::optional<rlimit> open_files_;
    int rounds_ = 0, status_ = 0;
    int early_stop_ = 0;  ///< a signal that suspends, which came before there were workers
    bool suspended_ = false;
    bool leaving_ = false;    ///< leave() was called
    bool signalled_ = false;  ///< a signal has requested the end
    bool has_ended_ = false;  ///< the job is over; the I/O thread writes the last output
    std::string refusal_;     ///< the last line, which the guard prints after the agent's exit
};

Agent::Agent(const Plan& plan, GuardLink& link)
    : plan_(plan),
      link_(link),
      node_{plan.host.name, {}, {}, plan.host.usable_cores, std::chrono::system_clock::now()},
      output_(loop_, plan, log_options(plan, node_.host), {}),
      reporter_(plan, node_, output_),
      terminal_(link_.guard()),
      input_(loop_, output_.loop(), plan, terminal_),
      cgroups_(plan.use_cgroups) {
    node_.node_id = fmt::format("{}-{}", node_.host, getpid());
}

base::Result<void> Agent::prepare() {
    ignore_write_signals();
    mallopt(M_ARENA_MAX, 1);  // threads that allocate little need no arena of their own
    keep_descriptors();
    open_files_ = raise_open_files();
    auto processors = bind_workers_here(plan_.binding, plan_.workers(), shared_variables(plan_));
    if (!processors) return processors.error();
    processors_ = std::move(*processors);
    const auto host = [this](const rendezvous::CoordinatorJob& job,
                             const std::vector<store::Listener>& listeners) -> base::Result<void> {
        if (auto hosted = host_in_guard(link_, job, listeners); !hosted) return hosted.error();
        return {};
    };
    membership_ = std::make_unique<JobMembership>(loop_, plan_, node_.host, link_, store_, host);
    link_.ready(plan_.host.is_set("SLURM_JOB_ID"));
    reporter_.leave_to(link_);
    // While the I/O thread makes the run folder, the control loop makes objects that need no name in it.
    output_.prepare(work_on(files_, plan_), [this](const base::Result<void>& made) { on_output_ready(made); });
    link_.register_cgroup(cgroups_.folder());
    cgroups_.make();
    return {};
}

int Agent::run() {
    signals_ = std::make_unique<SignalIntake>(
        loop_, link_, plan_.handled_signals,
        SignalIntake::Handlers{
            .sent_to_workers = [this](int number) { round_ ? round_->has_been_sent(number) : void(); },
            .signals = [this](const sigset_t& set) { on_signals(set); },
            .child = [this] { on_child(); },
            .guard_died = [this] { on_guard_died(); }});
    if (!plan_.event_log.empty()) {
        events_ = EventLog(plan_.rendezvous.job_id, [this](std::string line) { output_.write_event(std::move(line)); });
        loop_.on_lag(kLag, [this](base::Duration took) {
            events_.write("loop_lag", {{"seconds", std::chrono::duration<double>(took).count()}});
        });
    }
    loop_.run();
    const bool is_held_up = output_.has_stalled() || base::Background::any_thread();
    if (is_held_up || !refusal_.empty()) link_.announce_end(status_, refusal_, output_.has_stalled());
    if (is_held_up) {
        // A thread keeps its descriptors until the disk responds, but readers need their end of file now.
        for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) close(stream);
        _exit(status_);
    }
    return status_;
}

/// Ends before any worker or socket of the job exists.
void Agent::refuse(int status, const std::string& why) {
    has_ended_ = leaving_ = true;
    status_ = status;
    refusal_ = base::printable(why);
    output_.abandon([this](const std::string& lost) { on_output_finished(lost); });
    cgroups_.remove();
}

void Agent::on_output_ready(const base::Result<void>& made) {
    if (has_ended_) return;
    if (!made) return refuse(made.error().status, made.error().text);
    wire();
    events_.write("job_started", {{"workers", std::int64_t{plan_.workers()}},
                                  {"pid", std::int64_t{getpid()}},
                                  {"host", std::string_view(node_.host)}});
    if (plan_.timeout.count() > 0) time_limit_ = loop_.after(plan_.timeout, [this] { on_time_out(); });
    membership_->join({.start = [this](const Assignment& assignment) { on_start(assignment); },
                       .stop =
                           [this](const std::string& reason, const rendezvous::LostRanks& lost, int signal) {
                               losses_->report(lost, reason);
                               round_->stop(signal, reason);
                           },
                       .print = std::bind_front(&Reporter::progress, &reporter_),
                       .end = [this](const JobVerdict& verdict) { on_end(verdict); },
                       .kill = [this](const std::string& reason) { round_->kill(reason); },
                       .speak = [this](bool on) { reporter_.speak(on); },
                       .explain_stop = [this](StopFor what) { round_->explain_stop(what); },
                       .time_out = [this](const std::string&) { round_->time_out(); }});
}

/// Makes the objects that need files, which prepare() has made.
void Agent::wire() {
    cgroups_.finish_making();
    link_.register_folder(plan_.logs.keeps_files() ? "" : output_.paths().folder());
    socket_ = std::make_unique<AgentSocket>(loop_, std::shared_ptr<const SocketFile>(files_, &files_->socket));
    socket_->on_status([this] { return node_status(plan_, node_, *round_, output_.paths()); });
    losses_ = std::make_unique<LossNotices>(loop_, *socket_);
    node_.agent_socket = files_->socket.path();
    if (plan_.forks) template_ = std::make_unique<Template>(loop_, *socket_, children_);
    timers_ = std::make_unique<TimerService>(
        loop_, *socket_, std::shared_ptr<const TimerFifo>(files_, &files_->timers),
        [this](pid_t pid, const std::string& scope, int signal) { round_->hang(pid, signal, scope); });
    input_.on_terminal_wanted([this] { suspend(SIGTTIN); });
    link_.register_folder(files_->socket.folder());
    std::vector<RoundService*> services{&store_, losses_.get(), &input_, timers_.get()};
    mpi_ = mpi_services(loop_, plan_, children_,
                        {.print = [this](const std::string& text) { print_unless_quiet(text); },
                         .register_folder = [this](const std::string& folder) { link_.register_folder(folder); }});
    for (const auto& service : mpi_) services.push_back(service.get());
    if (!mpi_.empty()) link_.register_shared_memory();
    deps_.reset(new WorkerDeps{.loop = loop_,
                               .plan = plan_,
                               .node = node_,
                               .output = output_,
                               .cgroups = cgroups_,
                               .terminal = terminal_,
                               .children = children_,
                               .services = std::move(services),
                               .processors = std::move(processors_),
                               .open_files = open_files_,
                               .program = template_.get()});
    round_ = std::make_unique<GroupShell>(*deps_, events_, static_cast<GroupOwner&>(*this));
    output_.resume(terminal_.is_in_background());
    if (early_stop_) suspend(std::exchange(early_stop_, 0));
}

void Agent::on_start(const Assignment& assignment) {
    ++rounds_;
    reporter_.round_begins(assignment, rounds_);
    round_->begin(assignment);
}

void Agent::on_round_over(const RoundResult& end) {
    reporter_.round_over(end, *round_);
    if (round_->unkillable()) {
        leaving_ = true;
        membership_->leave(LeaveReason::unfit_node, exit_status::kNodeUnhealthy, "a worker cannot be killed");
    }
    membership_->round_over(end);
}

void Agent::on_end(const JobVerdict& verdict) {
    has_ended_ = true;
    status_ = verdict.status;
    time_limit_ = {};
    const double seconds = std::chrono::duration<double>(base::Clock::now() - began_).count();
    events_.write_job_ended(status_, seconds, verdict.reason);
    auto last = reporter_.final_output(verdict, {.rounds = rounds_, .seconds = seconds}, *round_);
    requeue_.after(verdict, last.report, [this, last](const std::string& line) mutable {
        if (!line.empty()) last.lines.push_back(line);
        output_.finish(std::move(last), [this](const std::string& lost) { on_output_finished(lost); });
        cgroups_.remove();  // while the I/O thread prints
    });
}

/// The guard prints the loss in a child process, which a blocked stderr cannot hold up (print_within).
void Agent::on_output_finished(const std::string& lost) {
    reporter_.forget(link_);
    if (refusal_.empty()) refusal_ = lost;
    clean_due_ = loop_.after(kCleanDue, [this] { loop_.stop(); });
    when_clean(mpi_, [this] { loop_.stop(); });
}

/// systemd sends SIGTERM and SIGHUP together: one request, named by SIGINT or SIGTERM, else by the lowest number.
void Agent::on_signals(const sigset_t& set) {
    int ending = 0;
    for (int number = NSIG - 1; number > 0; --number) {
        if (sigismember(&set, number) != 1 || handle_nonfatal(number)) continue;
        if (ending != SIGINT && ending != SIGTERM) ending = number;
    }
    if (ending) end_by_signal(ending);
}

/// Handles a signal that does not end the job: suspends, resumes, forwards or ignores. False: the signal ends the job.
bool Agent::handle_nonfatal(int number) {
    const bool asked_for = signals_->ends_job(number);
    switch (number) {
        case SIGTSTP: suspend(SIGTSTP); return true;
        case SIGCONT: resume(); return true;
        case SIGHUP: return link_.hangup_ignored();
        case SIGUSR1:
        case SIGUSR2:
            if (!asked_for && round_) round_->forward(number);
            return !asked_for;
        // A signal that kills by default ends the job in order instead: no process is left behind.
        default: return is_ignorable(number) && !asked_for;
    }
}

void Agent::end_by_signal(int number) {
    if (has_ended_) return requeue_.has_asked() ? void() : output_.hurry();
    link_.received(number);
    const std::string signal_name = base::signal_name(number);
    if (!round_) return refuse(exit_status::kSignalBase + number, signal_name + " received, ending");
    events_.write("signal", {{"signal", std::string_view(signal_name)}});
    const int running = round_->workers().alive();
    const bool again = std::exchange(signalled_, true);
    const auto message = [&](SignalEffect effect) { return ending_message(effect, signal_name, running, plan_.grace); };
    const auto print_effect = [&](SignalEffect effect) {  // a front end prints one line for all its hosts
        if (!plan_.has_front_end) print_unless_quiet(message(effect));
    };
    if (leaving_ && !again) return print_effect(SignalEffect::already);  // after --timeout, with grace
    if (leaving_) {
        print_effect(SignalEffect::at_once);
        output_.hurry();
        round_->kill(signal_name);
        return membership_->leave_at_once();
    }
    leaving_ = true;
    if (!plan_.has_front_end) print(message(SignalEffect::asked));
    const std::string reason = signal_name + " received";
    reporter_.end_is_explained_by(reason);
    if (suspended_) resume();
    membership_->leave(LeaveReason::signal, exit_status::kSignalBase + number, reason,
                       signals_->came_to_all() || round_->holds_ends());
    round_->stop(number, signal_name);
}

void Agent::on_time_out() {
    if (std::exchange(leaving_, true)) return;
    const auto why = fmt::format("the job outlived --timeout={:g}", static_cast<double>(plan_.timeout.count()) / 1e3);
    membership_->leave(LeaveReason::time_limit, exit_status::kHang, why);
    round_->time_out();
}

void Agent::on_guard_died() {
    const std::string death = death_of_guard(link_.guard());
    if (has_ended_) return output_.hurry();
    if (!round_) return refuse(exit_status::kSignalBase + SIGKILL, death);
    leaving_ = true;
    output_.hurry();
    membership_->leave(LeaveReason::guard_is_dead, exit_status::kSignalBase + SIGKILL, death);
    round_->kill(death);
}

void Agent::on_child() {
    if (!round_ || !round_->on_child() || suspended_) return;
    // The worker was stopped by Ctrl-Z if it had the terminal, else by reading. The user may have typed fg since.
    if (!round_->give_terminal()) suspend(terminal_.is_given() ? SIGTSTP : SIGTTIN);
}

void Agent::suspend(int stop_signal) {
    if (!round_) early_stop_ = stop_signal;
    if (suspended_ || !round_) return;
    suspended_ = true;
    input_.suspend();
    round_->suspend();
    terminal_.take_back();
    output_.suspend([this, stop_signal] { link_.report_suspended(stop_signal); });
}

void Agent::resume() {
    early_stop_ = 0;
    if (!round_) return;
    suspended_ = false;
    round_->give_terminal();
    input_.resume();
    round_->resume();
    output_.resume(terminal_.is_in_background());
}

int prepare_and_run(const Plan& plan, GuardLink& link) {
    const auto refuse = [&](int status, const std::string& why) {
        link.announce_end(status, base::printable(why));
        return status;
    };
    if (const std::string error = too_few_open_files(plan.rendezvous.max_nodes == 1); !error.empty())
        return refuse(exit_status::kCannotExecute, error);
    Agent agent(plan, link);
    if (auto ready = agent.prepare(); !ready) return refuse(ready.error().status, ready.error().text);
    return agent.run();
}

}  // namespace

int run_agent(const Plan& plan, GuardLink link) {
    // The agent's own errors are values. Exceptions come from libraries to which the system refused a basic resource.
    try {
        return prepare_and_run(plan, link);
    } catch (const std::exception& error) {
        link.announce_end(exit_status::kCannotExecute, base::printable(error.what()));
        return exit_status::kCannotExecute;
    }
}

}  // namespace dlaunch::agent
