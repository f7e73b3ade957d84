/// Mismatching calls; late, dead and missing ranks. Every rank gets an Error, and no rank hangs.

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <numeric>
#include <optional>
#include <thread>

#include "tests/conformance/reference.hpp"
#include "tests/conformance/world.hpp"

namespace dlaunch::conformance {
namespace {

using FaultsTest = Everywhere;
INSTANTIATE_TEST_SUITE_P(, FaultsTest, testing::ValuesIn(cases({2, 3, 5})), name_of);

using Calls = std::vector<std::pair<const char*, std::function<void(const ProcessGroup&)>>>;

/// Every collective with valid arguments.
Calls one_of_each() {
    static std::vector<float> in, out;
    const auto sized = [](const ProcessGroup& world, std::size_t i, std::size_t o) {
        in.assign(i * static_cast<std::size_t>(world.size()) / 2, 1);
        out.assign(o * static_cast<std::size_t>(world.size()) / 2, 1);
    };
    return {
        {"barrier", [](const ProcessGroup& w) { w.barrier(); }},
        {"broadcast", [=](const ProcessGroup& w) { sized(w, 2, 2), w.broadcast(out); }},
        {"reduce", [=](const ProcessGroup& w) { sized(w, 2, 2), w.reduce(out); }},
        {"all_reduce", [=](const ProcessGroup& w) { sized(w, 2, 2), w.all_reduce(out); }},
        {"all_reduce, large", [=](const ProcessGroup& w) { out.assign(300000, 1), w.all_reduce(out); }},
        {"gather", [=](const ProcessGroup& w) { sized(w, 2, 2), w.gather(1.0F, out); }},
        {"scatter",
         [=](const ProcessGroup& w) { sized(w, 2, 2), w.scatter(out, MutableBuffer(in.data(), 1, DType::float32)); }},
        {"all_gather", [=](const ProcessGroup& w) { sized(w, 2, 2), w.all_gather(1.0F, out); }},
        {"reduce_scatter",
         [=](const ProcessGroup& w) {
             sized(w, 2, 2), w.reduce_scatter(out, MutableBuffer(in.data(), 1, DType::float32));
         }},
        {"all_to_all", [=](const ProcessGroup& w) { sized(w, 2, 2), w.all_to_all(in, out); }},
    };
}

TEST_P(FaultsTest, mismatching_calls_are_named_on_all_ranks) {
    run([](const ProcessGroup& world) {
        const int odd = world.size() - 1;
        const bool is_odd = world.rank() == odd;
        const auto differ = [&](const std::function<void()>& usual, const std::function<void()>& other) {
            const Error error = expect_error(ErrorCode::mismatch, {0, odd}, is_odd ? other : usual);
            check(error.sequence() > 0 && error.group() == "world", "where the error was");
            float one = 1;  // the group remains usable
            world.all_reduce(one);
            check(one == static_cast<float>(world.size()), "the call after a mismatch");
        };
        std::vector<float> data(world.size() * 10ULL), ten(10), large(100000);
        std::vector<std::int32_t> others(10);
        const std::span<float> eleven(data.data(), world.size() * 1ULL);
        differ([&] { world.all_reduce(ten); }, [&] { world.all_reduce(std::span(ten).first(9)); });
        differ([&] { world.all_reduce(ten); }, [&] { world.all_reduce(large); });
        differ([&] { world.all_reduce(ten); }, [&] { world.all_reduce(others); });
        differ([&] { world.all_reduce(ten); }, [&] { world.all_reduce(ten, ReduceOp::max()); });
        differ([&] { world.all_reduce(ten, ReduceOp::premul_sum(2)); },
               [&] { world.all_reduce(ten, ReduceOp::premul_sum(3)); });
        differ([&] { world.broadcast(ten, 0); }, [&] { world.broadcast(ten, 1); });
        differ([&] { world.reduce(large, 0); }, [&] { world.reduce(large, 1); });
        differ([&] { world.barrier(); }, [&] { world.all_reduce(ten); });
        differ([&] { world.all_gather(ten, data); },
               [&] { world.all_to_all(data, MutableBuffer(large.data(), data.size(), DType::float32)); });
        differ([&] { world.reduce_scatter(data, ten); }, [&] { world.scatter(data, ten, 0); });
        differ([&] { world.gather(ten, data, 0); }, [&] { world.gather(1.0F, eleven, 0); });
    });
}

TEST_P(FaultsTest, mismatching_counts_of_all_to_allv) {
    run([](const ProcessGroup& world) {
        const auto ranks = static_cast<std::size_t>(world.size());
        std::vector<std::size_t> ones(ranks, 1), twos = ones;
        if (world.rank() == 0) twos[1] = 2;
        std::vector<int> in(ranks + (world.rank() == 0 ? 1 : 0)), out(ranks), gathered(ranks);
        const Error error = expect_error(ErrorCode::mismatch, {0, 1}, [&] { world.all_to_allv(in, twos, out, ones); });
        std::vector<std::size_t> others = ones;
        if (world.rank() == 1) others[0] = 0;
        std::vector<int> fewer(std::accumulate(others.begin(), others.end(), std::size_t{0}));
        expect_error(ErrorCode::mismatch, {0, 1}, [&] { world.all_gatherv(1, fewer, others); });
        world.all_gather(world.rank(), gathered);
        check(gathered.back() == world.size() - 1, "the call after a mismatch");
    });
}

TEST_P(FaultsTest, late_rank_is_named_and_the_group_ends) {
    run([](const ProcessGroup& world) {
        const int late = world.size() - 1;
        const Store store = world.store();
        float one = 1;
        if (world.rank() == late) {
            for (int r = 0; r < late; ++r) (void)Store(store).get("gave up " + std::to_string(r));
            expect_error(ErrorCode::timeout, {late}, [&] { world.all_reduce(one); });
        } else {
            const Error error = expect_error(ErrorCode::timeout, {late}, [&] {
                world.all_reduce(one, ReduceOp::sum(), {.timeout = std::chrono::milliseconds(100)});
            });
            check(error.op() == "all_reduce" && error.sequence() == 1, "which call it was");
            Store(store).set("gave up " + std::to_string(world.rank()), "yes");
        }
        expect_error(ErrorCode::aborted, [&] { world.barrier(); });
        expect_error(ErrorCode::aborted, [&] { world.send(one, 0); });
        std::vector<int> all(static_cast<std::size_t>(world.size()));
        std::iota(all.begin(), all.end(), 0);
        const ProcessGroup again = world.new_group(all);
        again.all_reduce(one);
        check(one == static_cast<float>(world.size()), "the group made afterwards");
    });
}

TEST_P(FaultsTest, killed_rank_is_named_at_once_in_every_call) {
    for (std::size_t i = 0; i < one_of_each().size(); ++i) {
        SCOPED_TRACE(one_of_each()[i].first);
        const int lost = GetParam().ranks - 1;
        run_world(
            GetParam().ranks, WorldOptions{.backend = GetParam().backend, .dead = {lost}},
            [&](const ProcessGroup& world) {
                world.barrier();
                await_all(world);
                if (world.rank() == lost) raise(SIGKILL);
                const auto begin = std::chrono::steady_clock::now();
                expect_error(ErrorCode::peer_lost, {lost}, [&] {
                    for (;;)
                        one_of_each()[i].second(world);  // a call that needs no data of the killed rank may succeed
                });
                check(std::chrono::steady_clock::now() - begin < std::chrono::seconds(5), "it took a time-out");
            });
    }
}

TEST_P(FaultsTest, killed_rank_ends_messages) {
    const int lost = GetParam().ranks - 1;
    run_world(GetParam().ranks, WorldOptions{.backend = GetParam().backend, .dead = {lost}},
              [&](const ProcessGroup& world) {
                  std::vector<float> large(1 << 20);
                  if (world.rank() == lost) {
                      world.send(7, 0);  // its last message still arrives
                      (void)world.store().get("go");
                      raise(SIGKILL);
                  }
                  if (world.rank() != 0) return;
                  int value = 0;
                  Work receiving = world.irecv(large, lost, {.tag = 5});
                  // Shared memory keeps the message; Gloo may drop unread data when a connection closes.
                  const bool over_memory = world.backend() == "shm";
                  if (!over_memory) world.recv(value, lost);
                  world.store().set("go", "now");
                  expect_error(ErrorCode::peer_lost, {lost}, [&] { receiving.wait(); });
                  if (over_memory) world.recv(value, lost);
                  check(value == 7, "what was sent before");
                  expect_error(ErrorCode::peer_lost, {lost}, [&] { world.recv(value, lost); });
                  expect_error(ErrorCode::peer_lost, {lost}, [&] { world.send(large, lost); });
              });
}

/// Kills a process when `data` has arrived partly, while the rest is still in transit.
class Assassin {
public:
    Assassin(const std::vector<char>& data, pid_t target)
        : thread_([&data, target] {
              while (*static_cast<const volatile char*>(data.data()) == 0) std::this_thread::yield();
              kill(target, SIGKILL);
          }) {}
    ~Assassin() { thread_.join(); }
    Assassin(const Assassin&) = delete;
    Assassin& operator=(const Assassin&) = delete;

private:
    std::thread thread_;
};

std::vector<Case> each_transport(int ranks) {
    std::vector<Case> all = cases({ranks});
    std::erase_if(all, [](const Case& one) { return one.backend != "shm" && one.backend != "gloo"; });
    return all;
}
using AmidDataTest = Everywhere;
INSTANTIATE_TEST_SUITE_P(, AmidDataTest, testing::ValuesIn(each_transport(2)), name_of);

/// Rank 0 sends to rank 1; one of them is killed during the transfer, or during a later one if the killing thread does
/// not run meanwhile.
void kill_amid_data(const std::string& backend, int lost,
                    const std::function<void(const ProcessGroup&, std::vector<char>&)>& transfer) {
    run_world(2, WorldOptions{.backend = backend, .dead = {lost}}, [&](const ProcessGroup& world) {
        Store store = world.store();
        if (world.rank() == 0) store.set("pid", std::to_string(getpid()));
        std::vector<char> data(std::size_t{256} << 20, world.rank() == 0 ? 'x' : 0);
        const auto begin = std::chrono::steady_clock::now();
        std::optional<Assassin> assassin;
        if (world.rank() == 1) assassin.emplace(data, lost == 1 ? getpid() : std::stoi(store.get("pid")));
        expect_error(ErrorCode::peer_lost, {lost}, [&] {
            for (int n = 0; n < 20; ++n) transfer(world, data);
        });
        check(std::chrono::steady_clock::now() - begin < std::chrono::seconds(10), "it took a time-out");
    });
}

TEST_P(AmidDataTest, ends_the_other_ranks_calls_at_once) {
    for (const int lost : {0, 1}) {
        SCOPED_TRACE(lost);
        kill_amid_data(GetParam().backend, lost,
                       [](const ProcessGroup& world, std::vector<char>& data) { world.broadcast(data, 0); });
        kill_amid_data(GetParam().backend, lost, [](const ProcessGroup& world, std::vector<char>& data) {
            world.rank() == 0 ? world.send(data, 1) : (void)world.recv(data, 0);
        });
    }
}

using OneTransportTest = Everywhere;
INSTANTIATE_TEST_SUITE_P(, OneTransportTest, testing::ValuesIn(each_transport(4)), name_of);

/// A rank that arrives after the time-out reports the missing ranks that the waiting ranks have found.
TEST_P(OneTransportTest, all_late_ranks_are_named_to_a_rank_that_arrives_after_the_time_out) {
    run([](const ProcessGroup& world) {
        Store store = world.store();
        if (world.rank() == 1 || world.rank() == 2) return (void)store.get("informed");
        if (world.rank() == 3) (void)store.get("gave up");
        const auto began = std::chrono::steady_clock::now();
        const Error error = expect_error(ErrorCode::timeout, [&] {
            world.barrier({.timeout = std::chrono::milliseconds(world.rank() == 0 ? 100 : 60'000)});
        });
        check(std::chrono::steady_clock::now() < began + std::chrono::seconds(20), "it took its own time-out");
        const std::vector<int> late = world.rank() == 0 ? std::vector{1, 2, 3} : std::vector{1, 2};
        check(std::ranges::includes(error.ranks(), late), error.what());
        store.set(world.rank() == 0 ? "gave up" : "informed", "yes");
    });
}

/// Each backend only once, because time-outs take long.
std::vector<Case> each_backend() {
    std::vector<Case> all = cases({3});
    std::erase_if(all, [](const Case& one) { return one.backend == "auto"; });  // auto is shm on one host
    return all;
}
using StoppedRankTest = Everywhere;
INSTANTIATE_TEST_SUITE_P(, StoppedRankTest, testing::ValuesIn(each_backend()), name_of);

/// Each call uses a new group, because a time-out ends the group; the running ranks start each call together.
TEST_P(StoppedRankTest, is_named_after_the_time_out_in_every_call) {
    const int lost = 2;
    Calls calls = one_of_each();
    calls.emplace_back("recv", [](const ProcessGroup& group) {
        float in = 0;
        group.recv(in, 2);
    });
    calls.emplace_back("send", [](const ProcessGroup& group) {
        const std::vector<float> more_than_any_buffer_holds(16 << 20);
        group.send(more_than_any_buffer_holds, 2);
    });
    run_world(3, WorldOptions{.backend = GetParam().backend, .dead = {lost}}, [&](const ProcessGroup& world) {
        std::vector<ProcessGroup> groups;
        for (std::size_t i = 0; i < calls.size(); ++i)
            groups.push_back(world.new_group(std::vector{0, 1, 2}, {.timeout = std::chrono::milliseconds(100)}));
        const ProcessGroup others = world.new_group(std::vector{0, 1});
        int pid = getpid();
        world.broadcast(pid, lost);
        if (world.rank() == lost) raise(SIGSTOP);
        for (std::size_t i = 0; i < calls.size(); ++i) {
            others.barrier();
            const auto begin = std::chrono::steady_clock::now();
            try {
                expect_error(ErrorCode::timeout, {lost}, [&] { calls[i].second(groups[i]); });
            } catch (const std::logic_error& error) {
                throw std::logic_error(calls[i].first + std::string(": ") + error.what());
            }
            const auto lasted = std::chrono::steady_clock::now() - begin;
            check(lasted >= std::chrono::milliseconds(100) && lasted < std::chrono::seconds(5), "how long it took");
        }
        others.barrier();
        if (world.rank() == 0) kill(pid, SIGKILL);
    });
}

TEST_P(FaultsTest, a_call_behind_a_long_one_has_its_own_time_out) {
    run([](const ProcessGroup& world) {
        Store store = world.store();
        if (world.rank() > 0) {
            (void)store.get("ended");
            try {
                world.barrier();
            } catch (const Error&) {
                return;
            }
            check(false, "the group goes on although a call of rank 0 was left out");
        }
        float slow = 0, quick = 0;
        Work before = world.all_reduce_async(slow);
        const auto begin = std::chrono::steady_clock::now();
        const Error error = expect_error(ErrorCode::timeout, [&] {
            world.all_reduce(quick, ReduceOp::sum(), {.timeout = std::chrono::milliseconds(100)});
        });
        const auto lasted = std::chrono::steady_clock::now() - begin;
        check(lasted >= std::chrono::milliseconds(100) && lasted < std::chrono::seconds(10), "how long it took");
        check(std::string(error.what()).find("for its turn") != std::string::npos, error.what());
        expect_error(ErrorCode::timeout, [&] { before.wait(); });
        store.set("ended", "yes");
    });
}

TEST_P(FaultsTest, missing_rank_is_named_at_init) {
    const int absent = GetParam().ranks - 1;
    run_world(
        GetParam().ranks,
        {.backend = GetParam().backend, .timeout = std::chrono::milliseconds(300), .absent = {absent}, .joins = false},
        [&](const ProcessGroup&) {
            expect_error(ErrorCode::timeout, {absent}, [] { init_process_group(init_options()); });
            check(!is_initialized(), "a failed init");
        });
}

TEST_P(FaultsTest, abort_ends_pending_calls) {
    run([](ProcessGroup world) {
        Store store = world.store();
        if (world.rank() > 0) {
            (void)store.get("aborted");
            expect_error(ErrorCode::aborted, {0}, [&] { world.barrier(); });
            return;
        }
        float data = 0;
        Work reducing = world.all_reduce_async(data), receiving = world.irecv(data, 1);
        world.abort("enough");
        expect_error(ErrorCode::aborted, [&] { reducing.wait(); });
        expect_error(ErrorCode::aborted, [&] { receiving.wait(); });
        expect_error(ErrorCode::aborted, [&] { world.barrier(); });
        store.set("aborted", "yes");
    });
}

TEST_P(FaultsTest, abort_ends_waits_on_other_ranks) {
    run([](ProcessGroup world) {
        if (world.rank() == 0) return world.abort("enough");
        expect_error(ErrorCode::aborted, {0}, [&] { world.barrier(); });
    });
}

TEST_P(FaultsTest, a_work_destroyed_by_an_exception_does_not_hang) {
    run([](const ProcessGroup& world) {
        float data = 0;
        try {
            Work work = world.rank() == 0 ? world.irecv(data, 1) : Work();
            Work other = world.rank() == 0 ? world.all_reduce_async(data) : Work();
            throw std::runtime_error("something else");
        } catch (const std::runtime_error&) {}
    });
}

TEST_P(FaultsTest, nothing_is_left_behind_by_killed_ranks) {
    const auto entries = [] {
        std::set<std::string> names;
        for (const auto& entry : std::filesystem::directory_iterator("/dev/shm")) names.insert(entry.path().string());
        return names;
    };
    const auto before = entries();
    std::set<int> all;
    for (int r = 0; r < GetParam().ranks; ++r) all.insert(r);
    run_world(GetParam().ranks, WorldOptions{.backend = GetParam().backend, .dead = all},
              [](const ProcessGroup& world) {
                  std::vector<float> data(100000, 1);
                  world.all_reduce(data);
                  raise(SIGKILL);
              });
    for (const std::string& name : entries())
        EXPECT_TRUE(before.contains(name) || name.find("dlaunch") == std::string::npos) << name;
}

}  // namespace
}  // namespace dlaunch::conformance
