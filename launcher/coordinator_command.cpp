#include "launcher/coordinator_command.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>
#include <utility>

#include "agent/errors/report.hpp"
#include "agent/membership/cause.hpp"
#include "agent/membership/hosting.hpp"
#include "agent/membership/net_options.hpp"
#include "agent/membership/recorded_result.hpp"
#include "agent/process/print_within.hpp"
#include "launcher/cli/subcommands.hpp"
#include "launcher/command_line.hpp"
#include "launcher/print_error.hpp"
#include "rendezvous/base/escape.hpp"
#include "rendezvous/base/exit_status.hpp"
#include "rendezvous/base/host.hpp"
#include "rendezvous/coordinate/process.hpp"
#include "rendezvous/discovery/discovery.hpp"

namespace dlaunch::launcher {
namespace {

namespace r = rendezvous;

/// Stands for PROGRAM, which a coordinator does not have.
constexpr const char* kNoProgram = "dlaunch-coordinator-has-no-program";

constexpr auto kMayTakeToPrint = std::chrono::milliseconds(5'000);

constexpr const char* kHelp =
    R"(Usage: dlaunch coordinator [OPTIONS]

Hosts the coordinator of a job on a node without workers: a login or CPU node, or a service. Prints
one line with the address and port, and ends with the job's status and report. With a folder or etcd
as endpoint it waits as a standby while another node hosts the coordinator.

{}
With a fixed endpoint, SIGTERM and SIGINT end the job on all nodes. With a folder or etcd, another
node takes over, and the workers run on.
More: man dlaunch
)";

std::string why_it_cannot_host(const r::DiscoveryResult& found, const std::string& endpoint) {
    if (!found.warning.empty()) return found.warning;
    if (!found.port_owner.empty()) return endpoint + ": another service listens there, " + found.port_owner;
    return endpoint + " is no address of this node, or another process serves there already";
}

int host(const agent::Plan& plan, const std::string& host_name, r::DiscoveryResult found, agent::GuardLink& link) {
    r::CoordinatorJob job{agent::coordinator_options(plan, host_name, 0), found.claim, plan.rendezvous.token};
    job.options.program.clear();
    job.options.epoch = found.epoch;
    job.options.succeeds = found.succeeds;
    job.options.snapshot = found.snapshot;
    const std::string place = found.listener->endpoint, is_open = agent::open_job_line(plan.rendezvous, found);
    std::vector<store::Listener> listeners;
    listeners.push_back(std::move(*found.listener));
    for (store::Listener& each : found.more_listeners) listeners.push_back(std::move(each));
    const std::string line = fmt::format("dlaunch: the coordinator of job \"{}\" listens on {}\n",
                                         base::printable(job.options.job_id), base::printable(place));
    if (write(STDOUT_FILENO, line.data(), line.size()) < 0) print_error({"stdout: cannot write"});
    if (!is_open.empty()) print_error({base::printable(is_open)});
    if (auto hosted = agent::host_in_guard(link, job, listeners, true); !hosted)
        return print_error({base::printable(hosted.error().text), hosted.error().status});
    return 0;
}

}  // namespace

int run_coordinator(const std::vector<std::string>& arguments, agent::GuardLink& link) {
    if (std::ranges::find(arguments, "--help") != arguments.end() ||
        std::ranges::find(arguments, "-h") != arguments.end())
        return std::fputs(fmt::format(kHelp, options_help("coordinator")).c_str(), stdout) < 0 ||
               std::fflush(stdout) != 0;
    std::vector<std::string> words{"dlaunch"};
    words.insert(words.end(), arguments.begin(), arguments.end());
    words.insert(words.end(), {"--no-python", kNoProgram});
    const auto invocation = read_command_line(words, deps_of_this_process());
    if (!invocation) return print_error(invocation.error().within("coordinator"));
    const agent::Plan& plan = invocation->plan;
    if (plan.contexts.size() > 1 || plan.contexts.front().program.name() != kNoProgram)
        return print_error({"coordinator: a program was given, expected options only: a coordinator has no workers"});
    if (plan.rendezvous.max_nodes == 1 && plan.rendezvous.standalone)
        return print_error({"coordinator: no endpoint, expected --nnodes and --rdzv-endpoint"});

    const std::string host_name = base::host_name();
    auto tls = agent::tls_of(plan.rendezvous);
    if (!tls) return print_error(tls.error().within("coordinator"));
    r::DiscoveryRequest request = agent::discovery_request(plan, host_name, std::move(*tls));
    request.ends_with_job = true;
    const auto discovery = r::make_discovery(std::move(request));
    const auto gives_up = std::chrono::steady_clock::now() + plan.rendezvous.answer_timeout;
    for (bool waits = false, has_told = false;;) {
        auto found = discovery->find();
        if (!found && !std::exchange(has_told, true))
            print_error({base::printable(found.error().text), found.error().status});
        if (!found && !waits) return found.error().status;
        if (!found) {  // the disk may be full for a moment
            std::this_thread::sleep_for(r::Discovery::kLookEvery);
            continue;
        }
        if (found->has_no_address() && !found->problem.empty()) {  // etcd does not answer
            if (std::chrono::steady_clock::now() >= gives_up)
                return print_error(
                    {fmt::format("coordinator: rendezvous timed out: {}", base::printable(found->problem)),
                     exit_status::kRendezvousTimeout});
            std::this_thread::sleep_for(r::Discovery::kLookEvery);
            continue;
        }
        if (found->listener) return host(plan, host_name, std::move(*found), link);
        if (!discovery->moves())
            return print_error({base::printable("coordinator: " + why_it_cannot_host(*found, plan.rendezvous.endpoint)),
                                exit_status::kRefused});
        if (found->places.empty()) return 0;  // the job has ended
        waits = true;
        discovery->learn(found->epoch, {});
        while (!discovery->may_be_vacant()) std::this_thread::sleep_for(r::Discovery::kLookAlwaysEvery);
    }
}

int run_reporting_coordinator(const base::CoordinatorSeat& seat) {
    return r::run_coordinator_process(seat, agent::judge, [&seat](const r::Snapshot& record, base::Duration lasted) {
        agent::JobResult end = agent::recorded_result(record);
        if (end.exit_status == 0) return;
        end.seconds = std::chrono::duration<double>(lasted).count();
        const std::string text = agent::text_report(end);
        // The loop has ended, so no beat follows: keep the guard from starting a successor during the output.
        seat.page->alive(base::Clock::now() + 2 * kMayTakeToPrint);
        const auto due = base::Clock::now() + kMayTakeToPrint;
        agent::print_within(STDERR_FILENO, text, [due] { return base::Clock::now() < due; });
    });
}

}  // namespace dlaunch::launcher
