#include "rendezvous/rounds/named_host.hpp"

#include <gtest/gtest.h>

#include "tests/support/rendezvous/coordinator_job.hpp"

namespace dlaunch::rendezvous {
namespace {

constexpr std::uint8_t kLostPeer = 4;

Cause lost(std::vector<std::string> hosts, const std::string& summary = "rank 0 exited with 1",
           std::uint8_t strength = kLostPeer) {
    Cause cause{1, "kind", summary, false, "{}"};
    cause.lost_hosts = std::move(hosts);
    cause.strength = strength;
    return cause;
}

/// node0 to node3 with one rank each.
struct Four : Job {
    explicit Four(int max_restarts = 0, int slots_of_each = 1) : Job(4, 4, max_restarts) {
        slots = slots_of_each;
        for (int node : {0, 1, 2, 3}) join(node);
    }
    void ends(const std::vector<std::optional<Cause>>& causes) {
        for (int node = 0; node < 4; ++node) over(node, false, causes[static_cast<std::size_t>(node)]);
    }
    std::int32_t named() { return received<End>(0)->verdict.named_rank; }
};

TEST(NamedHost, is_the_rank_of_the_host_that_lost_peers_name) {
    for (const char* name : {"node2", "NODE2", "10.0.0.2"}) {
        Four job;
        job.ends({lost({"errno", name}), {}, {}, {}});
        EXPECT_EQ(job.named(), 2) << name;
    }
}

TEST(NamedHost, the_line_before_a_restart_names_it) {
    Four job(1);
    job.ends({lost({"node2"}), {}, {}, {}});
    EXPECT_EQ(job.received<Notice>(1)->cause, "rank 2 (node2) was named as lost by its peers");
    EXPECT_EQ(job.received<Assigned>(0)->restart_reason, "rank 2 (node2) was named as lost by its peers");
}

TEST(NamedHost, a_host_that_lost_a_peer_itself_is_named_only_if_no_other_is) {
    Four job;
    job.ends({lost({"node1"}), lost({"node2"}), {}, lost({"node1"})});
    EXPECT_EQ(job.named(), 2);
    Four ring;
    ring.ends({lost({"node1"}), lost({"node0"}), {}, lost({"node1"})});
    EXPECT_EQ(ring.named(), 1);
}

TEST(NamedHost, counts_once_for_a_node) {
    Four job;
    job.ends({lost({"node2", "10.0.0.2"}), lost({"node3"}), {}, {}});
    EXPECT_EQ(job.named(), 2) << "the first of equals";
    Four more;
    more.ends({lost({"node3", "10.0.0.3"}), lost({"node2"}), {}, lost({"node2"})});
    EXPECT_EQ(more.named(), 2);
}

TEST(NamedHost, own_words_unknown_ones_and_several_hosts_name_nobody) {
    Four job;
    job.ends({lost({"node0", "elsewhere"}), {}, {}, {}});
    EXPECT_EQ(job.named(), -1);
    Four shared;
    shared.ends({lost({"10.0.0.2"}), {}, {}, {}});
    EXPECT_EQ(shared.named(), 2);
    Job same(2, 2);
    same.address = "10.9.9.9";
    same.slots = 1;
    same.join(0), same.join(1);
    same.over(0, false, lost({"10.9.9.9"})), same.over(1);
    EXPECT_EQ(same.received<End>(0)->verdict.named_rank, -1);
}

TEST(NamedHost, a_host_with_several_ranks_names_none_of_them) {
    Four job(0, 2);
    job.ends({lost({"node2"}), {}, {}, {}});
    EXPECT_EQ(job.named(), -1);
}

TEST(NamedHost, a_better_cause_stays) {
    Four job;
    job.ends({lost({"node2"}), lost({}, "rank 1 exited with 7", 1), {}, {}});
    EXPECT_EQ(job.named(), -1);
}

}  // namespace
}  // namespace dlaunch::rendezvous
