// The front end's hosts: starters, and the order to begin.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "launcher/start/front_shell.hpp"
#include "rendezvous/base/escape.hpp"
#include "rendezvous/base/exit_status.hpp"

namespace dlaunch::launcher {
namespace {

constexpr std::chrono::milliseconds kFrozenFor{1'000};
constexpr std::chrono::milliseconds kTakesDials{1'000};

}  // namespace

void FrontShell::carry_out(const std::vector<StartUp::Action>& actions) {
    using Kind = StartUp::Action::Kind;
    std::vector<int> together;  // hosts for one srun
    for (const StartUp::Action& action : actions) {
        if (is_over_) return;
        switch (action.kind) {
            case Kind::start:
                if (plan_.launcher == Starter::srun)
                    together.push_back(action.host);
                else
                    start(action.host);
                break;
            case Kind::give_up: give_up(action.host); break;
            case Kind::name:
                print(fmt::format("host {}: {}", name_of(action.host), with_last_words(action.host, action.text)));
                write_event("host_failed", action.host, {{"reason", std::string_view(action.text)}});
                on_host_ended(action.host);
                break;
            case Kind::begin: begin(); break;
            case Kind::admit: order(action.host); break;
            case Kind::fail: finish(exit_status::kRendezvousTimeout, action.text); break;
        }
    }
    if (!together.empty()) start_by_srun(together);
    look_for_awaited_hosts();
    set_timer();
    show_status();
}

/// After a freeze, agents that have dialled meanwhile come first.
void FrontShell::set_timer() {
    const auto due = is_over_ ? std::nullopt : start_up_.next_deadline();
    timer_ = {};
    if (!due) return;
    const base::Time at = std::max(*due, takes_dials_until_);
    timer_ = loop_.after(std::max(at - base::Clock::now(), base::Duration::zero()), [this, at] {
        const base::Time now = base::Clock::now();
        if (now - at <= kFrozenFor) return carry_out(start_up_.tick(now));
        takes_dials_until_ = now + kTakesDials;
        set_timer();
    });
}

void FrontShell::start(int host) {
    const auto& environment = plan_.job.host;
    auto command = starter_command(starter_plan_, nodes_[index(host)].plan.host,
                                   {.module = environment.variable("PDSH_RCMD_TYPE").value_or(""),
                                    .ssh_args = environment.variable("PDSH_SSH_ARGS_APPEND").value_or("")});
    if (plan_.launcher == Starter::manual) {
        // The words of `HOST: COMMAND`; the user may paste the command into any shell.
        output_->feed(host, FrameKind::output, fmt::format("{}: {}\n", name_of(host), shell_command(command.words)));
        return;
    }
    begin_starter(host, std::move(command), {host});
}

void FrontShell::start_by_srun(const std::vector<int>& hosts) {
    std::vector<StarterHost> named;
    for (const int host : hosts) named.push_back(nodes_[index(host)].plan.host);
    begin_starter(hosts.front(), srun_command(starter_plan_, named), hosts);
}

void FrontShell::begin_starter(int host, StarterCommand command, const std::vector<int>& hosts) {
    for (const int each : hosts) nodes_[index(each)].started_with = host;
    NodeState& node = nodes_[index(host)];
    node.last_words = {};
    node.starter = std::make_unique<HelperProcess>(
        loop_, children_,
        HelperProcess::Handlers{
            .output = [this, host](std::string_view bytes) { nodes_[index(host)].last_words.add(bytes); },
            .ended = [this, hosts](const HelperProcess::End& how) { on_starter_ended(hosts, how); }});
    node.starter->begin(std::move(command), plan_.job.host.variable("PATH").value_or("/usr/bin:/bin"));
}

/// A host without an agent has failed. A host with one has lost its launcher only: its agent must end, too, as the end
/// of an ssh ends the remote command.
void FrontShell::on_starter_ended(const std::vector<int>& hosts, const HelperProcess::End& how) {
    if (is_over_) return stop_when_agents_have_ended();
    for (const int host : hosts) {
        if (is_over_) return;
        NodeState& node = nodes_[index(host)];
        if (node.end) continue;
        const std::string text = node.is_unlisted ? NodeState::kUnlisted : how.text;
        if (!node.socket) {
            const bool has_exited = how.status.has_value() && !node.is_unlisted;
            carry_out(start_up_.failed(host, fmt::format("{}{}", text, has_exited ? " before an agent came" : ""),
                                       base::Clock::now()));
            continue;
        }
        if (plan_.launcher == Starter::fork) continue;  // the agent itself: its connection ends
        if (!start_up_.has_begun()) {
            node.socket.reset();
            carry_out(start_up_.failed(host, text, base::Clock::now()));
            continue;
        }
        print(fmt::format("host {}: {}; its agent is ended", name_of(host), with_last_words(host, text)));
        lose_node(host, text);
    }
}

/// Hosts that one launcher process has started share its last lines.
std::string FrontShell::with_last_words(int host, const std::string& text) const {
    const std::string words = nodes_[index(nodes_[index(host)].started_with)].last_words.text();
    return words.empty() ? text : text + ": " + words;
}

void FrontShell::give_up(int host) {
    if (const auto& starter = nodes_[index(host)].starter) starter->end();
}

void FrontShell::begin() {
    if (auto hosted = host_coordinator(); !hosted) return finish(hosted.error().status, hosted.error().text);
    input_ = std::make_unique<FrontInput>(loop_, nodes_, link_.guard());
    for (int host = 0; host < static_cast<int>(nodes_.size()); ++host)
        if (nodes_[index(host)].socket) order(host);
}

void FrontShell::order(int host) {
    NodeState& node = nodes_[index(host)];
    if (!node.socket || node.has_order) return;
    if (printing_ < 0) printing_ = host;
    node.has_order = true;
    write_event("host_started", host);
    NodeOrder order;
    order.name = name_of(host);
    order.order_key = std::to_string(host);
    order.folder = plan_.folder;
    order.words = nodes_[index(host)].plan.words;
    order.variables = plan_.sent.variables;
    order.keeps_own_variables = plan_.sent.keeps_own;
    order.coordinator_port = static_cast<std::uint16_t>(coordinator_port_);
    order.prints = host == printing_;
    order.has_input = plan_.job.standard_input.mode != agent::StdinPlan::Mode::none;
    order.relays_output = has_view_;
    if (!has_view_) order.terminals = static_cast<std::uint8_t>(typed_terminals(plan_));
    order.collects_logs = plan_.collects_logs;
    node.socket->send(encode(order));
}

}  // namespace dlaunch::launcher
