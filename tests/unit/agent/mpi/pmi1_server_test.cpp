#include "agent/mpi/pmi1_server.hpp"

#include <gtest/gtest.h>

namespace dlaunch::agent {
namespace {

using Kind = Pmi1Action::Kind;
using Strings = std::vector<std::string>;

std::string text_of(const Pmi1Action& action) {
    const std::string rank = std::to_string(action.local_rank);
    switch (action.kind) {
        case Kind::reply: return rank + " <- " + action.text;
        case Kind::fence: return "fence " + action.text;
        case Kind::publish: return rank + " publishes " + action.text + " as " + action.value;
        case Kind::unpublish: return rank + " unpublishes " + action.text;
        case Kind::look_up: return rank + " looks up " + action.text;
        case Kind::fail: return "fail " + rank + " " + action.text + ", " + std::to_string(action.code);
        case Kind::fail_late: return "fail late " + rank + " " + action.text;
        case Kind::notice: return "notice " + action.text;
    }
    return "?";
}

/// Two ranks, 4 and 5 of 6, of a node that has company unless `alone`.
class Pmi1ServerTest : public testing::Test {
protected:
    explicit Pmi1ServerTest(bool alone = true)
        : server({.space = "space_3",
                  .world_size = alone ? 2 : 6,
                  .ranks = {4, 5},
                  .appnums = {0, 1},
                  .mapping = "(vector,(0,3,2))",
                  .alone = alone}) {}

    Strings actions() {
        Strings texts;
        for (const auto& action : server.take_actions()) texts.push_back(text_of(action));
        return texts;
    }
    Strings ask(int local_rank, std::string_view line) {
        server.line(local_rank, line);
        return actions();
    }
    void greet(int local_rank) { ask(local_rank, "cmd=init pmi_version=1 pmi_subversion=1"); }
    std::string get(int local_rank, const std::string& key) {
        const Strings replies = ask(local_rank, "cmd=get kvsname=space_3 key=" + key);
        return replies.size() == 1 ? replies[0] : "?";
    }

    Pmi1Server server;
};

class Pmi1ServerOfManyNodesTest : public Pmi1ServerTest {
protected:
    Pmi1ServerOfManyNodesTest() : Pmi1ServerTest(false) {}
};

TEST_F(Pmi1ServerTest, greets_and_describes_the_world) {
    EXPECT_EQ(ask(0, "cmd=init pmi_version=1 pmi_subversion=2"),
              Strings{"0 <- cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0"});
    EXPECT_EQ(ask(0, "cmd=get_maxes"), Strings{"0 <- cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024"});
    EXPECT_EQ(ask(1, "cmd=get_appnum"), Strings{"1 <- cmd=appnum appnum=1"});
    EXPECT_EQ(ask(1, "cmd=get_my_kvsname"), Strings{"1 <- cmd=my_kvsname kvsname=space_3"});
    EXPECT_EQ(ask(1, "cmd=get_universe_size"), Strings{"1 <- cmd=universe_size size=2"});
    EXPECT_EQ(get(0, "PMI_process_mapping"), "0 <- cmd=get_result rc=0 msg=success value=(vector,(0,3,2))");
    EXPECT_EQ(ask(0, "cmd=finalize"), Strings{"0 <- cmd=finalize_ack"});
}

TEST_F(Pmi1ServerTest, refuses_another_version_with_a_notice) {
    EXPECT_EQ(ask(1, "cmd=init pmi_version=2 pmi_subversion=0"),
              (Strings{"notice rank 5 asks for version 2 of PMI; dlaunch serves version 1",
                       "1 <- cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=-1"}));
}

TEST_F(Pmi1ServerTest, keeps_keys_and_refuses_bad_ones) {
    EXPECT_EQ(ask(0, "cmd=put kvsname=space_3 key=k value=a=b"), Strings{"0 <- cmd=put_result rc=0 msg=success"});
    EXPECT_EQ(get(1, "k"), "1 <- cmd=get_result rc=0 msg=success value=a=b");
    EXPECT_EQ(get(1, "other"), "1 <- cmd=get_result rc=-1 msg=key_other_not_found value=unknown");
    EXPECT_EQ(ask(1, "cmd=get kvsname=another key=k"),
              Strings{"1 <- cmd=get_result rc=-1 msg=key_k_not_found value=unknown"});
    EXPECT_EQ(ask(0, "cmd=put kvsname=another key=k value=x"),
              Strings{"0 <- cmd=put_result rc=-1 msg=unknown_kvsname"});
    EXPECT_EQ(ask(0, "cmd=put kvsname=space_3 value=x"), Strings{"0 <- cmd=put_result rc=-1 msg=no_key_or_value"});
    EXPECT_EQ(ask(0, "cmd=put kvsname=space_3 key=" + std::string(65, 'k') + " value=x"),
              Strings{"0 <- cmd=put_result rc=-1 msg=key_too_long"});
    EXPECT_EQ(ask(0, "cmd=put kvsname=space_3 key=k value=" + std::string(1025, 'v')),
              Strings{"0 <- cmd=put_result rc=-1 msg=value_too_long"});
    EXPECT_EQ(get(0, "k"), "0 <- cmd=get_result rc=0 msg=success value=a=b");
}

TEST_F(Pmi1ServerTest, a_barrier_ends_when_all_are_in) {
    EXPECT_EQ(ask(1, "cmd=barrier_in"), Strings{});
    EXPECT_EQ(ask(0, "cmd=barrier_in"), (Strings{"0 <- cmd=barrier_out", "1 <- cmd=barrier_out"}));
}

TEST_F(Pmi1ServerTest, a_second_entry_waits_for_the_next_barrier) {
    EXPECT_EQ(ask(0, "cmd=barrier_in"), Strings{});
    EXPECT_EQ(ask(0, "cmd=barrier_in"), Strings{});
    EXPECT_EQ(ask(1, "cmd=barrier_in"), (Strings{"0 <- cmd=barrier_out", "1 <- cmd=barrier_out"}));
    EXPECT_EQ(ask(1, "cmd=barrier_in"), (Strings{"0 <- cmd=barrier_out", "1 <- cmd=barrier_out"}));
}

TEST_F(Pmi1ServerTest, an_abort_ends_the_job_even_from_a_barrier) {
    ask(1, "cmd=barrier_in");
    EXPECT_EQ(ask(1, "cmd=abort exitcode=263"), Strings{"fail 1 called MPI_Abort with 263, 7"});
    EXPECT_EQ(ask(1, "cmd=get_maxes"), Strings{});
    EXPECT_EQ(ask(0, "cmd=abort exitcode=256"), Strings{"fail 0 called MPI_Abort with 256, 1"});
}

TEST_F(Pmi1ServerTest, an_abort_without_a_code_is_no_success) {
    EXPECT_EQ(ask(0, "cmd=abort exitcode=x"), Strings{"fail 0 called MPI_Abort, 1"});
}

TEST_F(Pmi1ServerTest, names_are_pending_until_they_are_stored) {
    EXPECT_EQ(ask(0, "cmd=publish_name service=ocean port=tag#0$"), Strings{"0 publishes ocean as tag#0$"});
    EXPECT_EQ(ask(0, "cmd=get_appnum"), Strings{});
    server.stored(0, true);
    EXPECT_EQ(actions(), (Strings{"0 <- cmd=publish_result info=ok rc=0 msg=success", "0 <- cmd=appnum appnum=0"}));
    EXPECT_EQ(ask(1, "cmd=lookup_name service=ocean"), Strings{"1 looks up ocean"});
    server.found(1, "tag#0$");
    EXPECT_EQ(actions(), Strings{"1 <- cmd=lookup_result info=ok rc=0 msg=success port=tag#0$"});
    ask(1, "cmd=lookup_name service=sea");
    server.found(1, std::nullopt);
    EXPECT_EQ(actions(), Strings{"1 <- cmd=lookup_result info=fail rc=1 msg=service_not_found"});
    EXPECT_EQ(ask(0, "cmd=unpublish_name service=ocean"), Strings{"0 unpublishes ocean"});
    server.stored(0, true);
    EXPECT_EQ(actions(), Strings{"0 <- cmd=unpublish_result info=ok rc=0 msg=success"});
    ask(0, "cmd=unpublish_name service=ocean");
    server.stored(0, false);
    EXPECT_EQ(actions(), Strings{"0 <- cmd=unpublish_result info=fail rc=1 msg=service_not_found"});
    ask(0, "cmd=publish_name service=ocean port=there");
    server.stored(0, false);
    EXPECT_EQ(actions(), Strings{"0 <- cmd=publish_result info=fail rc=1 msg=service_already_published"});
    EXPECT_EQ(ask(0, "cmd=publish_name service=ocean"),
              Strings{"0 <- cmd=publish_result info=fail rc=1 msg=bad_name_or_port"});
}

TEST_F(Pmi1ServerTest, spawn_is_refused_after_its_last_part) {
    for (const char* line : {"mcmd=spawn", "nprocs=1", "execname=/bin/a b", "totspawns=2", "spawnssofar=1", "endcmd",
                             "mcmd=spawn", "totspawns=2", "spawnssofar=2"})
        EXPECT_EQ(ask(0, line), Strings{});
    EXPECT_EQ(ask(0, "endcmd"), (Strings{"notice rank 4 called MPI_Comm_spawn, which dlaunch does not offer: start all "
                                         "programs at once, as in a : b",
                                         "0 <- cmd=spawn_result rc=-1 msg=spawn_is_not_supported"}));
    EXPECT_EQ(ask(0, "cmd=get_appnum"), Strings{"0 <- cmd=appnum appnum=0"});
}

TEST_F(Pmi1ServerTest, an_unknown_request_is_answered_and_garbage_is_a_failure) {
    EXPECT_EQ(ask(0, "cmd=make_coffee"), Strings{"0 <- cmd=error rc=-1 msg=unknown_command"});
    EXPECT_EQ(ask(0, "GET / HTTP/1.1\r"), Strings{"fail 0 sent no PMI-1 request but \"GET / HTTP/1.1\\x0d\", 1"});
    EXPECT_EQ(ask(0, "GET / HTTP/1.1\r"), Strings{});
    EXPECT_EQ(ask(1, std::string(30, 'x')),
              Strings{"fail 1 sent no PMI-1 request but \"" + std::string(24, 'x') + "...\", 1"});
}

TEST_F(Pmi1ServerTest, requests_behind_a_barrier_are_bounded) {
    ask(0, "cmd=barrier_in");
    Strings seen;
    for (int count = 0; count < 5000 && seen.empty(); ++count) seen = ask(0, "cmd=get_maxes");
    EXPECT_EQ(seen, Strings{"fail 0 sent more than PMI-1 allows without an end of line or a reply, 1"});
}

TEST_F(Pmi1ServerTest, an_end_before_finalize_is_a_failure) {
    greet(0);
    const auto verdict = server.ended(0, 0);
    ASSERT_TRUE(verdict);
    EXPECT_EQ(verdict->text, "exited with 0 before MPI_Finalize");
    EXPECT_EQ(verdict->code, 1);
}

TEST_F(Pmi1ServerTest, a_second_program_of_a_script_owes_its_own_finalize) {
    greet(0);
    ask(0, "cmd=finalize");
    greet(0);
    EXPECT_TRUE(server.ended(0, 0));
}

TEST_F(Pmi1ServerTest, other_ends_are_judged_by_their_status) {
    greet(0);
    EXPECT_FALSE(server.ended(0, 5));
    greet(1);
    ask(1, "cmd=finalize");
    EXPECT_FALSE(server.ended(1, 0));
    EXPECT_EQ(actions(), Strings{});
}

TEST_F(Pmi1ServerTest, who_never_speaks_owes_nothing) {
    EXPECT_FALSE(server.ended(0, 0));
    EXPECT_FALSE(server.ended(1, 0));
    EXPECT_EQ(actions(), Strings{});
}

TEST_F(Pmi1ServerTest, a_barrier_without_an_ended_rank_is_its_failure) {
    EXPECT_FALSE(server.ended(0, 0));
    EXPECT_EQ(ask(1, "cmd=barrier_in"), Strings{"fail 0 exited with 0 without MPI_Init, 1"});
}

TEST_F(Pmi1ServerTest, an_end_while_another_rank_waits_is_a_failure) {
    ask(1, "cmd=barrier_in");
    greet(0);
    ask(0, "cmd=finalize");
    EXPECT_FALSE(server.ended(0, 0));
    EXPECT_EQ(actions(), Strings{"fail 0 exited with 0 while ranks wait for it in MPI, 1"});
}

TEST_F(Pmi1ServerOfManyNodesTest, a_barrier_shares_the_new_keys) {
    ask(0, "cmd=put kvsname=space_3 key=a value=1=2");
    ask(0, "cmd=barrier_in");
    EXPECT_EQ(ask(1, "cmd=barrier_in"), Strings{"fence a=1=2\n"});
    server.fenced({"b=7\nc=8\n", "", "a=1=2\n"});
    EXPECT_EQ(actions(), (Strings{"0 <- cmd=barrier_out", "1 <- cmd=barrier_out"}));
    EXPECT_EQ(get(0, "c"), "0 <- cmd=get_result rc=0 msg=success value=8");
    EXPECT_EQ(get(1, "a"), "1 <- cmd=get_result rc=0 msg=success value=1=2");
    ask(0, "cmd=barrier_in");
    EXPECT_EQ(ask(1, "cmd=barrier_in"), Strings{"fence "});
}

TEST_F(Pmi1ServerOfManyNodesTest, a_rank_that_left_early_fails_when_another_node_waits) {
    EXPECT_FALSE(server.ended(1, 0));
    EXPECT_EQ(actions(), Strings{"fence gone 5"});
    server.fenced({"gone 0", "k=1\n", "gone 5"});
    EXPECT_EQ(actions(), Strings{"fail 1 exited with 0 without MPI_Init, 1"});
}

TEST_F(Pmi1ServerOfManyNodesTest, nobody_waits_for_ranks_without_mpi) {
    EXPECT_FALSE(server.ended(1, 0));
    EXPECT_FALSE(server.ended(0, 0));
    EXPECT_EQ(actions(), Strings{"fence gone 5"});
    server.fenced({"gone 0", "gone 2", "gone 5"});
    EXPECT_EQ(actions(), Strings{});
}

TEST_F(Pmi1ServerOfManyNodesTest, a_node_that_waits_gives_the_other_time_to_report) {
    ask(0, "cmd=barrier_in");
    ask(1, "cmd=barrier_in");
    actions();
    server.fenced({"", "", "gone 1"});
    EXPECT_EQ(actions(), Strings{"fail late 0 waits for rank 1, which exited with 0 without MPI_Init"});
}

}  // namespace
}  // namespace dlaunch::agent
