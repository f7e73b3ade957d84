#include "launcher/plan.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/unit/launcher/deps_for_tests.hpp"
#include "tests/unit/launcher/planned.hpp"

namespace dlaunch::launcher {
namespace {

using namespace std::chrono_literals;

Words command(const Words& words, std::vector<std::pair<std::string, std::string>> environment = {}) {
    return planned(words, small_machine(std::move(environment))).plan->contexts[0].program.command;
}

TEST(PlanProgram, PyFilesAndModulesRunWithPython) {
    EXPECT_EQ(command({"a.py", "x"}), (Words{"python3", "-u", "a.py", "x"}));
    EXPECT_EQ(command({"-m", "pkg.mod", "--x"}), (Words{"python3", "-u", "-m", "pkg.mod", "--x"}));
    EXPECT_EQ(command({"--run-path", "script"}), (Words{"python3", "-u", "script"}));
    EXPECT_EQ(command({"--run-path", "--no-python", "script"}), (Words{"python3", "-u", "script"})) << "as torchrun";
    EXPECT_EQ(planned({"-m", "pkg"}).plan->contexts[0].program.name_index, 3U);
    EXPECT_EQ(planned({"a.py"}).plan->contexts[0].program.name_index, 2U);
    EXPECT_TRUE(planned({"a.py"}).plan->contexts[0].program.is_python);
}

TEST(PlanProgram, EverythingElseIsExecuted) {
    EXPECT_EQ(command({"./tool", "a.py"}), (Words{"./tool", "a.py"}));
    EXPECT_EQ(command({"--no-python", "a.py"}), Words{"a.py"});
    EXPECT_EQ(planned({"./tool"}).plan->contexts[0].program.name_index, 0U);
    EXPECT_FALSE(planned({"--no-python", "a.py"}).plan->contexts[0].program.is_python);
}

TEST(PlanProgram, EnvironmentVariablesSelectThePython) {
    EXPECT_EQ(command({"a.py"}, {{"PYTHON_EXEC", "/opt/py"}, {"VIRTUAL_ENV", "/venv"}})[0], "/opt/py");
    EXPECT_EQ(command({"a.py"}, {{"VIRTUAL_ENV", "/venv"}, {"CONDA_PREFIX", "/conda"}})[0], "/venv/bin/python");
    EXPECT_EQ(command({"a.py"}, {{"CONDA_PREFIX", "/conda"}, {"PYTHON_EXEC", ""}})[0], "/conda/bin/python");
}

TEST(PlanProgram, MustBeThere) {
    EXPECT_EQ(planned({}).error(),
              "no program given, expected dlaunch [OPTIONS] PROGRAM [ARGS...]; see dlaunch --help");
    EXPECT_NE(planned({""}).error(), "");
    EXPECT_EQ(planned({"-m", "--no-python", "p"}).error(),
              "-m and --no-python contradict each other, expected one of them");
}

TEST(PlanWorkers, TheTotalIsDividedAmongTheNodes) {
    EXPECT_EQ(planned({"-n", "3", "p"}).plan->workers(), 3);
    EXPECT_EQ(planned({"-np", "3", "p"}).plan->workers(), 3);
    EXPECT_EQ(planned({"-np4", "p"}).plan->workers(), 4);
    EXPECT_EQ(planned({"-n", "6", "--nnodes=3", "p"}).plan->workers(), 2);
    EXPECT_EQ(planned({"-n", "7", "--nnodes=3", "p"}).error(),
              "-n 7: expected a multiple of 3, the number of nodes: every node gets the same number of workers");
    EXPECT_EQ(planned({"-n", "6", "--nnodes=1:3", "p"}).error(),
              "-n 6: expected a fixed --nnodes with -n, or --nproc-per-node for an elastic job");
}

TEST(PlanWorkers, OneSourceGivesEitherTheTotalOrTheNumberPerNode) {
    EXPECT_EQ(planned({"--nproc-per-node=2", "-n", "3", "p"}).error(),
              "-n 3 and --nproc-per-node=2 contradict each other, expected one of -n and --nproc-per-node");
    EXPECT_EQ(planned({"-np", "3", "--nproc-per-node=2", "p"}).error(),
              "-np 3 and --nproc-per-node=2 contradict each other, expected one of -n and --nproc-per-node");
    EXPECT_EQ(planned({"-n", "3", "p"}, small_machine({{"PET_NPROC_PER_NODE", "2"}})).plan->workers(), 3);
    EXPECT_EQ(planned({"--nproc-per-node=2", "p"}, small_machine({{"DLAUNCH_NP", "3"}})).plan->workers(), 2);
    EXPECT_EQ(planned({"-n", "3", "-n", "4", "p"}).plan->workers(), 4);
}

TEST(PlanProgram, TheEnvironmentOfTheCalledNameSelectsThePython) {
    Deps machine = small_machine({{"VIRTUAL_ENV", "/other"}});
    machine.python_beside = [](const std::string& called) { return called == "torchrun" ? "/venv/bin/python" : ""; };
    ContextRequest request{{}, {"a.py"}};
    Words warnings;
    const auto python = [&](const char* called) {
        request.settings.called = called;
        return make_plan({request}, machine, warnings)->contexts[0].program.command[0];
    };
    EXPECT_EQ(python("torchrun"), "/venv/bin/python");
    EXPECT_EQ(python("dlaunch"), "/other/bin/python");
    machine.host.environment.emplace_back("PYTHON_EXEC", "/opt/py");
    EXPECT_EQ(python("torchrun"), "/opt/py");
}

TEST(PlanWorkers, ACountBeyondTheMachineIsAnError) {
    EXPECT_EQ(planned({"--nproc-per-node=32768", "p"}).plan->workers(), 32768);
    EXPECT_EQ(planned({"--nproc-per-node=32769", "p"}).error(),
              "--nproc-per-node=32769: expected at most 32768 workers, the limit of processes on this machine "
              "(kernel.pid_max)");
}

TEST(PlanRendezvous, AFolderIsForC10d) {
    EXPECT_EQ(planned({"--nnodes=2", "--rdzv-endpoint=file:///x", "p"}).plan->rendezvous.backend, agent::Backend::c10d);
    EXPECT_EQ(planned({"--nnodes=2", "--rdzv-endpoint=h", "p"}).plan->rendezvous.backend,
              agent::Backend::fixed_address);
    EXPECT_EQ(planned({"--nnodes=2", "--rdzv-endpoint=h:0", "p"}).error(),
              "--rdzv-endpoint=h:0: expected a fixed port, as the other nodes must know it");
    EXPECT_EQ(planned({"--nnodes=2:3", "--rdzv-endpoint=h:1,[::]:1", "p"}).error(),
              "--rdzv-endpoint=h:1,[::]:1: expected the name or address of one node");
    EXPECT_TRUE(planned({"--nnodes=1:4", "--rdzv-backend=c10d", "--rdzv-endpoint=localhost:0", "p"}).plan);
    EXPECT_EQ(planned({"--nnodes=2", "--rdzv-backend=static", "--rdzv-endpoint=file:///x", "p"}).error(),
              "--rdzv-backend=static: expected c10d with an endpoint that is a folder or etcd");
}

TEST(PlanRendezvous, AnEtcdIsNamedByTheEndpointOrTheBackend) {
    const auto etcd = [](const Words& words, const Deps& machine = small_machine()) {
        const auto result = planned(words, machine);
        EXPECT_TRUE(result.plan) << result.error();
        EXPECT_EQ(result.plan->rendezvous.backend, agent::Backend::c10d);
        EXPECT_EQ(result.plan->rendezvous.node_timeout, 10s);
        return result.plan->rendezvous.endpoints.etcd;
    };
    const std::vector<rendezvous::Endpoint> members{{"e1", 2379}, {"e2", 4}};
    EXPECT_EQ(etcd({"--nnodes=2", "--rdzv-endpoint=etcd://e1,e2:4", "p"}).members, members);
    EXPECT_EQ(etcd({"--nnodes=2", "--rdzv-backend=c10d", "--rdzv-endpoint=etcd://e1,e2:4", "p"}).members, members);
    EXPECT_EQ(etcd({"--nnodes=2", "--rdzv-backend=etcd", "--rdzv-endpoint=e1,e2:4", "p"}).members, members);
    EXPECT_EQ(etcd({"--nnodes=2", "--rdzv-backend=etcd-v2", "--rdzv-endpoint=etcd://e1,e2:4", "p"}).members, members);
    const auto conf = etcd({"--nnodes=2", "--rdzv-endpoint=etcd://e1", "--rdzv-conf=protocol=https,cacert=/ca", "p"},
                           small_machine({{"ETCDCTL_USER", "root:secret"}}));
    EXPECT_TRUE(conf.https);
    EXPECT_EQ(conf.authorities, "/ca");
    EXPECT_EQ(conf.user, "root:secret");
    EXPECT_EQ(conf.prefix, "/dlaunch");
}

TEST(PlanRendezvous, AnEtcdNeedsItsEndpoint) {
    EXPECT_EQ(planned({"--nnodes=2", "--rdzv-backend=etcd", "p"}).error(),
              "--rdzv-backend=etcd: expected --rdzv-endpoint=HOST:PORT, a member of an etcd cluster");
    EXPECT_EQ(planned({"--nnodes=2", "--rdzv-backend=etcd", "--rdzv-endpoint=file:///x", "p"}).error(),
              "--rdzv-backend=etcd: expected --rdzv-endpoint=HOST:PORT, a member of an etcd cluster");
    EXPECT_EQ(planned({"--nnodes=2", "--rdzv-backend=static", "--rdzv-endpoint=etcd://e1", "p"}).error(),
              "--rdzv-backend=static: expected c10d with an endpoint that is a folder or etcd");
}

TEST(PlanRendezvous, NodeTimeoutAndScaleUp) {
    auto timeout = [](const Words& words) { return planned(words).plan->rendezvous.node_timeout; };
    EXPECT_EQ(timeout({"--nnodes=2", "p"}), 5s);
    EXPECT_EQ(timeout({"--nnodes=2", "--rdzv-endpoint=file:///x", "p"}), 10s);
    EXPECT_EQ(timeout({"--nnodes=2", "--node-timeout=2.5", "p"}), 2500ms);
    EXPECT_EQ(timeout({"--nnodes=2", "--rdzv-conf=keep_alive_interval=2", "p"}), 6s);
    EXPECT_EQ(timeout({"--nnodes=2", "--rdzv-conf=keep_alive_max_attempt=2", "p"}), 10s);
    EXPECT_EQ(timeout({"--nnodes=2", "--rdzv-conf=keep_alive_interval=2", "--node-timeout=3", "p"}), 3s);
    EXPECT_EQ(planned({"--node-timeout=1", "p"}).error(), "--node-timeout=1: expected 2 s at least") << "one node";
    EXPECT_EQ(planned({"--nnodes=2", "--node-timeout=1.9", "p"}).error(), "--node-timeout=1.9: expected 2 s at least");
    EXPECT_EQ(
        planned({"--nnodes=2", "--rdzv-conf=keep_alive_interval=0.5", "p"}).error(),
        "--rdzv-conf=keep_alive_interval=0.5: expected keep_alive_interval times keep_alive_max_attempt of 2 s at "
        "least");
    auto policy = [](const Words& words) { return planned(words).plan->rendezvous.scale_up; };
    EXPECT_EQ(policy({"--nnodes=2", "p"}), agent::ScaleUp::immediate);
    EXPECT_EQ(policy({"--nnodes=2", "--scale-up=on-restart", "p"}), agent::ScaleUp::on_restart);
    EXPECT_EQ(policy({"--nnodes=2", "--scale-up=never", "p"}), agent::ScaleUp::never);
}

TEST(PlanRendezvous, SlurmNamesTheNodes) {
    auto expected = [](std::vector<std::pair<std::string, std::string>> environment) {
        return planned({"--nnodes=2:3", "p"}, small_machine(std::move(environment))).plan->rendezvous.expected_hosts;
    };
    EXPECT_EQ(expected({}), Words{});
    EXPECT_EQ(expected({{"SLURM_JOB_NODELIST", "n[1-3]"}}), (Words{"n1", "n2", "n3"}));
    EXPECT_EQ(expected({{"SLURM_JOB_NODELIST", "n[1-9]"}, {"SLURM_STEP_NODELIST", "n[2-4]"}}),
              (Words{"n2", "n3", "n4"}));
    EXPECT_EQ(expected({{"SLURM_JOB_NODELIST", "n[1-9]"}}), Words{}) << "the list does not determine which three";
}

TEST(PlanRendezvous, OneNodeIsStandaloneUnlessGivenAnEndpointOrPort) {
    auto plan = planned({"p"}).plan->rendezvous;
    EXPECT_TRUE(plan.standalone);
    EXPECT_EQ(plan.job_id, "fresh");
    EXPECT_FALSE(plan.master_port);
    EXPECT_EQ(planned({"--rdzv-id=mine", "p"}).plan->rendezvous.job_id, "mine");
    EXPECT_FALSE(planned({"--master-port=1", "p"}).plan->rendezvous.standalone);
    EXPECT_FALSE(planned({"--rdzv-endpoint=h", "p"}).plan->rendezvous.standalone);
}

TEST(PlanRendezvous, StandaloneOverridesTheRest) {
    auto plan = planned({"--standalone", "--rdzv-id=mine", "--rdzv-endpoint=h:1", "--rdzv-backend=static",
                         "--master-port=7", "--node-rank=3", "p"})
                    .plan->rendezvous;
    EXPECT_TRUE(plan.standalone);
    EXPECT_EQ(plan.job_id, "fresh");
    EXPECT_EQ(plan.endpoint, "localhost:0");
    EXPECT_FALSE(plan.master_port);
    EXPECT_FALSE(plan.node_rank);
}

TEST(PlanRendezvous, StaticAddress) {
    auto plan =
        planned({"--master-addr=h", "--master-port=7", "--local-addr=me", "--node-rank=0", "p"}).plan->rendezvous;
    EXPECT_EQ(plan.backend, agent::Backend::fixed_address);
    EXPECT_EQ(plan.master_addr, "h");
    EXPECT_EQ(plan.master_port, 7);
    EXPECT_EQ(plan.local_addr, "me");
    EXPECT_EQ(plan.node_rank, 0);
    EXPECT_EQ(plan.job_id, "fresh");
    auto by_endpoint = planned({"--rdzv-endpoint=[::1]:9", "p"}).plan->rendezvous;
    EXPECT_EQ(by_endpoint.master_addr, "::1");
    EXPECT_EQ(by_endpoint.master_port, 9);
    EXPECT_EQ(planned({"--rdzv-endpoint=h", "p"}).plan->rendezvous.master_port, 29500);
    EXPECT_EQ(planned({"--master-port=7", "p"}).plan->rendezvous.master_addr, "127.0.0.1");
}

TEST(PlanRendezvous, EndpointsAreParsedOnce) {
    auto places = [](const Words& words) { return planned(words).plan->rendezvous.endpoints.places; };
    using Places = std::vector<rendezvous::Endpoint>;
    EXPECT_EQ(places({"--nnodes=2", "--rdzv-backend=c10d", "--rdzv-endpoint=a:1,b", "p"}),
              (Places{{"a", 1}, {"b", 29400}}));
    EXPECT_EQ(places({"--nnodes=2", "--rdzv-endpoint=a:1,b", "p"}), (Places{{"a", 1}}));
    EXPECT_EQ(places({"--nnodes=2", "--master-addr=m", "p"}), (Places{{"m", 29500}}));
    EXPECT_EQ(places({"--nnodes=2", "--master-addr=m", "--master-port=7", "p"}), (Places{{"m", 7}}));
    EXPECT_EQ(planned({"--nnodes=2", "--rdzv-endpoint=file:///x", "p"}).plan->rendezvous.endpoints.folder, "/x");
}

TEST(PlanRendezvous, Times) {
    auto plan = [](const Words& words) { return planned(words).plan->rendezvous; };
    const auto fixed = plan({"--nnodes=2", "--rdzv-conf=timeout=9,read_timeout=2", "p"});
    EXPECT_EQ(fixed.join_timeout, 9s);
    EXPECT_EQ(fixed.answer_timeout, 9s) << "torchrun's static form has no read_timeout";
    const auto elastic = plan({"--nnodes=2", "--rdzv-backend=c10d", "--rdzv-endpoint=h",
                               "--rdzv-conf=timeout=9,read_timeout=2.5,rejoin_timeout=3,last_call_timeout=0", "p"});
    EXPECT_EQ(elastic.join_timeout, 600s);
    EXPECT_EQ(elastic.answer_timeout, 2500ms);
    EXPECT_EQ(elastic.rejoin_timeout, 3s);
    EXPECT_EQ(elastic.last_call, 0s);
    EXPECT_EQ(plan({"--nnodes=2", "--rdzv-conf=join_timeout=7", "p"}).answer_timeout, 7s);
}

TEST(PlanHost, VariablesOfTheAgentArePartOfThePlan) {
    const auto of = [](std::vector<std::pair<std::string, std::string>> environment) {
        return *planned({"--nnodes=2", "p"}, small_machine(std::move(environment))).plan;
    };
    EXPECT_EQ(of({{"SLURM_JOB_ID", "7"}, {"SLURM_PROCID", "3"}}).rendezvous.order_key, "3");
    EXPECT_EQ(of({{"SLURM_PROCID", "3"}}).rendezvous.order_key, "");
    EXPECT_FALSE(of({{"DLAUNCH_NO_CGROUP", "1"}}).use_cgroups);
    EXPECT_TRUE(of({}).use_cgroups);
    EXPECT_TRUE(of({{"NO_COLOR", ""}}).logs.colours);
    EXPECT_FALSE(of({{"NO_COLOR", "1"}}).logs.colours);
    EXPECT_FALSE(of({{"TERM", "dumb"}}).logs.colours);
    const agent::Plan timed = of({{"TORCHELASTIC_ENABLE_FILE_TIMER", "1"}, {"TORCHELASTIC_TIMER_FILE", "/t"}});
    EXPECT_TRUE(timed.timers.enabled);
    EXPECT_EQ(timed.timers.path, "/t");
    EXPECT_FALSE(of({{"TORCHELASTIC_TIMER_FILE", "/t"}}).timers.enabled);
    EXPECT_EQ(of({}).temporary_folder, "/tmp");
    EXPECT_EQ(of({{"TMPDIR", ""}}).temporary_folder, "/tmp");
    EXPECT_EQ(of({{"TMPDIR", "/t"}}).temporary_folder, "/t");
    EXPECT_EQ(of({{"TMPDIR", "t"}}).temporary_folder, std::filesystem::absolute("t"));
}

TEST(PlanProgram, OfOneVariableGivenTwiceTheLastCounts) {
    const auto variables = planned({"--env=A=1", "--env=B=", "--env=A=2", "p"}).plan->contexts[0].program.environment;
    EXPECT_EQ(variables, (agent::Variables{{"A", "2"}, {"B", ""}}));
}

TEST(PlanRendezvous, C10d) {
    auto plan =
        planned({"--rdzv-backend=c10d", "--rdzv-endpoint=h:9", "--rdzv-id=x", "--rdzv-conf=join_timeout=3", "p"})
            .plan->rendezvous;
    EXPECT_EQ(plan.backend, agent::Backend::c10d);
    EXPECT_EQ(plan.endpoint, "h:9");
    EXPECT_EQ(plan.job_id, "x");
    EXPECT_EQ(plan.master_addr, "");
    EXPECT_FALSE(plan.master_port);
    EXPECT_EQ(plan.join_timeout, 3s);
}

TEST(PlanRendezvous, SeveralNodes) {
    EXPECT_EQ(planned({"--nnodes=1:2", "p"}).plan->rendezvous.max_nodes, 2);
    EXPECT_EQ(planned({"--nnodes=2", "--standalone", "p"}).error(), "--nnodes=2: expected one node with --standalone");
    EXPECT_EQ(planned({"--nnodes=2", "--node-rank=2", "p"}).error(),
              "--node-rank=2: expected a rank below 2, the number of nodes");
}

TEST(PlanRanks, ThatDoNotExist) {
    EXPECT_EQ(planned({"--stdin=2", "--nproc-per-node=2", "p"}).error(),
              "--stdin=2: expected a rank below 2, the number of workers");
    EXPECT_EQ(planned({"--wrap=0,5:gdb", "p"}).warnings,
              Words{"--wrap: there is no rank 5 of this program to run under gdb"});
    EXPECT_EQ(planned({"--local-ranks-filter=2,1", "p"}).warnings,
              Words{"--local-ranks-filter=2,1: no worker here has such a local rank, no output is shown"});
    EXPECT_EQ(planned({"--local-ranks-filter=0,1", "p"}).warnings, Words{});
    EXPECT_TRUE(planned({"--wrap=all:gdb", "p"}).warnings.empty());
    const Planned on_two_nodes = planned({"--nnodes=2", "--rdzv-endpoint=h", "--stdin=5", "--wrap=5:gdb", "p"});
    EXPECT_TRUE(on_two_nodes.plan && on_two_nodes.warnings.empty()) << "they may be the other node's";
    EXPECT_TRUE(planned({"-r", "5:1", "p"}).warnings.empty()) << "torchrun takes it silently";
}

TEST(PlanFiles, AreLookedAtBeforeTheJobRuns) {
    Deps machine = small_machine();
    machine.why_not_writable = [](const std::string& path) { return path == "there" ? "it is a directory" : ""; };
    EXPECT_EQ(planned({"--report=there", "p"}, machine).error(),
              "--report=there: expected a file that can be written: it is a directory");
    EXPECT_EQ(planned({"--event-log=there", "p"}, machine).error(),
              "--event-log=there: expected a file that can be written: it is a directory");
    EXPECT_EQ(planned({"--report=fine", "p"}, machine).plan->report_file, "fine");
}

TEST(Plan, CarriesTheRest) {
    auto plan =
        *planned({"--role=r", "--env=A=1", "--chdir=/d", "--max-restarts=3", "--restart-backoff=1:2", "--crash-loop=0",
                  "--stop-signal=INT", "--signals-to-handle=USR1", "--grace=0.5", "--timeout=9", "--event-log=e", "-v",
                  "--log-dir=l", "--tee=1", "--fold", "--rotate=1K:2", "--bind=socket", "--pass-local-rank", "p"},
                 small_machine({{"TORCHELASTIC_ERROR_FILE", "err.json"}}))
             .plan;
    EXPECT_EQ(plan.contexts[0].program.role, "r");
    EXPECT_EQ(plan.contexts[0].program.environment.at(0).second, "1");
    EXPECT_EQ(plan.contexts[0].program.working_directory, "/d");
    EXPECT_EQ(plan.restarts.max_restarts, 3);
    EXPECT_EQ(plan.restarts.first, 1s);
    EXPECT_EQ(plan.restarts.most, 2s);
    EXPECT_EQ(plan.restarts.crash_loop, 0);
    EXPECT_EQ(plan.stop_signal, 2);
    EXPECT_EQ(plan.handled_signals, std::vector<int>{10});
    EXPECT_EQ(plan.handled_signals_text, "USR1");
    EXPECT_EQ(plan.grace, 500ms);
    EXPECT_EQ(plan.timeout, 9s);
    EXPECT_EQ(plan.event_log, "e");
    EXPECT_EQ(plan.verbosity, 1);
    EXPECT_EQ(plan.logs.directory, "l");
    EXPECT_EQ(plan.logs.tee.of(3), 1U);
    EXPECT_TRUE(plan.logs.fold);
    EXPECT_EQ(plan.logs.rotate_bytes, 1024U);
    EXPECT_EQ(plan.logs.rotate_keep, 2);
    EXPECT_EQ(plan.binding, agent::Binding::socket);
    EXPECT_EQ(plan.local_rank_option, "--local-rank");
    EXPECT_EQ(planned({"--pass-local-rank=underscore", "p"}).plan->local_rank_option, "--local_rank");
    EXPECT_EQ(planned({"--pass-local-rank=odd", "p"}).error(), "--pass-local-rank=odd: expected 1, 0 or underscore");
    EXPECT_EQ(planned({"--pass-local-rank", "--use-env", "p"}).plan->local_rank_option, "");
    EXPECT_EQ(planned({"--use-env", "--pass-local-rank", "p"}).plan->local_rank_option, "");
    EXPECT_EQ(planned({"--use-env=0", "--pass-local-rank", "p"}).plan->local_rank_option, "--local-rank");
    EXPECT_EQ(plan.agent_error_file, "err.json");
}

TEST(Plan, AForkIsOfOneStartForAllRanks) {
    EXPECT_TRUE(planned({"--start-method=fork", "./p", "x"}).plan->forks);
    EXPECT_FALSE(planned({"--start-method=fork", "p.py"}).plan->forks) << "as torchrun: no effect on scripts";
    EXPECT_FALSE(planned({"--start-method=forkserver", "./p"}).plan->forks);
    EXPECT_EQ(planned({"--start-method=fork", "--wrap=0:gdb", "./p"}).error(),
              "--start-method=fork: expected spawn with --wrap");
    for (const Words& words : {Words{"--start-method=fork", "./p", "${local_rank}"},
                               Words{"--start-method=fork", "--pass-local-rank", "./p"}})
        EXPECT_NE(planned(words).error().find("arguments contain the local rank"), std::string::npos);
}

TEST(Plan, DefaultsAreThoseOfAPlan) {
    agent::Plan made = *planned({"p"}).plan, bare;
    EXPECT_EQ(made.restarts.first, bare.restarts.first);
    EXPECT_EQ(made.restarts.most, bare.restarts.most);
    EXPECT_EQ(made.restarts.crash_loop, bare.restarts.crash_loop);
    EXPECT_EQ(made.grace, bare.grace);
    EXPECT_EQ(made.timeout, bare.timeout);
    EXPECT_EQ(made.stop_signal, bare.stop_signal);
    EXPECT_EQ(made.logs.rotate_keep, bare.logs.rotate_keep);
    EXPECT_EQ(made.verbosity, bare.verbosity);
}

}  // namespace
}  // namespace dlaunch::launcher
