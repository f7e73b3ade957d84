#include "launcher/check_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "agent/membership/net_options.hpp"
#include "launcher/cli/normalize.hpp"
#include "launcher/command_line.hpp"
#include "launcher/print_error.hpp"
#include "rendezvous/base/escape.hpp"
#include "rendezvous/base/exit_status.hpp"
#include "rendezvous/net/probe.hpp"

namespace dlaunch::launcher {
namespace {

namespace r = rendezvous;
using Kind = r::Answer::Kind;

constexpr auto kPatience = r::Milliseconds(5'000);

constexpr const char* kHelp =
    R"(Usage: dlaunch check [OPTIONS] [PROGRAM [ARGS...]]

Prints, for a job of several nodes with these options, the address that this node would advertise
and why, where the coordinator is, and whether it answers there. Starts and joins nothing. The
options are dlaunch's: put "check" into the failing command line.

Exit status: 0 the coordinator answers, or this node is to host it and can listen; 2 wrong usage;
  80 no answer; 83 another service answers, or the coordinator refuses this node
More: man dlaunch
)";

void print(const char* what, const std::string& text) { fmt::print("{:<13}{}\n", what, base::printable(text)); }

/// Reads the command line as dlaunch would; PROGRAM, or its file, may be missing.
base::Result<Invocation> invocation_of(std::vector<std::string> words) {
    auto line = normalize(words);
    if (!line) return line.error();
    if (line->program.empty()) words.emplace_back("true");
    words.insert(words.begin(), "dlaunch");
    Deps deps = deps_of_this_process();
    deps.presence = [](const std::string&) { return Presence::there; };
    return read_command_line(words, deps);
}

/// The text of an option that prints one: check has its own --help, and refuses --dry-run and --print-completion.
base::Result<std::string> text_of(const Invocation& invocation, const std::vector<std::string>& arguments) {
    const auto line = normalize(arguments);
    for (const OptionUse& use : line->options) {
        if (use.option->name == "help") return base::text_result(kHelp);
        if (use.option->name == "version") break;
        if (use.option->name == "print-completion" || use.option->name == "dry-run")
            return base::Error{fmt::format("check {}: expected this option without check", use.spelling)};
    }
    return base::text_result(invocation.output);
}

int status_of(Kind kind) {
    switch (kind) {
        case Kind::coordinator: return 0;
        case Kind::refused:
        case Kind::foreign_service: return exit_status::kRefused;
        case Kind::silent:
        case Kind::closed_port:
        case Kind::unreachable: break;
    }
    return exit_status::kRendezvousTimeout;
}

std::string answer_text(const r::Answer& answer, const std::string& job_id) {
    switch (answer.kind) {
        case Kind::coordinator: return fmt::format("yes: the coordinator of job \"{}\" is there", job_id);
        case Kind::refused: return fmt::format("no: a coordinator refuses this node: {}", answer.text);
        case Kind::foreign_service:
            return fmt::format("no: the service there is no dlaunch coordinator: {}", answer.text);
        case Kind::closed_port: return fmt::format("no: {}; the node that hosts it has not started", answer.text);
        case Kind::silent:
        case Kind::unreachable: break;
    }
    return fmt::format("no: {}", answer.text);
}

/// Probes every place; the best answer determines the exit status.
int probe_all(const r::DiscoveryResult& found, const r::DiscoveryRequest& request) {
    int best = exit_status::kRefused + 1;
    for (const r::ResolvedEndpoint& place : found.places) {
        const std::string endpoint = place.endpoint.text();
        if (place.address.empty()) {
            print("coordinator:", endpoint);
            print("answers:", fmt::format("no: the name {} has no address", place.endpoint.host));
            best = std::min(best, exit_status::kRendezvousTimeout);
            continue;
        }
        const bool is_number = place.address == place.endpoint.host;
        print("coordinator:", is_number ? endpoint : fmt::format("{} ({})", endpoint, place.address));
        const r::Answer answer =
            r::probe(place.address, place.endpoint.port, request.version, request.job_id, kPatience, request.tls, true);
        print("answers:", answer_text(answer, request.job_id));
        best = std::min(best, status_of(answer.kind));
    }
    return best;
}

int check(const agent::Plan& plan) {
    auto tls = agent::tls_of(plan.rendezvous);
    if (!tls) return print_error(tls.error().within("check"));
    r::DiscoveryRequest request = agent::discovery_request(plan, plan.host.name, std::move(*tls));
    request.only_look = true;
    if (plan.rendezvous.max_nodes == 1) {
        print("this node:", fmt::format("{}, alone: a job of one node needs no rendezvous", plan.host.name));
        return 0;
    }
    const auto found = r::make_discovery(request)->find();
    if (!found) return print_error({base::printable(found.error().text), found.error().status});
    print("this node:", fmt::format("{}, advertised as {}", plan.host.name, found->advertised));
    print("because:", found->why);
    if (!found->warning.empty()) print("warning:", found->warning);
    if (!found->listener && !found->places.empty()) return probe_all(*found, request);
    if (found->places.empty()) {
        print("coordinator:", "none yet: the first node that starts hosts it");
        return 0;
    }
    print("coordinator:", fmt::format("{}, hosted by this node", found->places.front().endpoint.text()));
    print("answers:", "not yet: it is not running, and the port is free");
    return 0;
}

}  // namespace

int run_check(const std::vector<std::string>& arguments) {
    if (!arguments.empty() && (arguments[0] == "-h" || arguments[0] == "--help"))
        return std::fputs(kHelp, stdout) < 0 || std::fflush(stdout) != 0;
    const auto invocation = invocation_of(arguments);
    if (!invocation) return print_error(invocation.error());
    for (const std::string& warning : invocation->warnings) print_error({warning});
    if (invocation->kind == Invocation::Kind::print) {
        const auto text = text_of(*invocation, arguments);
        if (!text) return print_error(text.error());
        return std::fputs(text->c_str(), stdout) < 0 || std::fflush(stdout) != 0;
    }
    return check(invocation->plan);
}

}  // namespace dlaunch::launcher
