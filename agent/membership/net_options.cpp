#include "agent/membership/net_options.hpp"

#include <cstdlib>
#include <utility>

namespace dlaunch::agent {

namespace r = rendezvous;

namespace {

constexpr int kElasticPort = 29'400, kStaticPort = 29'500;  // torchrun's

const std::string* conf(const RendezvousPlan& plan, const char* key) {
    auto found = plan.conf.find(key);
    return found == plan.conf.end() ? nullptr : &found->second;
}

/// A time of --rdzv-conf, in seconds; it was checked where it was taken.
r::Milliseconds seconds(const RendezvousPlan& plan, const char* key, double otherwise) {
    const std::string* text = conf(plan, key);
    return r::Milliseconds(static_cast<std::int64_t>((text ? std::strtod(text->c_str(), nullptr) : otherwise) * 1e3));
}

r::ScaleUp scale_up(ScaleUp policy) {
    switch (policy) {
        case ScaleUp::immediate: return r::ScaleUp::immediate;
        case ScaleUp::on_restart: return r::ScaleUp::on_restart;
        case ScaleUp::never: return r::ScaleUp::never;
    }
    return {};
}

/// The endpoint was checked where it was taken.
r::Endpoints endpoints_of(const RendezvousPlan& plan) {
    if (plan.backend == "static") return {{{plan.master_addr, plan.master_port.value_or(kStaticPort)}}, {}};
    auto endpoints = r::parse_endpoints(plan.endpoint, kElasticPort);
    return endpoints ? std::move(*endpoints) : r::Endpoints{};
}

}  // namespace

r::Question question_of(const Plan& plan, const std::string& host_name) {
    const RendezvousPlan& meeting = plan.rendezvous;
    r::Question question;
    question.at = endpoints_of(meeting);
    question.host_name = host_name;
    question.local_addr = meeting.local_addr;
    question.version = DLAUNCH_VERSION;
    question.job_id = meeting.job_id;
    question.node_timeout = meeting.node_timeout;
    if (meeting.backend == "static") {
        if (meeting.endpoint.empty()) question.option = "--master-addr";
        question.may_host = meeting.node_rank.value_or(0) == 0;
        question.should_host = meeting.node_rank == 0;
    }
    if (const std::string* wish = conf(meeting, "is_host")) {
        question.must_host = *wish == "1";
        question.may_host = question.must_host;
    }
    return question;
}

r::Coordinator::Options coordinator_options(const Plan& plan, const std::string& host_name, std::uint64_t incarnation) {
    const RendezvousPlan& meeting = plan.rendezvous;
    r::Coordinator::Options options;
    options.version = DLAUNCH_VERSION;
    options.job_id = meeting.job_id;
    options.host = host_name;
    options.role = plan.role;
    options.program = program_name(plan);
    options.incarnation = incarnation;
    options.min_nodes = meeting.min_nodes;
    options.max_nodes = meeting.max_nodes;
    options.last_call = seconds(meeting, "last_call_timeout", 30);
    options.join_timeout = join_timeout(meeting);
    options.node_timeout = meeting.node_timeout;
    options.scale_up = scale_up(meeting.scale_up);
    options.expected_hosts = meeting.expected_hosts;
    options.fixed_ranks = meeting.backend == "static";
    options.restarts = {plan.restarts.max_restarts, plan.restarts.first, plan.restarts.most, plan.restarts.healthy,
                        plan.restarts.crash_loop};
    options.master_addr = meeting.master_addr;
    options.master_port = meeting.master_port;
    return options;
}

r::Milliseconds first_answer_timeout(const RendezvousPlan& plan) {
    const auto limit = join_timeout(plan);
    return plan.backend == "static" ? limit : seconds(plan, "read_timeout", static_cast<double>(limit.count()) / 1e3);
}

r::Milliseconds rejoin_timeout(const RendezvousPlan& plan) { return seconds(plan, "rejoin_timeout", 60); }

r::Milliseconds join_timeout(const RendezvousPlan& plan) {
    const bool by_static_name = plan.backend == "static" && !plan.conf.contains("join_timeout");
    return seconds(plan, by_static_name ? "timeout" : "join_timeout", 600);
}

std::string program_name(const Plan& plan) {
    if (plan.program_index >= plan.command.size()) return {};
    const std::string& program = plan.command[plan.program_index];
    return program.substr(program.find_last_of('/') + 1);
}

std::string order_key() {
    // One process a task: its number is the order.
    const char* number = std::getenv("SLURM_PROCID");
    return number && std::getenv("SLURM_JOB_ID") ? number : "";
}

}  // namespace dlaunch::agent
