#include "launcher/start/front_shell.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <utility>

#include "agent/errors/report.hpp"
#include "agent/job_result.hpp"
#include "agent/membership/hosting.hpp"
#include "agent/membership/net_options.hpp"
#include "agent/membership/recorded_result.hpp"
#include "agent/process/limits.hpp"
#include "agent/process/window_size.hpp"
#include "agent/status/write_reports.hpp"
#include "launcher/start/collected_logs.hpp"
#include "launcher/start/front_end.hpp"
#include "launcher/start/front_listeners.hpp"
#include "launcher/start/front_workers.hpp"
#include "launcher/start/make_starter_plan.hpp"
#include "launcher/start/status_line.hpp"
#include "rendezvous/base/coordinator_seat.hpp"
#include "rendezvous/base/escape.hpp"
#include "rendezvous/base/exit_status.hpp"
#include "rendezvous/base/files.hpp"
#include "rendezvous/base/host.hpp"
#include "rendezvous/base/signal_names.hpp"
#include "rendezvous/coordinate/record_file.hpp"
#include "rendezvous/net/addresses.hpp"
#include "rendezvous/wire/rounds.hpp"

namespace dlaunch::launcher {
namespace {

constexpr std::chrono::milliseconds kQuietStart{500};     // without a status line
constexpr std::chrono::milliseconds kOthersRefuse{500};   // nodes often refuse for the same reason
constexpr std::chrono::milliseconds kAgentsEndIn{1'500};  // after the end of the job, agents that still run it
constexpr std::chrono::milliseconds kSrunEndsIn{10'000};
constexpr std::chrono::milliseconds kHurriedSrunEndsIn{1'000};
constexpr int kWaitsForNobody = 3;                     // signals
constexpr std::chrono::milliseconds kLastCall{1'000};  // agents that are there at once join within it

std::vector<NodeState> node_states(const FrontPlan& plan) {
    std::vector<NodeState> states(plan.nodes.size());
    for (std::size_t at = 0; at < states.size(); ++at) states[at].plan = plan.nodes[at];
    return states;
}

StartUp::Options start_options(const FrontPlan& plan) {
    const auto& rendezvous = plan.job.rendezvous;
    return {.hosts = static_cast<int>(plan.nodes.size()),
            .least = rendezvous.min_nodes,
            .most = rendezvous.max_nodes,
            .launch_timeout = plan.launch_timeout,
            .last_call = rendezvous.last_call,
            .may_grow = !plan.discovery_script.empty()};
}

std::chrono::seconds whole_seconds(base::Duration time) {
    return std::chrono::duration_cast<std::chrono::seconds>(time);
}

/// Of the terminal, but for the last one, at which a line would wrap; 0: no terminal. A new size counts at once.
std::size_t status_columns() {
    const auto size = agent::window_size(STDERR_FILENO);
    return size ? size->columns - 1 : 0;
}

}  // namespace

FrontShell::FrontShell(const FrontPlan& plan, agent::GuardLink& link)
    : plan_(plan), link_(link), nodes_(node_states(plan)), start_up_(start_options(plan)) {}

base::Result<void> FrontShell::prepare() {
    agent::ignore_write_signals();
    agent::keep_descriptors();
    static_cast<void>(agent::raise_open_files());
    if (plan_.collects_logs)
        if (auto made = run_.make({plan_.job.logs, {}, plan_.job.rendezvous.job_id, {}, {}}); !made) return made;
    auto tls = agent::tls_of(plan_.job.rendezvous);
    if (!tls) return tls.error();
    const auto addresses = front_addresses(rendezvous::own_addresses(), plan_.launcher == Starter::fork,
                                           plan_.job.rendezvous.local_addr, base::CoordinatorSeat::kMostListeners);
    auto listeners = listen_at(addresses);
    if (!listeners) return listeners.error();
    listeners_ = std::move(*listeners);
    tls_ = std::move(*tls);
    auto starters = make_starter_plan(plan_, listeners_);
    if (!starters) return starters.error();
    starter_plan_ = std::move(*starters);
    auto view = view_options(plan_);
    has_view_ = view.has_value();
    FrontOutput::Options options{plan_.is_lone_worker(), std::move(view), run_.paths().folder(),
                                 typed_terminals(plan_) != 0};
    output_ = std::make_unique<FrontOutput>(loop_, std::move(options), [this](int host, const Taken& taken) {
        if (FrameSocket* socket = nodes_[index(host)].socket.get()) socket->send(encode(taken));
    });
    output_->set_background(terminal_.is_in_background());
    if (const std::string& path = plan_.job.event_log; !path.empty()) {
        output_->open_events(path);
        events_ = agent::EventLog(plan_.job.rendezvous.job_id,
                                  [this](std::string line) { output_->write_event(std::move(line)); });
    }
    job_status_ = std::make_unique<FrontStatus>(loop_, plan_, link_, [this] {
        return ending_signals_ > 0 ? "stopping" : start_up_.has_begun() ? "running" : "waiting";
    });
    link_.register_nodes();
    link_.ready(plan_.job.host.is_set("SLURM_JOB_ID"));
    last_record_ = agent::LastRecord::of(plan_.job);
    last_record_.add_round(1, 0, plan_.job.restarts.max_restarts);
    if (last_record_.file() >= 0) link_.keep_last_record(last_record_.file());
    return {};
}

int FrontShell::run() {
    signals_ = std::make_unique<agent::SignalIntake>(
        loop_, link_, plan_.job.handled_signals,
        agent::SignalIntake::Handlers{
            .signals = [this](const sigset_t& set) { on_signals(set); },
            .child = [this] { children_.reap_others(); },
            .guard_died =
                [this] { finish(exit_status::kSignalBase + SIGKILL, agent::death_of_guard(link_.guard())); }});
    door_ = std::make_unique<FrontDoor>(
        loop_, listeners_, FrontDoor::Admission{tls_, starter_plan_.key},
        FrontDoor::Handlers{
            .agent = [this](const NodeHello& hello,
                            std::unique_ptr<FrameSocket> socket) { on_agent(hello, std::move(socket)); },
            .refused = [this](const std::string& line) { print(line); }});
    events_.write("job_started", {{"hosts", std::ssize(nodes_)},
                                  {"pid", std::int64_t{getpid()}},
                                  {"host", std::string_view(plan_.job.host.name)}});
    on_beat();
    if (plan_.job.timeout.count() > 0) time_limit_ = loop_.after(plan_.job.timeout, [this] { on_time_out(); });
    if (plan_.discovery_script.empty())
        loop_.post([this] { carry_out(start_up_.start(base::Clock::now())); });
    else
        ask_for_hosts();
    loop_.run();
    if (output_->is_stuck() || !last_line_.empty())
        link_.announce_end(status_, base::printable(last_line_), output_->is_stuck());
    if (output_->is_stuck()) _exit(status_);
    return status_;
}

void FrontShell::print(const std::string& text) { output_->print("dlaunch: " + base::printable(text) + "\n"); }

void FrontShell::write_event(std::string_view event, int host, std::initializer_list<agent::EventLog::Field> more) {
    events_.write(event, {{"host", std::string_view(name_of(host))}}, more);
}

/// A line on a terminal while hosts are missing, or stop.
void FrontShell::show_status() {
    if (is_over_ || plan_.job.verbosity < 0) return;
    output_->show_status(status_text());
}

/// The record of a stopping round names its reason, and not the hosts that still run workers.
std::string FrontShell::status_text() const {
    const auto now = base::Clock::now();
    const std::size_t columns = plan_.job.host.variable("TERM") == "dumb" ? 0 : status_columns();
    if (columns == 0 || now - began_ < kQuietStart) return {};
    std::size_t hosts = nodes_.size();
    const auto line = [&](std::string_view doing, const std::vector<std::string_view>& names, base::Time since) {
        if (names.empty()) return std::string();
        return status_line(doing, hosts, names, whole_seconds(now - since), columns);
    };
    std::vector<std::string_view> names, joining;
    if (!start_up_.has_begun()) {  // hosts that have failed do not count
        for (const int host : start_up_.missing()) names.push_back(name_of(host));
        hosts = names.size() + static_cast<std::size_t>(start_up_.count_connected());
        return line("starting", names, began_);
    }
    for (const NodeState& node : nodes_)
        if (node.has_order && !node.end) {
            names.push_back(node.plan.host.name);
            if (!node.has_joined) joining.push_back(node.plan.host.name);
        }
    if (!joining.empty() && ending_signals_ == 0 && !stop_ && !decided_at_) {
        hosts = names.size();
        return line("joining", joining, began_);
    }
    if (ending_signals_ > 0) return line("stopping", names, asked_at_);
    if (stop_ && now - stop_->seen_at >= kQuietStart)
        return stopping_line(stop_->reason, whole_seconds(now - stop_->seen_at), columns);
    return decided_at_ && now - *decided_at_ >= kQuietStart ? line("ending", names, *decided_at_) : std::string();
}

// --- signals ---------------------------------------------------------------------------------------------------------

void FrontShell::on_signals(const sigset_t& set) {
    for (int number = 1; number < NSIG; ++number) {
        if (sigismember(&set, number) != 1) continue;
        if (number == SIGHUP && link_.hangup_ignored()) continue;
        if (signals_->ends_job(number))
            end_by_signal(number);
        else if (number == SIGUSR1 || number == SIGUSR2)
            pass_signal(number);
        else if (number == SIGTSTP)
            print("SIGTSTP has no effect on a job of other hosts");
        else if (!agent::is_ignorable(number) && number != SIGCONT)
            end_by_signal(number);
    }
}

void FrontShell::pass_signal(int number) {
    for (NodeState& node : nodes_)
        if (node.socket && node.has_order && !node.end) node.signal(number);
}

/// The first one ends the workers with their grace, the second one kills them, the third one does not wait for hosts.
void FrontShell::end_by_signal(int number) {
    const std::string name = base::signal_name(number);
    if (++ending_signals_ == 1) asked_at_ = base::Clock::now();
    link_.received(number);
    events_.write("signal", {{"signal", std::string_view(name)}});
    if (!ended_by_) ended_by_ = number;
    if (is_over_) return requeue_.has_asked() ? void() : output_->hurry();
    if (!start_up_.has_begun() || ending_signals_ >= kWaitsForNobody)
        return finish(exit_status::kSignalBase + ended_by_, name + " received, ending");
    print(ending_signals_ == 1 ? fmt::format("{} received, stopping the workers of all hosts (again: kill them)", name)
                               : fmt::format("{} received, killing the workers of all hosts", name));
    if (ending_signals_ > 1) output_->hurry();
    pass_signal(number);
    look_for_end();  // the job may wait for hosts to come, with none left
}

/// The agents apply the limit to a job that has begun.
void FrontShell::on_time_out() {
    if (is_over_ || start_up_.has_begun()) return;
    finish(exit_status::kHang, fmt::format("the start outlived --timeout={:g}: {} of {} hosts have an agent",
                                           static_cast<double>(plan_.job.timeout.count()) / 1e3,
                                           start_up_.count_connected(), nodes_.size()));
}

// --- the end ---------------------------------------------------------------------------------------------------------

base::Result<void> FrontShell::host_coordinator() {
    std::vector<std::string> addresses;
    for (const store::Listener& listener : listeners_)
        addresses.push_back(listener.endpoint.substr(0, listener.endpoint.rfind(':')));
    for (std::string& address : addresses)  // "[::1]"
        if (address.starts_with('[')) address = address.substr(1, address.size() - 2);
    auto places = listen_at(addresses);
    if (!places) return places.error();
    rendezvous::CoordinatorJob job{agent::coordinator_options(plan_.job, base::host_name(), 0), std::nullopt,
                                   plan_.job.rendezvous.token};
    // Agents that have connected join now; the last call for later ones is over.
    job.options.one_console = true;
    job.options.last_call = std::min(job.options.last_call, kLastCall);
    awaits_hosts_ = plan_.discovery_script.empty();  // a discovery script may name further hosts
    if (awaits_hosts_) job.options.more_hosts = rendezvous::MoreHosts::awaited;
    auto record = agent::host_in_guard(link_, job, *places);
    if (!record) return record.error();
    record_ = std::move(*record);
    coordinator_port_ = places->front().port;
    return {};
}

/// The coordinator ends a job that has lost a host and can get no other one.
void FrontShell::look_for_awaited_hosts() {
    const auto may_join = [](const NodeState& node) { return node.socket && !node.has_joined && !node.end; };
    if (!awaits_hosts_ || !start_up_.missing().empty() || std::ranges::any_of(nodes_, may_join)) return;
    awaits_hosts_ = false;
    link_.no_more_hosts();
}

std::optional<rendezvous::Snapshot> FrontShell::latest_snapshot() const {
    return record_ ? wire::decode_snapshot(rendezvous::read_record(record_.get())) : std::nullopt;
}

/// Hosts that may take part in the first round; none: the round has begun, or further hosts may come. The coordinator
/// does not know a node that ends before it joins, and would wait for it.
std::optional<int> FrontShell::hosts_before_begin() const {
    if (!plan_.discovery_script.empty() || ending_signals_ > 0) return std::nullopt;
    if (const auto snapshot = latest_snapshot(); snapshot && (snapshot->round >= 0 || snapshot->verdict))
        return std::nullopt;
    const auto may_take_part = [](const NodeState& node) { return node.has_order && !node.end; };
    return static_cast<int>(std::ranges::count_if(nodes_, may_take_part) + std::ssize(start_up_.missing()));
}

/// Of the first host that ended badly.
std::optional<int> FrontShell::first_failed_status() const {
    const auto failed = [](const NodeState& node) { return node.end && node.end->status != 0; };
    const auto first = std::ranges::find_if(nodes_, failed);
    return first == nodes_.end() ? std::nullopt : std::optional(first->end->status);
}

/// With the status of a node that could not begin, which has printed the reason.
void FrontShell::end_before_begin() {
    refusal_ = {};
    if (is_over_) return;
    const auto left = hosts_before_begin();
    if (!left || *left >= plan_.job.rendezvous.min_nodes) return look_for_end();
    finish(first_failed_status().value_or(exit_status::kRendezvousTimeout),
           fmt::format("{} of {} hosts can take part, expected {} at least", *left, nodes_.size(),
                       plan_.job.rendezvous.min_nodes));
}

/// The job is over when no node that runs it is left, or too few are left to begin.
void FrontShell::look_for_end() {
    if (is_over_ || !start_up_.has_begun()) return;
    if (const auto left = hosts_before_begin(); left && *left < plan_.job.rendezvous.min_nodes) {
        if (!refusal_) refusal_ = loop_.after(kOthersRefuse, [this] { end_before_begin(); });
        return;
    }
    const bool any_runs =
        std::ranges::any_of(nodes_, [](const NodeState& node) { return node.has_order && !node.end; });
    if (any_runs) return dismiss_late_nodes();
    const auto snapshot = latest_snapshot();
    const bool is_decided = snapshot && snapshot->verdict;
    const bool others_may_come = !start_up_.missing().empty() || !plan_.discovery_script.empty();
    if (!is_decided && others_may_come && ending_signals_ == 0) return;
    if (is_decided) return finish(snapshot->verdict->status, {});
    finish(ended_by_ ? exit_status::kSignalBase + ended_by_ : first_failed_status().value_or(0), {});
}

void FrontShell::finish(int status, const std::string& reason) {
    if (std::exchange(is_over_, true)) return;
    status_ = status;
    const double seconds = std::chrono::duration<double>(base::Clock::now() - began_).count();
    input_.reset();
    timer_ = {};
    script_timer_ = {};
    for (NodeState& node : nodes_) {
        const bool has_agent = node.socket != nullptr;
        node.socket.reset();  // an agent that has not ended kills its workers and removes its files
        if (node.starter && !node.end && !has_agent) node.starter->end();
    }
    const auto snapshot = latest_snapshot();
    agent::JobResult result = snapshot ? agent::recorded_result(*snapshot) : agent::JobResult();
    if (plan_.collects_logs) {
        for (agent::Failure& failure : result.failures) name_collected_files(failure, run_.paths());
        result.log_directory = run_.paths().folder();
        result.log_name = run_.paths().short_name();
    }
    for (agent::Failure& failure : result.failures)
        failure.is_on_screen = plan_.job.logs.is_on_console(failure.local_rank, agent::kStderr);
    agent::describe_job(plan_.job, seconds, result);
    result.workers = workers_of(nodes_);
    result.exit_status = status;
    result.max_restarts = plan_.job.restarts.max_restarts;
    if (!reason.empty())
        result.reason = reason;
    else if (is_own_signal(status))  // which a host has had from here
        result.reason = base::signal_name(ended_by_) + " received";
    events_.write_job_ended(status, seconds, result.reason);
    if (status != 0) {
        const std::string text = result.failures.empty()
                                     ? std::string()
                                     : agent::text_report(result, latest_line_, agent::report_style(plan_.job));
        if (!text.empty())
            output_->print(text);
        else if (!result.reason.empty() && result.reason != latest_line_ && !(reason.empty() && is_own_signal(status)))
            print(result.reason);
    }
    if (plan_.job.report_file == agent::Plan::kStandardOutput) output_->print_on_stdout(agent::json_report(result));
    for (const std::string& warning : agent::write_reports(plan_.job, result)) print(warning);
    link_.keep_last_record(-1);
    requeue_.after({status, reason}, result, [this](const std::string& line) {
        if (!line.empty()) print(line);
        output_->finish([this](bool is_lost) {
            run_.close();
            if (is_lost) last_line_ = "output was lost: its reader does not read";
            const bool is_srun = plan_.launcher == Starter::srun, waits = ending_signals_ < kWaitsForNobody;
            const base::Duration patience = is_srun ? (waits ? kSrunEndsIn : kHurriedSrunEndsIn)
                                            : waits ? kAgentsEndIn
                                                    : base::Duration::zero();
            agents_end_ = loop_.after(patience, [this] { loop_.stop(); });
            stop_when_agents_have_ended();
        });
    });
}

/// Their starters end with them. A starter that is killed may take an agent with it that still removes files; an srun
/// that made an allocation gives it back at its end.
void FrontShell::stop_when_agents_have_ended() {
    const bool is_srun = plan_.launcher == Starter::srun;
    const auto runs = [is_srun](const NodeState& node) {
        return node.starter && (is_srun || !node.end) && node.starter->is_running();
    };
    if (agents_end_ && std::ranges::none_of(nodes_, runs)) loop_.stop();
}

int run_front_end(const FrontPlan& plan, agent::GuardLink link) {
    FrontShell shell(plan, link);
    if (auto ready = shell.prepare(); !ready) {
        link.announce_end(ready.error().status, base::printable(ready.error().text));
        return ready.error().status;
    }
    return shell.run();
}

}  // namespace dlaunch::launcher
