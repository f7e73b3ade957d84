#include "agent/mpi/published_names.hpp"

#include <gtest/gtest.h>

#include <set>

#include "rendezvous/base/listener.hpp"
#include "rendezvous/store/server/threaded_server.hpp"
#include "tests/support/agent/turn.hpp"

namespace dlaunch::agent {
namespace {

using std::chrono::milliseconds;
using Use = PublishedNames::Use;

class PublishedNamesTest : public testing::Test {
protected:
    Assignment round() const {
        Assignment round;
        round.master_addr = "127.0.0.1";
        round.master_port = server->port();
        return round;
    }
    PublishedNames::Done note_done() {
        return [this](const base::Result<bool>& done) { results.emplace_back(!done ? "error" : *done ? "yes" : "no"); };
    }
    PublishedNames::Found note() {
        return [this](const base::Result<std::optional<std::string>>& found) {
            results.push_back(found ? found->value_or("none") : "error");
        };
    }
    void await_results(std::size_t count) {
        while (results.size() < count) await_callback(loop);
    }
    /// Waits for the callback of another call, which comes after all that was sent to the store before.
    void let_calls_pass() {
        bool passed = false;
        two.look_up(9, "other", [&](const auto&) { passed = true; });
        while (!passed) await_callback(loop);
    }

    base::Loop loop;
    std::unique_ptr<store::ThreadedServer> server =
        *store::ThreadedServer::adopt(std::move(store::open_listener("127.0.0.1", 0)->socket));
    PublishedNames one{loop, round()}, two{loop, round()};  ///< of two nodes
    std::vector<std::string> results;
};

TEST_F(PublishedNamesTest, a_name_is_seen_on_all_nodes_until_it_is_unpublished) {
    one.publish(1, "sea", "port", Use::always, note_done());
    await_results(1);
    for (int count = 0; count < 2; ++count) two.look_up(2, "sea", note());
    two.unpublish(2, "sea", note_done());
    two.unpublish(2, "sea", note_done());
    two.look_up(2, "sea", note());
    await_results(6);
    EXPECT_EQ(results, (std::vector<std::string>{"yes", "port", "port", "yes", "no", "none"}));
}

TEST_F(PublishedNamesTest, a_value_may_be_unpublished_by_its_beginning) {
    one.publish(1, "sea", "1 port", Use::always, note_done());
    await_results(1);
    two.unpublish_if(2, "sea", "2 ", note_done());
    two.unpublish_if(2, "lake", "2 ", note_done());
    two.look_up(2, "sea", note());
    await_results(4);
    one.unpublish_if(1, "sea", "1 ", note_done());
    await_results(5);
    one.look_up(1, "sea", note());
    await_results(6);
    EXPECT_EQ(results, (std::vector<std::string>{"yes", "no", "no", "1 port", "yes", "none"}));
}

TEST_F(PublishedNamesTest, a_name_has_one_value) {
    one.publish(1, "sea", "port", Use::always, note_done());
    one.publish(1, "sea", "other", Use::always, note_done());
    one.look_up(1, "sea", note());
    await_results(3);
    EXPECT_EQ(results, (std::vector<std::string>{"yes", "no", "port"}));
}

TEST_F(PublishedNamesTest, a_rank_waits_for_a_name) {
    two.await(2, "sea", {}, note());
    let_calls_pass();
    EXPECT_TRUE(results.empty());
    one.publish(1, "sea", "port", Use::always, [](const auto&) {});
    await_results(1);
    EXPECT_EQ(results, std::vector<std::string>{"port"});
}

TEST_F(PublishedNamesTest, a_wait_may_have_a_limit) {
    one.await(1, "sea", milliseconds(1), note());
    await_results(1);
    EXPECT_EQ(results, std::vector<std::string>{"none"});
}

TEST_F(PublishedNamesTest, a_value_of_single_use_is_found_once) {
    one.publish(1, "sea", "port", Use::once, note_done());
    await_results(1);
    one.look_up(1, "sea", note());
    one.look_up(1, "sea", note());
    await_results(3);
    EXPECT_EQ(results, (std::vector<std::string>{"yes", "port", "none"}));
}

TEST_F(PublishedNamesTest, values_of_single_use_follow_each_other) {
    one.publish(1, "sea", "first", Use::once, note_done());
    await_results(1);
    one.look_up(1, "other", [](const auto&) {});  // its turn is over
    two.publish(2, "sea", "second", Use::once, note_done());
    let_calls_pass();
    EXPECT_EQ(results.size(), 1U) << "the first value was not found yet";
    one.await(1, "sea", {}, note());
    await_results(3);
    one.await(1, "sea", {}, note());
    await_results(4);
    EXPECT_EQ(results, (std::vector<std::string>{"yes", "first", "yes", "second"}));
}

TEST_F(PublishedNamesTest, ranks_take_turns_until_their_next_call_ends) {
    one.publish(1, "connect", "by 1", Use::once, note_done());
    await_results(1);
    one.await(1, "accept", {}, note());
    two.publish(2, "connect", "by 2", Use::once, note_done());
    two.await(3, "connect", {}, note());
    await_results(2);
    EXPECT_EQ(results[1], "by 1");
    bool over = false;
    const auto attempts = loop.after(milliseconds(60), [&] { over = true; });  // rank 2 makes two or three
    while (!over) await_callback(loop);
    EXPECT_EQ(results.size(), 2U) << "rank 1 still waits";
    two.publish(3, "accept", "by 3", Use::once, [](const auto&) {});
    await_results(4);
    EXPECT_EQ((std::set<std::string>{results[2], results[3]}), (std::set<std::string>{"by 3", "yes"}));
}

TEST_F(PublishedNamesTest, each_of_two_waiting_ranks_finds_its_own) {
    one.await(1, "sea", {}, note());
    two.await(2, "sea", {}, note());
    one.publish(3, "sea", "first", Use::once, [](const auto&) {});
    one.publish(3, "sea", "second", Use::once, [](const auto&) {});
    await_results(2);
    EXPECT_EQ((std::set<std::string>{results[0], results[1]}), (std::set<std::string>{"first", "second"}));
}

}  // namespace
}  // namespace dlaunch::agent
