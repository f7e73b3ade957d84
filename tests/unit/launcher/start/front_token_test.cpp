#include "launcher/start/front_token.hpp"

#include <gtest/gtest.h>

#include "tests/unit/launcher/deps_for_tests.hpp"

namespace dlaunch::launcher {
namespace {

struct Chosen {
    base::Result<FrontToken> token;
    std::vector<std::string> warnings = {};

    [[nodiscard]] std::string text() const {
        if (!token) return token.error().text;
        return (token->token ? std::string(token->token->bytes()) : "none") + " " + token->file;
    }
};

/// `given`: the user's token; null: none. `file`: of --token-file.
Chosen chosen(Starter starter, const char* given = nullptr, const std::string& file = {},
              const std::string& address = {}) {
    Deps machine = small_machine();
    machine.current_folder = [] { return std::string("/home/you"); };
    machine.fresh_token = [] { return auth::token_of("a-fresh-random-token"); };
    Settings settings;
    settings.hosts.starter = starter;
    settings.token_file = file;
    agent::RendezvousPlan job;
    if (given) job.token = *auth::token_of(given);
    job.local_addr = address;
    std::vector<std::string> warnings;
    auto token = front_token(settings, machine, job, warnings);
    return {std::move(token), std::move(warnings)};
}

TEST(FrontToken, IsMadeWhereTheLauncherPassesInput) {
    for (const Starter starter : {Starter::ssh, Starter::srun, Starter::fork}) {
        EXPECT_EQ(chosen(starter).text(), "a-fresh-random-token ");
        EXPECT_FALSE(chosen(starter).token->is_of_user);
        EXPECT_TRUE(chosen(starter, "the-token-of-the-user").token->is_of_user);
        EXPECT_TRUE(chosen(starter).warnings.empty());
        EXPECT_EQ(chosen(starter, "the-token-of-the-user", "file").text(), "the-token-of-the-user ");
    }
}

TEST(FrontToken, LiesInAFileOnTheHostsElsewhere) {
    EXPECT_EQ(chosen(Starter::pdsh, "the-token-of-the-user", "/etc/token").text(), "the-token-of-the-user /etc/token");
    EXPECT_EQ(chosen(Starter::manual, "the-token-of-the-user", "to ken").text(),
              "the-token-of-the-user /home/you/to ken");
    EXPECT_EQ(chosen(Starter::pdsh, "the-token-of-the-user").text(),
              "DLAUNCH_TOKEN: pdsh passes no input to the agents, expected --token-file=FILE with a token file at the "
              "same path on every host");
}

TEST(FrontToken, AWarningSaysHowAnOpenJobIsClosed) {
    const Chosen open = chosen(Starter::pdsh);
    EXPECT_EQ(open.text(), "none ");
    ASSERT_EQ(open.warnings.size(), 1U);
    EXPECT_NE(open.warnings[0].find("because pdsh passes no input"), std::string::npos);
    EXPECT_NE(open.warnings[0].find("--token-file"), std::string::npos);
    EXPECT_TRUE(chosen(Starter::manual, nullptr, {}, "127.0.0.1").warnings.empty());
}

TEST(FrontToken, IsNotMadeAgainstTheUsersWord) {
    Deps machine = small_machine();
    machine.fresh_token = [] { return auth::token_of("a-fresh-random-token"); };
    agent::RendezvousPlan job;
    job.may_be_open = true;
    std::vector<std::string> warnings;
    EXPECT_EQ(front_token({}, machine, job, warnings)->token, nullptr);
    EXPECT_TRUE(warnings.empty());
}

TEST(FrontToken, AHostWithoutOpenSslHasAnOpenJobAndAWarning) {
    Deps machine = small_machine();
    machine.fresh_token = [] { return base::Result<auth::TokenPtr>(base::Error{"a token needs libssl.so.3"}); };
    std::vector<std::string> warnings;
    const auto token = front_token({}, machine, {}, warnings);
    ASSERT_TRUE(token);
    EXPECT_EQ(token->token, nullptr);
    EXPECT_EQ(warnings, std::vector<std::string>{
                            "the job is open to everybody who reaches this host: a token needs libssl.so.3"});
}

}  // namespace
}  // namespace dlaunch::launcher
