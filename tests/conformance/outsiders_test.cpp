/// Calls on a group by ranks that are no members of it.

#include <functional>

#include "tests/conformance/world.hpp"

namespace dlaunch::conformance {
namespace {

using OutsidersTest = Everywhere;
INSTANTIATE_TEST_SUITE_P(, OutsidersTest, testing::ValuesIn(cases({3}, true)), name_of);

struct NamedCall {
    const char* op;
    std::function<void()> call;
};

TEST_P(OutsidersTest, every_call_names_the_group_and_the_rank) {
    run([](const ProcessGroup& world) {
        ProcessGroup pair = world.new_group({2, 0});
        int x = 1;
        std::vector<int> all(2);
        const std::size_t counts[] = {1, 1};
        std::string text;
        const auto add = [](int* into, const int* from, std::size_t count) {
            for (std::size_t i = 0; i < count; ++i) into[i] += from[i];
        };
        const P2POp ops[] = {send_op(x, 0)};
        const NamedCall calls[] = {
            {"send", [&] { pair.send(x, 0); }},
            {"recv", [&] { pair.recv(x, 0); }},
            {"isend", [&] { (void)pair.isend(x, 0); }},
            {"irecv", [&] { (void)pair.irecv(x, 0); }},
            {"batch_isend_irecv", [&] { (void)pair.batch_isend_irecv(ops); }},
            {"barrier", [&] { pair.barrier(); }},
            {"barrier", [&] { (void)pair.barrier_async(); }},
            {"monitored_barrier", [&] { pair.monitored_barrier(); }},
            {"broadcast", [&] { pair.broadcast(x); }},
            {"all_reduce", [&] { pair.all_reduce(x); }},
            {"all_reduce", [&] { (void)pair.all_reduce_async(x); }},
            {"all_reduce", [&] { pair.all_reduce(x, add); }},
            {"reduce", [&] { pair.reduce(x); }},
            {"gather", [&] { pair.gather(x, all); }},
            {"gatherv", [&] { pair.gatherv(x, all, counts); }},
            {"scatter", [&] { pair.scatter(all, x); }},
            {"all_gather", [&] { pair.all_gather(x, all); }},
            {"reduce_scatter", [&] { pair.reduce_scatter(all, x); }},
            {"scan", [&] { pair.scan(x); }},
            {"exscan", [&] { (void)pair.exscan_async(x); }},
            {"all_to_all", [&] { pair.all_to_all(all, all); }},
            {"all_to_allv", [&] { pair.all_to_allv(all, counts, all, counts); }},
            {"broadcast_object", [&] { pair.broadcast_object(text); }},
            {"all_gather_object", [&] { (void)pair.all_gather_object(text); }},
            {"gather_object", [&] { (void)pair.gather_object(text); }},
            {"new_group", [&] { (void)pair.new_group({0}); }},
            {"split", [&] { (void)pair.split(0); }},
            {"native_handle", [&] { (void)pair.native_handle(); }},
            {"abort", [&] { pair.abort(); }},
        };
        for (const auto& [op, call] : calls) {
            if (pair.is_member()) break;
            const Error error = expect_error(ErrorCode::invalid_argument, call);
            check(error.op() == op && error.group() == "world/1", error.op());
            const std::string expected =
                std::string(op) +
                " in group world/1: rank 1 of the world is not a member, ranks 2 and 0 are; ask is_member() before a "
                "call";
            check(error.what() == expected, error.what());
        }
        world.barrier();
        if (!pair.is_member()) return;
        if (GetParam().backend != "nccl") pair.send(x, pair.rank());
        if (GetParam().backend != "nccl") pair.recv(x, pair.rank());
        pair.all_reduce(x);
        check(x == 2, "the members go on");
    });
}

TEST_P(OutsidersTest, what_is_no_call_works) {
    run([](const ProcessGroup& world) {
        const ProcessGroup single = world.new_group({1}, {.name = "single"}),
                           rest = world.split(world.rank() == 1 ? kNoColor : 0);
        check(single.is_member() == (world.rank() == 1) && single.size() == 1 && single.name() == "single", "queries");
        check(single.ranks() == std::vector{1} && single.rank() == (world.rank() == 1 ? 0 : -1), "its ranks");
        const std::string backend = single.backend();
        if (world.rank() == 0) single.store().set("key", "value");
        check(single.store().get("key") == "value", "its store");
        if (rest.is_member()) return rest.barrier();
        const Error error = expect_error(ErrorCode::invalid_argument, [&] { rest.barrier(); });
        check(std::string(error.what()).find("rank 1 of the world is not a member, nobody is one") != std::string::npos,
              error.what());
    });
}

}  // namespace
}  // namespace dlaunch::conformance
