/// Late and missing messages, and their errors.

#include <unistd.h>

#include <csignal>
#include <thread>

#include "tests/conformance/world.hpp"

namespace dlaunch::conformance {
namespace {

using namespace std::chrono_literals;

using MessageFaultsTest = Everywhere;
INSTANTIATE_TEST_SUITE_P(, MessageFaultsTest, testing::ValuesIn(cases({3})), name_of);

std::vector<char> more_than_any_buffer_holds() { return std::vector<char>(16 << 20); }

/// Runs `what` on rank 0 while the other ranks idle.
void at_rank_0(const ProcessGroup& world, const std::function<void()>& what) {
    if (world.rank() > 0) return (void)world.store().get("done");
    what();
    world.store().set("done", "yes");
}

/// Checks that the text of the time-out contains at least the time that the call has waited.
void expect_waited(const Error& error, double milliseconds) {
    const std::string text = error.what();
    const std::size_t at = text.find("waited ");
    check(at != std::string::npos, text);
    std::size_t unit = 0;
    const double waited = std::stod(text.substr(at + 7), &unit) * (text.substr(at + 7 + unit, 3) == " ms" ? 1 : 1000);
    check(waited >= milliseconds, text);
}

/// The sender may complete its send only after the receiver has left.
TEST_P(MessageFaultsTest, a_receiver_leaves_as_soon_as_it_has_the_message) {
    run([](const ProcessGroup& world) {
        for (int times = 0; times < 100; ++times) {
            const ProcessGroup group = world.new_group({0, 1, 2});
            std::array<int, 3> there{}, back{};
            std::vector<Work> works;
            for (const int peer : {(world.rank() + 1) % 3, (world.rank() + 2) % 3}) {
                works.push_back(group.irecv(back[static_cast<std::size_t>(peer)], peer));
                works.push_back(group.isend(there[static_cast<std::size_t>(peer)], peer));
            }
            wait_all(works);
        }
    });
}

TEST_P(MessageFaultsTest, a_send_behind_another_has_its_own_time_out) {
    run([](const ProcessGroup& world) {
        at_rank_0(world, [&] {
            const std::vector<char> large = more_than_any_buffer_holds();
            const auto begin = std::chrono::steady_clock::now();
            Work before = world.isend(large, 1, {.timeout = 10s});
            expect_waited(expect_error(ErrorCode::timeout, {1}, [&] { world.send(7, 1, {.timeout = 100ms}); }), 100);
            check(std::chrono::steady_clock::now() - begin < 10s, "it waited for the other's time-out");
            check(!before.done(), "the other has ended, too");
            ProcessGroup(world).abort();
            expect_error(ErrorCode::aborted, [&] { before.wait(); });
        });
    });
}

TEST_P(MessageFaultsTest, done_reports_a_time_out) {
    run([](const ProcessGroup& world) {
        at_rank_0(world, [&] {
            const std::vector<char> large = more_than_any_buffer_holds();
            int value = 0;
            Work works[] = {world.irecv(value, 1, {.timeout = 100ms}),
                            world.irecv(value, kAnySource, {.timeout = 100ms}),
                            world.isend(large, 1, {.timeout = 100ms}), world.isend(value, 1, {.timeout = 100ms})};
            for (Work& work : works) {
                while (!work.done()) std::this_thread::yield();
                expect_waited(expect_error(ErrorCode::timeout, [&] { work.wait(); }), 100);
            }
        });
    });
}

TEST_P(MessageFaultsTest, messages_with_lost_ranks) {
    run_world(3, WorldOptions{.backend = GetParam().backend, .dead = {1, 2}}, [](const ProcessGroup& world) {
        if (world.rank() > 0) {
            (void)world.store().get("go");
            raise(SIGKILL);
        }
        int value = 0;
        Work receiving = world.irecv(value);
        world.store().set("go", "now");
        expect_error(ErrorCode::peer_lost, [&] { receiving.wait(); });
        for (const int lost : {1, 2}) {
            check(expect_error(ErrorCode::peer_lost, {lost}, [&] { world.recv(value, lost); }).op() == "recv", "recv");
            const Error error = expect_error(ErrorCode::peer_lost, {lost}, [&] { world.send(value, lost); });
            check(error.op() == "send" && std::string(error.what()).starts_with("send in group"), error.what());
        }
        expect_error(ErrorCode::peer_lost, [&] { world.recv(value); });
    });
}

}  // namespace
}  // namespace dlaunch::conformance
