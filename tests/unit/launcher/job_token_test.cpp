#include "launcher/job_token.hpp"

#include <gtest/gtest.h>

#include "tests/unit/launcher/planned.hpp"

namespace dlaunch::launcher {
namespace {

/// A machine with the token file /secret, which holds "secret-of-the-file".
Deps machine_with_file(std::vector<std::pair<std::string, std::string>> environment = {}) {
    Deps machine = small_machine(std::move(environment));
    machine.read_token = [](const std::string& path) {
        return path == "/secret" ? auth::token_of("secret-of-the-file\n")
                                 : base::Result<auth::TokenPtr>(base::Error{path + ": has mode 0644"});
    };
    return machine;
}

std::string token_of_plan(const Planned& result) {
    if (!result.plan) return result.plan.error().text;
    const auth::TokenPtr& token = result.plan->rendezvous.token;
    return token ? std::string(token->bytes()) : "none";
}

TEST(JobToken, IsNoneByDefault) { EXPECT_EQ(token_of_plan(planned({"p"}, machine_with_file())), "none"); }

TEST(JobToken, TheFileTakesPrecedenceOverTheVariable) {
    Deps machine = machine_with_file();
    machine.token_variable = "secret-of-the-variable";
    EXPECT_EQ(token_of_plan(planned({"p"}, machine)), "secret-of-the-variable");
    EXPECT_EQ(token_of_plan(planned({"--token-file=/secret", "p"}, machine)), "secret-of-the-file");
}

TEST(JobToken, AnErrorNamesFileOrVariable) {
    Deps machine = machine_with_file();
    EXPECT_EQ(planned({"--token-file=/open", "p"}, machine).error(), "/open: has mode 0644");
    machine.token_variable = "fifteen-bytes-x";
    const std::string error = planned({"p"}, machine).error();
    EXPECT_TRUE(error.starts_with("DLAUNCH_TOKEN: has 15 bytes")) << error;
}

TEST(JobToken, NoneIsTheUsersWord) {
    Deps machine = machine_with_file();
    machine.token_variable = "secret-of-the-variable";
    const auto open = planned({"--no-token", "p"}, machine);
    EXPECT_EQ(token_of_plan(open), "none");
    EXPECT_TRUE(open.plan->rendezvous.may_be_open);
    EXPECT_EQ(planned({"--no-token", "--token-file=/secret", "p"}, machine).error(),
              "--no-token: expected no --token-file=/secret beside it");
}

std::string openness(const char* no_token, const char* token_file) {
    Settings settings;
    settings.no_token = true;
    settings.spellings = {{"no-token", no_token}, {"token-file", token_file}};
    const auto result = has_no_token(settings);
    return result ? (*result ? "open" : "closed") : result.error().text;
}

TEST(JobToken, WhatIsTypedCountsMoreThanAVariable) {
    EXPECT_EQ(openness("--no-token", "DLAUNCH_TOKEN_FILE=/secret"), "open");
    EXPECT_EQ(openness("DLAUNCH_NO_TOKEN=1", "--token-file=/secret"), "closed");
    EXPECT_EQ(openness("DLAUNCH_NO_TOKEN=1", "DLAUNCH_TOKEN_FILE=/secret"),
              "DLAUNCH_NO_TOKEN=1: expected no DLAUNCH_TOKEN_FILE=/secret beside it");
}

TEST(JobToken, WorkersInheritNeitherVariable) {
    const auto result =
        planned({"p"}, small_machine({{"DLAUNCH_TOKEN", ""}, {"DLAUNCH_TOKEN_FILE", "/x"}, {"A", "b"}}));
    ASSERT_TRUE(result.plan) << result.error();
    EXPECT_EQ(result.plan->host.environment, (agent::Variables{{"A", "b"}}));
}

TEST(JobToken, ClosesAJobOfSeveralNodes) {
    EXPECT_EQ(token_of_plan(planned({"--nnodes=2", "--token-file=/secret", "p"}, machine_with_file())),
              "secret-of-the-file");
}

TEST(JobToken, ANodeOfAFrontEndHasThatOfItsAgentOnly) {
    Deps machine = machine_with_file();
    machine.token_variable = "secret-of-the-variable";
    machine.node = StartedNode{};
    EXPECT_EQ(token_of_plan(planned({"p"}, machine)), "none");
    machine.node->token = *auth::token_of("secret-of-the-agent");
    EXPECT_EQ(token_of_plan(planned({"p"}, machine)), "secret-of-the-agent");
}

}  // namespace
}  // namespace dlaunch::launcher
