#include "agent/group/environment.hpp"

#include <gtest/gtest.h>

#include <map>

namespace dlaunch::agent {
namespace {

using Map = std::map<std::string, std::string>;

Plan plan_of(int workers) {
    Plan plan;
    plan.contexts[0].program.command = {"prog"};
    plan.contexts[0].workers = workers;
    plan.rendezvous.job_id = "night7";
    plan.handled_signals_text = "SIGTERM";
    return plan;
}

Assignment second_node() {
    return {.round = 3,
            .group_rank = 1,
            .group_world_size = 2,
            .world_size = 8,
            .ranks = {{{.count = 4, .first_rank = 4, .first_role_rank = 4, .role_world_size = 8}}},
            .master_addr = "node1",
            .master_port = 29500,
            .jax_addr = "node1",
            .jax_port = 40001,
            .restart_count = 2,
            .max_restarts = 5,
            .restart_reason = "rank 0 failed"};
}

const NodeFacts kNode{.host = "node2", .node_id = "node2-77", .agent_socket = "/run/s", .usable_cores = 8};

Map variables(Plan plan, int local_rank = 0, const Variables& inherited = {}, const NodeFacts& node = kNode) {
    plan.host.environment = inherited;
    Map found;
    for (const auto& [name, value] : worker_variables(plan, second_node(), node, local_rank, "/logs/error.json")) {
        EXPECT_FALSE(found.contains(name)) << name << " twice";
        found[name] = value;
    }
    return found;
}

TEST(WorkerVariables, identify_the_worker) {
    const Map seen = variables(plan_of(4), 2);
    const Map expected{{"RANK", "6"},
                       {"LOCAL_RANK", "2"},
                       {"WORLD_SIZE", "8"},
                       {"LOCAL_WORLD_SIZE", "4"},
                       {"GROUP_RANK", "1"},
                       {"GROUP_WORLD_SIZE", "2"},
                       {"ROLE_NAME", "default"},
                       {"ROLE_RANK", "6"},
                       {"ROLE_WORLD_SIZE", "8"},
                       {"MASTER_ADDR", "node1"},
                       {"MASTER_PORT", "29500"},
                       {"JAX_COORDINATOR_ADDRESS", "node1:40001"},
                       {"JAX_NUM_PROCESSES", "8"},
                       {"JAX_PROCESS_ID", "6"},
                       {"TORCHELASTIC_RESTART_COUNT", "2"},
                       {"TORCHELASTIC_MAX_RESTARTS", "5"},
                       {"TORCHELASTIC_RUN_ID", "night7"},
                       {"TORCHELASTIC_USE_AGENT_STORE", "True"},
                       {"TORCHELASTIC_ERROR_FILE", "/logs/error.json"},
                       {"TORCHELASTIC_SIGNALS_TO_HANDLE", "SIGTERM"},
                       {"TORCH_NCCL_ASYNC_ERROR_HANDLING", "1"},
                       {"OMP_NUM_THREADS", "2"},
                       {"DLAUNCH_JOB_ID", "night7"},
                       {"DLAUNCH_ROUND", "3"},
                       {"DLAUNCH_APPNUM", "0"},
                       {"DLAUNCH_NODE_ID", "node2-77"},
                       {"DLAUNCH_MASTER_HOST", "node1"},
                       {"DLAUNCH_WORKER_STOP_SIGNAL", "SIGTERM"},
                       {"DLAUNCH_AGENT_SOCKET", "/run/s"},
                       {"DLAUNCH_RESTART_REASON", "rank 0 failed"}};
    EXPECT_EQ(seen, expected);
}

TEST(WorkerVariables, divide_the_cores_and_leave_at_least_one_thread) {
    EXPECT_EQ(variables(plan_of(1))["OMP_NUM_THREADS"], "8");
    EXPECT_EQ(variables(plan_of(3))["OMP_NUM_THREADS"], "2");
    EXPECT_EQ(variables(plan_of(64))["OMP_NUM_THREADS"], "1");
}

TEST(WorkerVariables, leave_values_of_the_user) {
    const Variables inherited{{"OMP_NUM_THREADS", "7"}, {"TORCH_NCCL_ASYNC_ERROR_HANDLING", "0"}, {"RANK", "99"}};
    const Map seen = variables(plan_of(4), 0, inherited);
    EXPECT_FALSE(seen.contains("OMP_NUM_THREADS"));
    EXPECT_FALSE(seen.contains("TORCH_NCCL_ASYNC_ERROR_HANDLING"));
    EXPECT_EQ(seen.at("RANK"), "4");
}

TEST(WorkerVariables, env_options_come_before_defaults_and_after_identity) {
    Plan plan = plan_of(4);
    plan.contexts[0].program.environment = {{"OMP_NUM_THREADS", "3"}, {"MINE", "a"}, {"RANK", "0"}};
    const Map seen = variables(plan, 1);
    EXPECT_EQ(seen.at("OMP_NUM_THREADS"), "3");
    EXPECT_EQ(seen.at("MINE"), "a");
    EXPECT_EQ(seen.at("RANK"), "5");
}

TEST(WorkerVariables, a_virtual_local_rank_sees_one_device) {
    Plan plan = plan_of(2);
    plan.virtual_local_rank = true;
    const Map seen = variables(plan, 1, {{"CUDA_VISIBLE_DEVICES", "6,GPU-3"}});
    EXPECT_EQ(seen.at("LOCAL_RANK"), "0");
    EXPECT_EQ(seen.at("CUDA_VISIBLE_DEVICES"), "GPU-3");
    EXPECT_EQ(variables(plan, 1).at("CUDA_VISIBLE_DEVICES"), "1");
    EXPECT_FALSE(variables(plan_of(2), 1, {{"CUDA_VISIBLE_DEVICES", "6,3"}}).contains("CUDA_VISIBLE_DEVICES"));
}

/// One "ps" and two "worker"s on the second of two nodes.
Plan two_programs() {
    Plan plan = plan_of(1);
    plan.contexts[0].program.role = "ps";
    plan.contexts[0].program.environment = {{"MINE", "a"}};
    Context worker;
    worker.program.command = {"work", "x"};
    worker.program.role = "worker";
    worker.workers = 2;
    worker.appnum = 3;
    plan.contexts.push_back(worker);
    return plan;
}
Assignment round_of_two_programs() {
    Assignment round = second_node();
    round.ranks.blocks = {{1, 1, 1, 2}, {2, 4, 2, 4}};
    return round;
}

TEST(WorkerVariables, come_from_the_workers_context) {
    const Plan plan = two_programs();
    const auto of = [&](int local_rank) {
        const Variables made = worker_variables(plan, round_of_two_programs(), kNode, local_rank, "");
        return Map(made.begin(), made.end());
    };
    const Map ps = of(0), last = of(2);
    EXPECT_EQ(ps.at("RANK"), "1");
    EXPECT_EQ(ps.at("ROLE_NAME"), "ps");
    EXPECT_EQ(ps.at("ROLE_RANK"), "1");
    EXPECT_EQ(ps.at("ROLE_WORLD_SIZE"), "2");
    EXPECT_EQ(ps.at("DLAUNCH_APPNUM"), "0");
    EXPECT_EQ(ps.at("MINE"), "a");
    EXPECT_EQ(last.at("RANK"), "5");
    EXPECT_EQ(last.at("LOCAL_RANK"), "2");
    EXPECT_EQ(last.at("LOCAL_WORLD_SIZE"), "3");
    EXPECT_EQ(last.at("ROLE_NAME"), "worker");
    EXPECT_EQ(last.at("ROLE_RANK"), "3");
    EXPECT_EQ(last.at("ROLE_WORLD_SIZE"), "4");
    EXPECT_EQ(last.at("DLAUNCH_APPNUM"), "3");
    EXPECT_EQ(last.at("OMP_NUM_THREADS"), "2") << "the cores are divided among all workers of the node";
    EXPECT_FALSE(last.contains("MINE"));
}

TEST(WorkerVariables, a_list_of_devices_of_a_context_counts_from_its_first_worker) {
    Plan plan = two_programs();
    plan.virtual_local_rank = true;
    plan.host.environment = {{"CUDA_VISIBLE_DEVICES", "0,1,2"}};
    const auto device = [&](int local_rank) {
        const Variables made = worker_variables(plan, round_of_two_programs(), kNode, local_rank, "");
        return Map(made.begin(), made.end()).at("CUDA_VISIBLE_DEVICES");
    };
    EXPECT_EQ(device(0) + device(1) + device(2), "012");
    plan.contexts[1].program.environment = {{"CUDA_VISIBLE_DEVICES", "6,7"}};
    EXPECT_EQ(device(0) + device(1) + device(2), "067");
    EXPECT_EQ(shared_variables(plan)("CUDA_VISIBLE_DEVICES"), "0,1,2");
    plan.contexts[0].program.environment = {{"CUDA_VISIBLE_DEVICES", "6,7"}};
    EXPECT_EQ(shared_variables(plan)("CUDA_VISIBLE_DEVICES"), "6,7");
    EXPECT_EQ(device(0) + device(1), "67") << "a list that all contexts have is one list";
}

TEST(WorkerVariables, blanks_around_device_names_are_trimmed) {
    Plan plan = plan_of(2);
    plan.virtual_local_rank = true;
    EXPECT_EQ(variables(plan, 1, {{"CUDA_VISIBLE_DEVICES", "4, 5 "}}).at("CUDA_VISIBLE_DEVICES"), "5");
    EXPECT_EQ(variables(plan, 0, {{"CUDA_VISIBLE_DEVICES", " GPU-1 ,GPU-2"}}).at("CUDA_VISIBLE_DEVICES"), "GPU-1");
    EXPECT_EQ(variables(plan, 1, {{"CUDA_VISIBLE_DEVICES", ",4, ,5,"}}).at("CUDA_VISIBLE_DEVICES"), "5");
}

TEST(WorkerVariables, name_the_device_in_its_vendors_variables) {
    Plan plan = plan_of(2);
    plan.virtual_local_rank = true;
    plan.vendor = Vendor::amd;
    const Map seen = variables(plan, 1, {{"CUDA_VISIBLE_DEVICES", "4,5"}});
    EXPECT_EQ(seen.at("HIP_VISIBLE_DEVICES"), "5");
    EXPECT_EQ(seen.at("CUDA_VISIBLE_DEVICES"), "5");
    plan.vendor = Vendor::intel;
    const Map other = variables(plan, 1);
    EXPECT_EQ(other.at("ZE_AFFINITY_MASK"), "1");
    EXPECT_FALSE(other.contains("CUDA_VISIBLE_DEVICES"));
}

TEST(WorkerVariables, of_jax_stay_if_the_user_has_set_them) {
    Plan plan = plan_of(4);
    plan.contexts[0].program.environment = {{"JAX_COORDINATOR_ADDRESS", "h:1"}};
    const Map seen = variables(plan, 0, {{"JAX_NUM_PROCESSES", "99"}, {"JAX_COORDINATOR_ADDRESS", "other:2"}});
    EXPECT_EQ(seen.at("JAX_COORDINATOR_ADDRESS"), "h:1");
    EXPECT_FALSE(seen.contains("JAX_NUM_PROCESSES")) << "inherited";
    EXPECT_EQ(seen.at("JAX_PROCESS_ID"), "4");
}

TEST(WorkerVariables, of_jax_are_not_an_outer_jobs) {
    const Map seen =
        variables(plan_of(4), 1, {{"JAX_PROCESS_ID", "0"}, {"JAX_NUM_PROCESSES", "1"}, {"DLAUNCH_ROUND", "0"}});
    EXPECT_EQ(seen.at("JAX_PROCESS_ID"), "5");
    EXPECT_EQ(seen.at("JAX_NUM_PROCESSES"), "8");
}

TEST(WorkerVariables, of_jax_take_the_users_port) {
    const auto address = [](const char* port) {
        return variables(plan_of(4), 0, {{"JAX_COORDINATOR_PORT", port}}).at("JAX_COORDINATOR_ADDRESS");
    };
    EXPECT_EQ(address("1234"), "node1:1234");
    for (const char* other : {"", "0", "65536", "12x"}) EXPECT_EQ(address(other), "node1:40001") << other;
}

TEST(WorkerVariables, of_jax_name_no_address_without_a_port) {
    Assignment round = second_node();
    round.jax_port = 0;
    Map seen;
    for (const auto& [name, value] : worker_variables(plan_of(4), round, kNode, 0, "")) seen[name] = value;
    EXPECT_FALSE(seen.contains("JAX_COORDINATOR_ADDRESS"));
    EXPECT_TRUE(seen.contains("JAX_PROCESS_ID"));
    round.jax_port = 7;
    round.jax_addr = "fd00::1";
    for (const auto& [name, value] : worker_variables(plan_of(4), round, kNode, 0, "")) seen[name] = value;
    EXPECT_EQ(seen.at("JAX_COORDINATOR_ADDRESS"), "[fd00::1]:7");
}

TEST(SetVariable, replaces_or_adds) {
    Variables set{{"A", "1"}, {"B", "2"}};
    set_variable(set, "A", "3");
    set_variable(set, "C", "4");
    EXPECT_EQ(set, (Variables{{"A", "3"}, {"B", "2"}, {"C", "4"}}));
}

/// A round on the only node, or on one whose ranks begin at `first_rank`.
Assignment round_of(int workers, int first_rank = 0) {
    Assignment round;
    round.ranks.blocks = {{workers, first_rank, first_rank, first_rank + workers}};
    return round;
}

std::vector<std::string> arguments(std::vector<std::string> given, int local_rank = 1) {
    Plan plan = plan_of(2);
    for (auto& word : given) plan.contexts[0].program.command.push_back(std::move(word));
    auto words = worker_command(plan, round_of(2, 10), local_rank);
    words.erase(words.begin());
    return words;
}

TEST(TemplateVariables, name_the_agent_socket_and_no_rank) {
    Plan plan = plan_of(2);
    plan.contexts[0].program.environment = {{"MINE", "1"}};
    NodeFacts node = kNode;
    node.agent_socket = "/tmp/socket";
    const Variables made = template_variables(plan, node, "/tmp/error.json");
    const Map found(made.begin(), made.end());
    EXPECT_EQ(found.at("TORCHELASTIC_ERROR_FILE"), "/tmp/error.json");
    EXPECT_EQ(found.at("DLAUNCH_AGENT_SOCKET"), "/tmp/socket");
    EXPECT_TRUE(found.contains("DLAUNCH_FORK_POINT") && found.contains("MINE") && found.contains("OMP_NUM_THREADS"));
    EXPECT_FALSE(found.contains("RANK") || found.contains("MASTER_PORT"));
    plan.host.environment = {{"OMP_NUM_THREADS", "7"}};
    const Variables chosen = template_variables(plan, node, {});
    EXPECT_FALSE(Map(chosen.begin(), chosen.end()).contains("OMP_NUM_THREADS"));
}

TEST(WorkerCommand, local_rank_is_replaced_where_a_template_would) {
    EXPECT_EQ(arguments({"--d=/x/${local_rank}/y$local_rank"}), std::vector<std::string>{"--d=/x/1/y1"});
    EXPECT_EQ(arguments({"$local_rank-", "$local_rank.txt"}), (std::vector<std::string>{"1-", "1.txt"}));
}

TEST(WorkerCommand, every_other_byte_stays) {
    for (const std::string& text :
         {std::string("$local_ranks"), std::string("${local_rank"), std::string("${rank}"), std::string("$"),
          std::string("$$"), std::string("kill -9 $$"), std::string("$$local_rank"), std::string("$HOME ${HOME} $(x)"),
          std::string(), std::string("$ $"), std::string("\xff\xfe"), std::string("${}"),
          std::string("${local_rank }")})
        EXPECT_EQ(arguments({text}), std::vector<std::string>{text});
}

TEST(WorkerCommand, the_programs_own_name_is_left_alone) {
    Plan plan = plan_of(1);
    plan.contexts[0].program.command = {"python3", "-u", "$local_rank.py", "$local_rank"};
    plan.contexts[0].program.name_index = 2;
    EXPECT_EQ(worker_command(plan, round_of(1), 0), (std::vector<std::string>{"python3", "-u", "$local_rank.py", "0"}));
}

TEST(WorkerCommand, wraps_the_named_ranks) {
    Plan plan = plan_of(2);
    plan.contexts[0].program.wraps = {{std::set<int>{11}, {"nsys", "-o", "out.${rank}.$local_rank"}},
                                      {std::nullopt, {"nice"}}};
    EXPECT_EQ(worker_command(plan, round_of(2, 10), 1),
              (std::vector<std::string>{"nsys", "-o", "out.11.1", "nice", "prog"}));
    EXPECT_EQ(worker_command(plan, round_of(2, 10), 0), (std::vector<std::string>{"nice", "prog"}));
}

TEST(WorkerCommand, is_that_of_the_workers_context) {
    Plan plan = two_programs();
    plan.contexts[1].program.wraps = {{std::set<int>{5}, {"nice"}}};
    EXPECT_EQ(worker_command(plan, round_of_two_programs(), 0), std::vector<std::string>{"prog"});
    EXPECT_EQ(worker_command(plan, round_of_two_programs(), 1), (std::vector<std::string>{"work", "x"}));
    EXPECT_EQ(worker_command(plan, round_of_two_programs(), 2), (std::vector<std::string>{"nice", "work", "x"}));
}

TEST(WorkerCommand, passes_the_local_rank_when_asked) {
    Plan plan = plan_of(2);
    plan.contexts[0].program.command.push_back("x");
    plan.local_rank_option = "--local-rank";
    EXPECT_EQ(worker_command(plan, round_of(2), 1), (std::vector<std::string>{"prog", "--local-rank=1", "x"}));
}

}  // namespace
}  // namespace dlaunch::agent
