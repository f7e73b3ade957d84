#include "rendezvous/discovery/folder.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <latch>
#include <set>
#include <thread>

#include "rendezvous/discovery/folder_claim.hpp"
#include "rendezvous/wire/rounds.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dlaunch::rendezvous {
namespace {

namespace fs = std::filesystem;

class Folder : public testing::Test {
protected:
    DiscoveryRequest request(const std::string& job = "night 7") const {
        DiscoveryRequest request;
        request.at.folder = path;
        request.host_name = "node1";
        request.local_addr = "127.0.0.1";
        request.version = "1";
        request.job_id = job;
        request.node_timeout = Milliseconds(50);
        return request;
    }
    std::set<std::string> files() const {
        std::set<std::string> found;
        for (const auto& entry : fs::directory_iterator(path)) found.insert(entry.path().filename());
        return found;
    }
    DiscoveryRequest patient_request() const {
        DiscoveryRequest patient = request();
        patient.node_timeout = Milliseconds(60'000);
        return patient;
    }
    /// A coordinator of this node claims the job and hands it over; its epoch.
    static std::uint64_t hand_over(const DiscoveryRequest& request, const Snapshot& snapshot) {
        const auto before = FolderDiscovery(request).find();
        FolderClaim(std::get<FolderSeat>(*before->claim)).release(wire::encode(snapshot));
        return before->epoch;
    }
    static Snapshot third_round() {
        Snapshot snapshot;
        snapshot.round = 3;
        return snapshot;
    }
    void claim(const std::string& name, const std::string& text) const { std::ofstream(path + "/" + name) << text; }

    const TemporaryFolder temporary;
    const std::string path = temporary.path();
};

TEST_F(Folder, the_first_node_hosts_and_removes_its_claim) {
    FolderDiscovery first(request());
    const auto found = first.find();
    ASSERT_TRUE(found) << found.error().text;
    ASSERT_TRUE(found->listener);
    EXPECT_EQ(found->places.front().endpoint, (Endpoint{"127.0.0.1", found->listener->port}));
    EXPECT_EQ(files(), std::set<std::string>{"dlaunch-night-207.1"});
    ASSERT_TRUE(found->claim);
    FolderClaim claim(std::get<FolderSeat>(*found->claim));
    EXPECT_EQ(claim.renew(), Claim::State::held);
    claim.remove();
    EXPECT_EQ(files(), std::set<std::string>{});
}

TEST_F(Folder, one_of_many_simultaneous_nodes_hosts_and_its_peers_find_it) {
    constexpr int kMany = 8;
    std::atomic<int> hosts = 0;
    std::latch all_know(kMany);
    std::set<int> ports;
    std::set<std::uint64_t> epochs;
    std::mutex mutex;
    std::vector<std::thread> threads;
    for (int i = 0; i < kMany; ++i)
        threads.emplace_back([&] {
            auto mine = request();
            FolderDiscovery discovery(mine);
            const auto found = discovery.find();
            EXPECT_TRUE(found) << found.error().text;
            {
                const std::lock_guard lock(mutex);
                if (found) ports.insert(found->places.front().endpoint.port);
                if (found) epochs.insert(found->epoch);
            }
            all_know.count_down();
            if (!found || !found->listener) return;
            ++hosts;
            // No coordinator answers at the host's port, so only renewals keep its claim alive.
            FolderClaim claim(std::get<FolderSeat>(*found->claim));
            while (!all_know.try_wait()) {
                EXPECT_EQ(claim.renew(), Claim::State::held);
                std::this_thread::sleep_for(Milliseconds(10));
            }
        });
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(hosts, 1);
    EXPECT_EQ(ports.size(), 1U);
    EXPECT_EQ(epochs.size(), 1U);
}

TEST_F(Folder, a_dead_claim_is_followed_and_removed) {
    claim("dlaunch-night-207.4", "127.0.0.1:1\nhost node9\n");
    claim("dlaunch-night-207.3", "127.0.0.1:1\nhost node9\n");
    claim("dlaunch-other.7", "127.0.0.1:1\n");
    FolderDiscovery first(request());
    const auto found = first.find();
    ASSERT_TRUE(found);
    EXPECT_TRUE(found->listener);
    EXPECT_EQ(files(), (std::set<std::string>{"dlaunch-night-207.5", "dlaunch-other.7"}));
}

TEST_F(Folder, an_invalid_claim_counts_as_dead) {
    claim("dlaunch-night-207.1", "what?");
    claim("dlaunch-night-207.2x", "");
    FolderDiscovery first(request());
    const auto found = first.find();
    ASSERT_TRUE(found);
    EXPECT_TRUE(found->listener);
    EXPECT_TRUE(files().contains("dlaunch-night-207.2"));
}

TEST_F(Folder, a_claim_that_was_followed_is_lost) {
    const auto found = FolderDiscovery(request()).find();
    ASSERT_TRUE(found);
    FolderClaim held(std::get<FolderSeat>(*found->claim));
    EXPECT_EQ(held.renew(), Claim::State::held);
    claim("dlaunch-night-207.2", "127.0.0.1:1\n");
    EXPECT_EQ(held.renew(), Claim::State::lost);
    held.remove();
    EXPECT_TRUE(files().contains("dlaunch-night-207.2"));
}

TEST_F(Folder, a_claim_of_another_owner_under_the_same_name_is_lost) {
    const auto found = FolderDiscovery(request()).find();
    ASSERT_TRUE(found);
    FolderClaim held(std::get<FolderSeat>(*found->claim));
    claim("dlaunch-night-207.1", "127.0.0.1:1\n");
    EXPECT_EQ(held.renew(), Claim::State::lost);
    held.remove();
    EXPECT_TRUE(files().contains("dlaunch-night-207.1"));
}

TEST_F(Folder, the_owner_of_a_claim_that_vanished_claims_again) {
    claim("dlaunch-night-207.4", "127.0.0.1:1\nhost node9\n");
    const auto found = FolderDiscovery(request()).find();
    ASSERT_TRUE(found);
    FolderClaim held(std::get<FolderSeat>(*found->claim)), replaced(std::get<FolderSeat>(*found->claim));
    std::filesystem::remove_all(path);
    EXPECT_EQ(held.renew(), Claim::State::held);
    EXPECT_EQ(files(), std::set<std::string>{"dlaunch-night-207.1"}) << "the number that a newcomer would claim";
    EXPECT_EQ(replaced.renew(), Claim::State::held) << "another process of the same coordinator";
    EXPECT_EQ(held.renew(), Claim::State::held);
    std::filesystem::remove(path + "/dlaunch-night-207.1");
    claim("dlaunch-night-207.1", "127.0.0.1:1\n");
    EXPECT_EQ(held.renew(), Claim::State::lost);
}

TEST_F(Folder, a_newcomer_to_an_emptied_folder_has_a_higher_epoch_than_the_living_owner) {
    const auto before = FolderDiscovery(request()).find();
    ASSERT_TRUE(before);
    fs::remove(path + "/dlaunch-night-207.1");
    std::this_thread::sleep_for(Milliseconds(20));  // a file server's clock may have coarse ticks
    const auto after = FolderDiscovery(request()).find();
    ASSERT_TRUE(after);
    EXPECT_EQ(files(), std::set<std::string>{"dlaunch-night-207.1"});
    EXPECT_GT(after->epoch, before->epoch + 0xffff);
    FolderClaim held(std::get<FolderSeat>(*before->claim));
    EXPECT_EQ(held.renew(), Claim::State::lost);
}

TEST_F(Folder, a_missing_claim_is_vacant_only_after_its_owner_had_time_to_claim_again) {
    const auto found = FolderDiscovery(request()).find();
    ASSERT_TRUE(found);
    auto longer = request();
    longer.node_timeout = Milliseconds(60'000);
    FolderDiscovery standby(longer);
    fs::remove(path + "/dlaunch-night-207.1");
    EXPECT_FALSE(standby.is_vacant());
    FolderClaim held(std::get<FolderSeat>(*found->claim));
    EXPECT_EQ(held.renew(), Claim::State::held);
    EXPECT_FALSE(standby.is_vacant());
    fs::remove(path + "/dlaunch-night-207.1");
    const auto began = std::chrono::steady_clock::now();
    while (!standby.is_vacant()) std::this_thread::sleep_for(Milliseconds(10));
    EXPECT_GT(std::chrono::steady_clock::now() - began, kMayClaimAgain);
}

TEST_F(Folder, a_node_of_the_job_leaves_a_missing_claim_to_the_owner) {
    auto member = request();
    member.node_timeout = Milliseconds(60'000);
    const auto owner = FolderDiscovery(member).find();
    ASSERT_TRUE(owner);
    member.known_epoch = owner->epoch;
    fs::remove(path + "/dlaunch-night-207.1");
    std::atomic<bool> has_found = false;
    std::thread owning([&] {
        FolderClaim held(std::get<FolderSeat>(*owner->claim));
        do {
            std::this_thread::sleep_for(Milliseconds(200));
            EXPECT_EQ(held.renew(), Claim::State::held);
        } while (!has_found);
    });
    const auto found = FolderDiscovery(member).find();
    has_found = true;
    owning.join();
    ASSERT_TRUE(found);
    EXPECT_FALSE(found->listener);
    EXPECT_EQ(found->places, owner->places);
    EXPECT_EQ(found->epoch, owner->epoch);
}

/// The guard's next process may start long after the latest renewal: another owner may have ended the job since.
TEST_F(Folder, a_claim_that_was_renewed_long_ago_is_not_claimed_again) {
    auto owner = FolderDiscovery(patient_request()).find();
    ASSERT_TRUE(owner && owner->listener);
    auto seat = std::get<FolderSeat>(*owner->claim);
    ASSERT_EQ(unlink(seat.path.c_str()), 0);
    seat.asked -= kMayClaimAgain + Milliseconds(1);
    EXPECT_EQ(FolderClaim(seat).renew(), Claim::State::lost);
    seat.asked = std::chrono::steady_clock::now();
    EXPECT_EQ(FolderClaim(seat).renew(), Claim::State::held);
}

TEST_F(Folder, a_successor_gets_the_snapshot_of_a_claim_that_was_just_released) {
    FolderDiscovery successor(patient_request());
    successor.learn(hand_over(patient_request(), third_round()), {});
    const auto next = successor.find();
    ASSERT_TRUE(next && next->listener);
    EXPECT_TRUE(next->succeeds);
    EXPECT_EQ(next->snapshot, third_round());
    EXPECT_EQ(FolderClaim(std::get<FolderSeat>(*next->claim)).renew(), Claim::State::held);
    FolderClaim(std::get<FolderSeat>(*next->claim)).release({});
    const auto last = successor.find();
    EXPECT_TRUE(last->succeeds);
    EXPECT_EQ(last->snapshot, std::nullopt) << "the owner could not say";
}

TEST_F(Folder, a_node_that_has_not_seen_the_job_is_not_bound_by_a_snapshot) {
    hand_over(patient_request(), third_round());
    const auto next = FolderDiscovery(patient_request()).find();
    ASSERT_TRUE(next && next->listener);
    EXPECT_TRUE(next->succeeds);
    EXPECT_EQ(next->snapshot, std::nullopt);
}

TEST_F(Folder, a_snapshot_serves_for_a_node_time_out) {
    FolderDiscovery successor(request());
    successor.learn(hand_over(request(), third_round()), {});
    std::this_thread::sleep_for(request().node_timeout * 2);  // the snapshot's time passes
    const auto next = successor.find();
    EXPECT_TRUE(next->succeeds);
    EXPECT_EQ(next->snapshot, std::nullopt);
}

TEST_F(Folder, nothing_binds_the_successor_of_a_coordinator_without_nodes) {
    hand_over(request(), Snapshot{});
    std::this_thread::sleep_for(request().node_timeout * 2);  // the snapshot's time passes
    const auto next = FolderDiscovery(request()).find();
    EXPECT_FALSE(next->succeeds);
    EXPECT_EQ(next->snapshot, std::nullopt);
}

TEST_F(Folder, a_standby_coordinator_ends_with_the_job) {
    const auto owner = FolderDiscovery(request()).find();
    DiscoveryRequest waiting = request();
    waiting.ends_with_job = true;
    FolderDiscovery standby(waiting);
    standby.learn(owner->epoch, {});
    EXPECT_FALSE(standby.may_be_vacant());
    FolderClaim(std::get<FolderSeat>(*owner->claim)).remove();
    EXPECT_TRUE(standby.may_be_vacant());
    const auto found = standby.find();
    EXPECT_TRUE(found && !found->listener && found->places.empty());
    EXPECT_EQ(files(), std::set<std::string>{});
}

TEST_F(Folder, a_node_lets_others_take_over_first) {
    const DiscoveryRequest patient = patient_request();
    const auto before = FolderDiscovery(patient).find();
    FolderDiscovery member(patient);
    member.learn(before->epoch, Milliseconds(300));
    FolderClaim(std::get<FolderSeat>(*before->claim)).release({});
    std::thread late([&] {
        const auto found = member.find();
        EXPECT_TRUE(found && !found->listener);
    });
    const auto next = FolderDiscovery(patient).find();
    ASSERT_TRUE(next && next->listener);
    FolderClaim claim(std::get<FolderSeat>(*next->claim));
    std::atomic<bool> over = false;
    std::thread owner([&] {
        while (!over) {
            EXPECT_EQ(claim.renew(), Claim::State::held);
            std::this_thread::sleep_for(Milliseconds(100));
        }
    });
    late.join();
    over = true;
    owner.join();
}

TEST_F(Folder, a_released_claim_is_taken_at_once_and_with_a_higher_epoch) {
    FolderDiscovery first(request()), second(request());
    const auto before = first.find();
    ASSERT_TRUE(before);
    EXPECT_FALSE(before->succeeds);
    EXPECT_FALSE(second.is_vacant());
    FolderClaim(std::get<FolderSeat>(*before->claim)).release({});
    EXPECT_TRUE(second.is_vacant());
    const auto after = second.find();
    ASSERT_TRUE(after);
    ASSERT_TRUE(after->claim);
    EXPECT_GT(after->epoch, before->epoch);
    EXPECT_TRUE(after->succeeds);
}

TEST_F(Folder, a_claim_in_an_emptied_folder_is_behind_all_epochs_that_the_node_knows) {
    auto knows = request();
    constexpr std::uint64_t kFuture = std::uint64_t{1} << 40;
    knows.known_epoch = epoch_of_claim(kFuture) + 3;
    const auto found = FolderDiscovery(knows).find();
    ASSERT_TRUE(found);
    EXPECT_EQ(found->epoch, epoch_of_claim(kFuture + 1));
    EXPECT_TRUE(found->succeeds);
}

TEST_F(Folder, reports_the_error_of_the_folder) {
    auto lost = request();
    lost.at.folder = path + "/nowhere";
    const auto found = FolderDiscovery(lost).find();
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().text, "--rdzv-endpoint: cannot read file://" + path +
                                      "/nowhere: No such file or directory, expected a folder that all nodes share "
                                      "and may write to");
}

}  // namespace
}  // namespace dlaunch::rendezvous
