#include "agent/group/environment.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include "rendezvous/base/address.hpp"
#include "rendezvous/base/signal_names.hpp"
#include "rendezvous/base/text.hpp"

namespace dlaunch::agent {
namespace {

void set(Variables& variables, const char* name, std::string value) { set_variable(variables, name, std::move(value)); }
void set(Variables& variables, const char* name, int value) { set(variables, name, std::to_string(value)); }

/// A port number; none for other text.
std::optional<int> port_of(const std::optional<std::string>& text) {
    int port = 0;
    if (!text || std::from_chars(text->data(), text->data() + text->size(), port).ptr != text->data() + text->size())
        return std::nullopt;
    return port > 0 && port <= 65'535 ? std::optional(port) : std::nullopt;
}

/// The variables of a worker that sees a single device. A list in the context's --env is that of its workers alone, the
/// inherited one that of all workers of the node.
Variables single_device_of(const Plan& plan, int local_rank) {
    const Context& context = plan.context_of(local_rank);
    int first = 0;
    if (has_own_devices(plan, context))
        for (const Context* each = plan.contexts.data(); each != &context; ++each) first += each->workers;
    return single_device(plan.vendor, variables_given(plan, context), local_rank - first);
}

void set_identity(Variables& variables, const Plan& plan, const Assignment& assignment, int local_rank) {
    set(variables, "RANK", assignment.ranks.rank(local_rank));
    set(variables, "LOCAL_RANK", plan.virtual_local_rank ? 0 : local_rank);
    set(variables, "WORLD_SIZE", assignment.world_size);
    set(variables, "LOCAL_WORLD_SIZE", assignment.ranks.workers());
    set(variables, "GROUP_RANK", assignment.group_rank);
    set(variables, "GROUP_WORLD_SIZE", assignment.group_world_size);
    set(variables, "ROLE_NAME", plan.context_of(local_rank).program.role);
    set(variables, "ROLE_RANK", assignment.ranks.role_rank(local_rank));
    set(variables, "ROLE_WORLD_SIZE", assignment.ranks.role_world_size(local_rank));
    set(variables, "MASTER_ADDR", assignment.store_addr());
    set(variables, "MASTER_PORT", assignment.store_port());
}

void set_torchelastic(Variables& variables, const Plan& plan, const Assignment& assignment,
                      const std::string& error_file) {
    set(variables, "TORCHELASTIC_RESTART_COUNT", assignment.restart_count);
    set(variables, "TORCHELASTIC_MAX_RESTARTS", assignment.max_restarts);
    set(variables, "TORCHELASTIC_RUN_ID", plan.rendezvous.job_id);
    set(variables, "TORCHELASTIC_USE_AGENT_STORE", "True");
    set(variables, "TORCHELASTIC_ERROR_FILE", error_file);
    set(variables, "TORCHELASTIC_SIGNALS_TO_HANDLE", plan.handled_signals_text);
}

void set_ours(Variables& variables, const Plan& plan, const Assignment& assignment, const NodeFacts& node,
              int local_rank) {
    set(variables, "DLAUNCH_JOB_ID", plan.rendezvous.job_id);
    set(variables, "DLAUNCH_ROUND", assignment.round);
    set(variables, "DLAUNCH_NODE_ID", node.node_id);
    set(variables, "DLAUNCH_MASTER_HOST", assignment.master_addr);
    set(variables, "DLAUNCH_APPNUM", plan.context_of(local_rank).appnum);
    set(variables, "DLAUNCH_WORKER_STOP_SIGNAL", base::signal_name(plan.stop_signal));
    if (!node.agent_socket.empty()) set(variables, "DLAUNCH_AGENT_SOCKET", node.agent_socket);
    if (!assignment.restart_reason.empty()) set(variables, "DLAUNCH_RESTART_REASON", assignment.restart_reason);
}

/// The arguments of jax.distributed.initialize(). JAX reads the address itself, its cluster plug-ins the other two.
void set_jax(Variables& variables, const Plan& plan, const Assignment& assignment, int local_rank) {
    const Context& context = plan.context_of(local_rank);
    const auto is_own = [&](const char* name) { return own_variable(plan, context, name).has_value(); };
    const auto port = port_of(own_variable(plan, context, "JAX_COORDINATOR_PORT")).value_or(assignment.jax_port);
    if (!is_own("JAX_COORDINATOR_ADDRESS") && port > 0)
        set(variables, "JAX_COORDINATOR_ADDRESS", base::endpoint_text(assignment.jax_addr, port));
    if (!is_own("JAX_NUM_PROCESSES")) set(variables, "JAX_NUM_PROCESSES", assignment.world_size);
    if (!is_own("JAX_PROCESS_ID")) set(variables, "JAX_PROCESS_ID", assignment.ranks.rank(local_rank));
}

void set_threads(Variables& variables, const Plan& plan, const Context& context, const NodeFacts& node) {
    if (given_variable(plan, context, "OMP_NUM_THREADS")) return;
    set(variables, "OMP_NUM_THREADS", std::max(1, node.usable_cores / std::max(1, plan.workers())));
}

}  // namespace

void set_variable(Variables& variables, std::string_view name, std::string value) {
    for (auto& variable : variables) {
        if (variable.first != name) continue;
        variable.second = std::move(value);
        return;
    }
    variables.emplace_back(name, std::move(value));
}

std::optional<std::string> given_variable(const Plan& plan, const Context& context, std::string_view name) {
    for (const auto& [known, value] : context.program.environment)
        if (known == name) return value;
    return plan.host.variable(name);
}

std::optional<std::string> own_variable(const Plan& plan, const Context& context, std::string_view name) {
    for (const auto& [known, value] : context.program.environment)
        if (known == name) return value;
    return plan.host.variable("DLAUNCH_ROUND") ? std::nullopt : plan.host.variable(name);
}

VariableLookup variables_given(const Plan& plan, const Context& context) {
    return [&](std::string_view name) { return given_variable(plan, context, name); };
}

VariableLookup shared_variables(const Plan& plan) {
    return [&plan](std::string_view name) {
        const auto of = [&](const Context& context) { return given_variable(plan, context, name); };
        const auto first = of(plan.contexts.front());
        const bool is_same = std::ranges::all_of(plan.contexts, [&](const Context& each) { return of(each) == first; });
        return is_same ? first : plan.host.variable(name);
    };
}

bool has_own_devices(const Plan& plan, const Context& context) {
    const auto names = visibility_variables(plan.vendor);
    const auto shared = shared_variables(plan);
    return std::ranges::any_of(context.program.environment, [&](const auto& variable) {
        return std::ranges::find(names, variable.first) != names.end() && shared(variable.first) != variable.second;
    });
}

Variables template_variables(const Plan& plan, const NodeFacts& node, const std::string& error_file) {
    const Context& context = plan.contexts.front();
    Variables variables = context.program.environment;
    set_threads(variables, plan, context, node);
    set(variables, "DLAUNCH_AGENT_SOCKET", node.agent_socket);
    set(variables, "DLAUNCH_FORK_POINT", 1);
    set(variables, "TORCHELASTIC_ERROR_FILE", error_file);
    return variables;
}

Variables worker_variables(const Plan& plan, const Assignment& assignment, const NodeFacts& node, int local_rank,
                           const std::string& error_file) {
    const Context& context = plan.context_of(local_rank);
    Variables variables = context.program.environment;
    set_threads(variables, plan, context, node);
    if (!given_variable(plan, context, "TORCH_NCCL_ASYNC_ERROR_HANDLING"))
        set(variables, "TORCH_NCCL_ASYNC_ERROR_HANDLING", 1);
    if (plan.virtual_local_rank)
        for (auto& [name, value] : single_device_of(plan, local_rank)) set_variable(variables, name, std::move(value));
    set_identity(variables, plan, assignment, local_rank);
    set_jax(variables, plan, assignment, local_rank);
    set_torchelastic(variables, plan, assignment, error_file);
    set_ours(variables, plan, assignment, node, local_rank);
    return variables;
}

std::vector<std::string> worker_command(const Plan& plan, const Assignment& assignment, int local_rank) {
    using base::TwoDollars;
    const int rank = assignment.ranks.rank(local_rank);
    const std::string rank_text = std::to_string(rank), local_text = std::to_string(local_rank);
    const Program& program = plan.context_of(local_rank).program;
    std::vector<std::string> words;
    for (const Wrap& wrap : program.wraps) {
        if (wrap.ranks && !wrap.ranks->contains(rank)) continue;
        for (const auto& word : wrap.words)
            words.push_back(
                base::substitute(word, TwoDollars::kept, {{"rank", rank_text}, {"local_rank", local_text}}));
    }
    for (std::size_t at = 0; at < program.command.size(); ++at) {
        words.push_back(at <= program.name_index
                            ? program.command[at]
                            : base::substitute(program.command[at], TwoDollars::kept, {{"local_rank", local_text}}));
        if (at == program.name_index && !plan.local_rank_option.empty())
            words.push_back(plan.local_rank_option + "=" + local_text);
    }
    return words;
}

}  // namespace dlaunch::agent
