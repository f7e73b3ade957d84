#include "launcher/start/starter_command.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace dlaunch::launcher {
namespace {

using Words = std::vector<std::string>;

StarterPlan plan(Starter kind) {
    return {.kind = kind,
            .own_program = "/here/dlaunch",
            .remote_program = "/opt/some where/dlaunch",
            .addresses = {"10.0.0.1:4000", "127.0.0.1:4000"},
            .key = "secret",
            .glibc = "2.36"};
}

TEST(StarterCommand, ssh_asks_nothing_forwards_nothing_and_passes_the_key_over_its_input) {
    StarterPlan given = plan(Starter::ssh);
    given.extra = {"-p", "2222"};
    const StarterCommand command = starter_command(given, {"nb", "ann"});
    EXPECT_EQ(command.words,
              (Words{"ssh", "-o", "BatchMode=yes", "-o", "RequestTTY=no", "-o", "ForwardAgent=no", "-o",
                     "ForwardX11=no", "-p", "2222", "--", "ann@nb",
                     "exec '/opt/some where/dlaunch' agent --front=10.0.0.1:4000,127.0.0.1:4000 --name=nb --key=-"}));
    EXPECT_EQ(command.input, "secret\n");
}

TEST(StarterCommand, pdsh_uses_ssh_unless_told_otherwise_and_keeps_percent_signs) {
    StarterPlan given = plan(Starter::pdsh);
    given.remote_program = "/opt/100%/dlaunch";
    const StarterCommand command = starter_command(given, {"nb", "ann"}, {.module = {}, .ssh_args = "-F cfg"});
    EXPECT_EQ(command.words, (Words{"pdsh", "-S", "-N", "-l", "ann", "-w", "nb",
                                    "exec '/opt/100%%/dlaunch' agent --front=10.0.0.1:4000,127.0.0.1:4000 --name=nb "
                                    "--key=secret"}));
    EXPECT_EQ(command.variables, (Words{"PDSH_RCMD_TYPE=ssh", "PDSH_SSH_ARGS_APPEND=-oBatchMode=yes -F cfg"}));
    EXPECT_EQ(command.input, "");
    EXPECT_EQ(starter_command(given, {"nb", ""}, {.module = "mrsh", .ssh_args = {}}).variables,
              (Words{"PDSH_SSH_ARGS_APPEND=-oBatchMode=yes"}));
}

TEST(StarterCommand, pdsh_with_exec_gets_words_and_no_shell_command) {
    StarterPlan given = plan(Starter::pdsh);
    given.extra = {"-R", "exec"};
    const Words words = starter_command(given, {"nb", ""}).words;
    EXPECT_EQ(words, (Words{"pdsh", "-S", "-N", "-R", "exec", "-w", "nb", "/opt/some where/dlaunch", "agent",
                            "--front=10.0.0.1:4000,127.0.0.1:4000", "--name=nb", "--key=secret"}));
}

TEST(StarterCommand, the_module_of_pdsh_may_be_joined_to_its_option_or_come_from_the_variable) {
    const auto runs_words = [](Words extra, std::string variable = {}) {
        StarterPlan given = plan(Starter::pdsh);
        given.extra = std::move(extra);
        const StarterCommand command =
            starter_command(given, {"nb", ""}, {.module = std::move(variable), .ssh_args = {}});
        return command.words.back() == "--key=secret";
    };
    EXPECT_TRUE(runs_words({"-Rexec"}));
    EXPECT_TRUE(runs_words({"-bRexec"}));
    EXPECT_TRUE(runs_words({"-t", "5", "-R", "exec"}));
    EXPECT_TRUE(runs_words({}, "exec"));
    EXPECT_TRUE(runs_words({"-u", "3"}, "exec"));
    EXPECT_TRUE(runs_words({"-Rssh", "-Rexec"}, "ssh"));
    EXPECT_FALSE(runs_words({"-R", "ssh"}, "exec"));
    EXPECT_FALSE(runs_words({"-Rssh"}, "exec"));
    EXPECT_FALSE(runs_words({"-l", "exec"}));
    EXPECT_FALSE(runs_words({"-xRexec"}));
    EXPECT_FALSE(runs_words({"-R"}));
    EXPECT_FALSE(runs_words({}, "ssh"));
}

TEST(StarterCommand, a_token_goes_over_the_input_or_lies_in_a_file_on_the_hosts) {
    const auto command = [](Starter kind) {
        StarterPlan given = plan(kind);
        given.key = {};
        given.token_line = "dG9rZW4=";
        given.token_file = "/etc/to ken";
        return kind == Starter::srun ? srun_command(given, {{"nb", ""}}) : starter_command(given, {"nb", ""});
    };
    for (const Starter kind : {Starter::ssh, Starter::srun, Starter::fork}) {
        EXPECT_TRUE(command(kind).words.back().ends_with(" --token=-") || command(kind).words.back() == "--token=-");
        EXPECT_EQ(command(kind).input, "dG9rZW4=\n");
    }
    EXPECT_TRUE(command(Starter::pdsh).words.back().ends_with(" '--token-file=/etc/to ken'"));
    EXPECT_EQ(command(Starter::pdsh).input, "");
    EXPECT_EQ(command(Starter::manual).words.back(), "--token-file=/etc/to ken");
}

TEST(StarterCommand, fork_runs_this_program) {
    const StarterCommand command = starter_command(plan(Starter::fork), {"na", ""});
    EXPECT_EQ(command.words,
              (Words{"/here/dlaunch", "agent", "--front=10.0.0.1:4000,127.0.0.1:4000", "--name=na", "--key=-"}));
    EXPECT_EQ(command.input, "secret\n");
}

TEST(StarterCommand, srun_starts_all_hosts_in_one_step) {
    StarterPlan given = plan(Starter::srun);
    given.extra = {"--mem=0"};
    const StarterCommand command = srun_command(given, {{"n2", ""}, {"n1", ""}});
    EXPECT_EQ(command.words,
              (Words{"srun", "--overlap", "--nodes=2", "--ntasks=2", "--ntasks-per-node=1", "--nodelist=n2,n1",
                     "--kill-on-bad-exit=0", "--cpu-bind=none", "--mpi=none", "--export=ALL", "--mem=0",
                     "/opt/some where/dlaunch", "agent", "--front=10.0.0.1:4000,127.0.0.1:4000", "--key=-"}));
    EXPECT_EQ(command.end_signal, SIGTERM) << "a killed srun leaves its allocation behind";
    EXPECT_EQ(starter_command(plan(Starter::fork), {"na", ""}).end_signal, SIGKILL);
    given.srun_external = true;
    EXPECT_EQ(srun_command(given, {{"n1", ""}}).words[1], "--external-launcher");
}

TEST(StarterCommand, a_copied_program_comes_before_the_key) {
    StarterPlan given = plan(Starter::ssh);
    given.copied_program = std::make_shared<const std::string>("ELF");
    const StarterCommand command = starter_command(given, {"nb", ""});
    EXPECT_EQ(*command.program, "ELF");
    EXPECT_EQ(command.input, "secret\n");
    EXPECT_TRUE(command.words.back().starts_with("exec sh -c '")) << command.words.back();
    EXPECT_NE(command.words.back().find("n=3;"), std::string::npos) << command.words.back();
}

TEST(ShellQuoted, keeps_plain_words_and_quotes_the_rest) {
    EXPECT_EQ(shell_quoted("/usr/bin/a-b_c.d,e:f@g+h=1"), "/usr/bin/a-b_c.d,e:f@g+h=1");
    EXPECT_EQ(shell_quoted(""), "''");
    EXPECT_EQ(shell_quoted("it's $HOME"), "'it'\\''s $HOME'");
}

}  // namespace
}  // namespace dlaunch::launcher
