#pragma once
/// The front end's shell: carries out what StartUp decides. Used by front_*.cpp only.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/last_record.hpp"
#include "agent/logs/run_directory.hpp"
#include "agent/logs/warnings.hpp"
#include "agent/process/children.hpp"
#include "agent/process/guard.hpp"
#include "agent/process/signals.hpp"
#include "agent/process/terminal.hpp"
#include "agent/requeue.hpp"
#include "agent/status/events.hpp"
#include "launcher/start/discovered_hosts.hpp"
#include "launcher/start/front_door.hpp"
#include "launcher/start/front_input.hpp"
#include "launcher/start/front_node.hpp"
#include "launcher/start/front_output.hpp"
#include "launcher/start/front_plan.hpp"
#include "launcher/start/front_status.hpp"
#include "launcher/start/helper_process.hpp"
#include "launcher/start/start_up.hpp"
#include "rendezvous/base/exit_status.hpp"
#include "rendezvous/base/listener.hpp"
#include "rendezvous/base/loop.hpp"
#include "rendezvous/wire/job.hpp"

namespace dlaunch::launcher {

class FrontShell {
public:
    /// `plan` and `link` must outlive this object.
    FrontShell(const FrontPlan& plan, agent::GuardLink& link);

    [[nodiscard]] base::Result<void> prepare();
    /// Runs to the end of the job; returns its exit status.
    [[nodiscard]] int run();

private:
    // --- hosts (front_hosts.cpp)
    void carry_out(const std::vector<StartUp::Action>& actions);
    void start(int host);
    void start_by_srun(const std::vector<int>& hosts);
    void begin_starter(int host, StarterCommand command, const std::vector<int>& hosts);
    void on_starter_ended(const std::vector<int>& hosts, const HelperProcess::End& how);
    [[nodiscard]] std::string with_last_words(int host, const std::string& text) const;
    void give_up(int host);
    void begin();
    void order(int host);
    void set_timer();

    // --- hosts that come and go (front_discovery.cpp)
    void ask_for_hosts();
    void on_hosts(const HelperProcess::End& how);
    [[nodiscard]] std::vector<Share> shares_of(const HostEntry& host) const;
    void take_hosts(const std::vector<HostEntry>& listed);
    void on_host_ended(int host);
    [[nodiscard]] const std::string& name_of(int host) const { return nodes_[index(host)].plan.host.name; }
    [[nodiscard]] static std::size_t index(int host) { return static_cast<std::size_t>(host); }

    // --- connections (front_connections.cpp)
    void on_agent(const NodeHello& hello, std::unique_ptr<FrameSocket> socket);
    [[nodiscard]] int host_named(std::string_view name) const;
    void take_connection(int host, std::unique_ptr<FrameSocket> socket);
    void on_frame(int host, FrameKind kind, std::string_view payload);
    void on_notice(int host, const agent::FrontNotice& notice);
    void note_line(std::string_view bytes);
    void note_relayed(int host, std::string_view bytes);
    void on_closed(int host, const std::string& why);
    void on_beat();
    void watch_job();
    void report_signal(const rendezvous::Verdict& verdict);
    /// The job ends by a signal that this process has passed to all hosts.
    [[nodiscard]] bool is_own_signal(int status) const {
        return ended_by_ != 0 && status == exit_status::kSignalBase + ended_by_;
    }
    void give_up_silent_nodes();
    void give_up_absent_nodes();
    void dismiss_late_nodes();
    void take_end(int host, const NodeEnd& end);
    [[nodiscard]] std::string line_about_signal(int host, int signal) const;
    void end_node(int host, const NodeEnd& end);
    void lose_node(int host, const std::string& why);

    // --- the end (front_shell.cpp)
    void on_signals(const sigset_t& set);
    void end_by_signal(int number);
    void pass_signal(int number);
    void print(const std::string& text);
    void write_event(std::string_view event, int host, std::initializer_list<agent::EventLog::Field> more = {});
    void show_status();
    [[nodiscard]] std::string status_text() const;
    void on_time_out();
    void look_for_end();
    [[nodiscard]] std::optional<int> hosts_before_begin() const;
    [[nodiscard]] std::optional<int> first_failed_status() const;
    void end_before_begin();
    void finish(int status, const std::string& reason);
    void stop_when_agents_have_ended();
    [[nodiscard]] base::Result<void> host_coordinator();
    void look_for_awaited_hosts();
    [[nodiscard]] std::optional<rendezvous::Snapshot> latest_snapshot() const;

    const FrontPlan& plan_;
    agent::GuardLink& link_;
    agent::LastRecord last_record_;
    base::Loop loop_;
    agent::Children children_;
    agent::Requeue requeue_{loop_, children_, plan_.job};
    std::vector<NodeState> nodes_;
    StartUp start_up_;
    StarterPlan starter_plan_;
    agent::Terminal terminal_{link_.guard()};
    std::unique_ptr<FrontOutput> output_;
    agent::Warnings log_warnings_;
    agent::RunDirectory run_{log_warnings_};  ///< for --collect-logs
    bool has_view_ = false;
    std::map<int, agent::RelayReader> relays_;  ///< by host, with the live view: for note_line()
    agent::EventLog events_;                    ///< of hosts; workers' are on their nodes
    std::unique_ptr<FrontInput> input_;
    std::unique_ptr<FrontStatus> job_status_;
    std::unique_ptr<HelperProcess> script_;   ///< --host-discovery-script, while it runs
    std::string script_output_, wrong_list_;  ///< of its latest answer: what is wrong with it; empty: nothing
    DiscoveredHosts discovered_;
    base::Timer script_timer_, script_deadline_;
    std::vector<store::Listener> listeners_;
    auth::TlsContextPtr tls_;  ///< null: an open job
    std::unique_ptr<FrontDoor> door_;
    int coordinator_port_ = 0;
    bool awaits_hosts_ = false;             ///< the coordinator does
    base::UniqueFd record_;                 ///< of the coordinator: the verdict
    std::optional<base::Time> decided_at_;  ///< when the verdict was seen there
    /// A round that is being stopped, as seen there.
    struct Stop {
        base::Time seen_at;
        int round;
        std::string reason;
        bool is_printed = false;
    };
    std::optional<Stop> stop_;
    std::unique_ptr<agent::SignalIntake> signals_;
    base::Timer timer_, beat_, time_limit_, refusal_, agents_end_;
    const base::Time began_ = base::Clock::now();
    int ending_signals_ = 0, ended_by_ = 0;
    base::Time asked_at_{};           ///< the first of these signals
    int printing_ = -1;               ///< the node that prints the messages of all nodes until the first round
    std::string latest_line_;         ///< of these, without "dlaunch: "
    base::Time takes_dials_until_{};  ///< no host is given up before
    bool is_over_ = false;
    int status_ = 0;
    std::string last_line_;  ///< which the guard prints
};

}  // namespace dlaunch::launcher
