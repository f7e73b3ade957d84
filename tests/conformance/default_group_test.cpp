/// Functions without a group use the default group.

#include "tests/conformance/world.hpp"

namespace dlaunch::conformance {
namespace {

using Ints = std::vector<int>;

TEST(DefaultGroupTest, every_function_uses_the_default_group) {
    run_world(2, {}, [](const ProcessGroup&) {
        const int rank = get_rank(), other = 1 - rank;
        check(get_world_size() == 2 && get_backend() == "shm" && is_initialized(), "world size and backend");
        const std::size_t counts[] = {1, 2}, ones[] = {1, 1};
        const Ints own{rank + 1}, both{10, 20}, three_in{1, 2, 2}, parts(static_cast<std::size_t>(rank) + 1, rank + 1);
        Ints one(1), two(2), three(3), part(parts.size());

        barrier(), barrier_async().wait(), monitored_barrier();
        one = own, broadcast(one), check(one[0] == 1, "broadcast");
        one = own, broadcast_async(one, 1).wait(), check(one[0] == 2, "broadcast_async");
        one = own, all_reduce(one), check(one[0] == 3, "all_reduce");
        all_reduce(own, one, ReduceOp::max()), check(one[0] == 2, "all_reduce out of place");
        one = own, all_reduce_async(one).wait(), check(one[0] == 3, "all_reduce_async");
        all_reduce_async(own, one).wait(), check(one[0] == 3, "all_reduce_async out of place");
        one = own, reduce(one, 1), check(one[0] == (rank == 1 ? 3 : 1), "reduce");
        one = own, reduce_async(one).wait(), check(one[0] == (rank == 0 ? 3 : 2), "reduce_async");
        one = own, reduce(own, one, 1), check(one[0] == (rank == 1 ? 3 : 1), "reduce out of place");

        all_gather(own, two), check(two == Ints{1, 2}, "all_gather");
        all_gather_async(own, two).wait(), check(two == Ints{1, 2}, "all_gather_async");
        all_gatherv(parts, three, counts), check(three == Ints{1, 2, 2}, "all_gatherv");
        two = {}, two.resize(2), gather(own, two, 1), check(two == (rank == 1 ? Ints{1, 2} : Ints{0, 0}), "gather");
        gather_async(own, two).wait(), check(two == Ints{1, 2}, "gather_async");
        three = {0, 0, 0}, gatherv(parts, three, counts), check((three[2] == 2) == (rank == 0), "gatherv");
        scatter(both, one), check(one[0] == 10 * (rank + 1), "scatter");
        scatter_async(both, one, 1).wait(), check(one[0] == 10 * (rank + 1), "scatter_async");
        scatterv(three_in, part, counts), check(part == parts, "scatterv");
        reduce_scatter(both, one), check(one[0] == 20 * (rank + 1), "reduce_scatter");
        reduce_scatter_async(both, one).wait(), check(one[0] == 20 * (rank + 1), "reduce_scatter_async");
        reduce_scatterv(three_in, part, counts), check(part[0] == (rank == 0 ? 2 : 4), "reduce_scatterv");
        all_to_all(both, two), check(two == Ints(2, 10 * (rank + 1)), "all_to_all");
        all_to_all_async(both, two).wait(), check(two == Ints(2, 10 * (rank + 1)), "all_to_all_async");
        all_to_allv(both, ones, two, ones), check(two == Ints(2, 10 * (rank + 1)), "all_to_allv");

        Work sent = isend(own, other), received = irecv(one, other);
        sent.wait(), received.wait(), check(one[0] == other + 1, "isend and irecv");
        if (rank == 0) send(7, 1);
        if (rank == 1) check(recv(one).source == 0 && one[0] == 7, "send and recv");
        Ints mine(own);
        const P2POp ops[] = {{P2POp::Kind::send, mine, other}, {P2POp::Kind::recv, one, other}};
        for (Work& work : batch_isend_irecv(ops)) work.wait();
        check(one[0] == other + 1, "batch_isend_irecv");

        std::string text = "rank " + std::to_string(rank);
        check(all_gather_object(text) == std::vector<std::string>{"rank 0", "rank 1"}, "all_gather_object");
        check(gather_object(text).size() == (rank == 0 ? 2U : 0U), "gather_object");
        broadcast_object(text, 1), check(text == "rank 1", "broadcast_object");
        check(new_group({1, 0}).rank() == other, "new_group");
    });
}

}  // namespace
}  // namespace dlaunch::conformance
