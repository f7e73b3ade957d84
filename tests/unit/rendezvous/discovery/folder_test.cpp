#include "rendezvous/discovery/folder.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <latch>
#include <set>
#include <thread>

#include "rendezvous/discovery/folder_claim.hpp"

namespace dlaunch::rendezvous {
namespace {

namespace fs = std::filesystem;

class Folder : public testing::Test {
protected:
    Folder() {
        char name[] = "/tmp/folder_test.XXXXXX";
        path = mkdtemp(name);
    }
    ~Folder() override { fs::remove_all(path); }

    Question question(const std::string& job = "night 7") const {
        Question question;
        question.at.folder = path;
        question.host_name = "node1";
        question.local_addr = "127.0.0.1";
        question.version = "1";
        question.job_id = job;
        question.node_timeout = Milliseconds(50);
        return question;
    }
    std::set<std::string> files() const {
        std::set<std::string> found;
        for (const auto& entry : fs::directory_iterator(path)) found.insert(entry.path().filename());
        return found;
    }
    void claim(const std::string& name, const std::string& text) const { std::ofstream(path + "/" + name) << text; }

    std::string path;
};

TEST_F(Folder, the_first_hosts_and_leaves_nothing) {
    FolderDiscovery first(question());
    const auto found = first.find();
    ASSERT_TRUE(found) << found.error().text;
    ASSERT_TRUE(found->listener);
    EXPECT_EQ(found->places.front().endpoint, (Endpoint{"127.0.0.1", found->listener->port}));
    EXPECT_EQ(files(), std::set<std::string>{"dlaunch-night-207.1"});
    ASSERT_TRUE(found->claim);
    FolderClaim claim(*found->claim);
    EXPECT_EQ(claim.renew(), Claim::State::held);
    claim.release(true);
    EXPECT_EQ(files(), std::set<std::string>{});
}

TEST_F(Folder, of_many_at_once_one_hosts_and_the_others_find_it) {
    constexpr int kMany = 8;
    std::atomic<int> hosts = 0;
    std::latch all_know(kMany);
    std::set<int> ports;
    std::mutex mutex;
    std::vector<std::thread> threads;
    for (int i = 0; i < kMany; ++i)
        threads.emplace_back([&] {
            auto mine = question();
            FolderDiscovery discovery(mine);
            const auto found = discovery.find();
            EXPECT_TRUE(found) << found.error().text;
            {
                const std::lock_guard lock(mutex);
                if (found) ports.insert(found->places.front().endpoint.port);
            }
            all_know.count_down();
            if (!found || !found->listener) return;
            ++hosts;
            // No coordinator answers at the host's port, so only renewals keep its claim alive.
            FolderClaim claim(*found->claim);
            while (!all_know.try_wait()) {
                EXPECT_EQ(claim.renew(), Claim::State::held);
                std::this_thread::sleep_for(Milliseconds(10));
            }
        });
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(hosts, 1);
    EXPECT_EQ(ports.size(), 1U);
}

TEST_F(Folder, a_dead_claim_is_followed_and_removed) {
    claim("dlaunch-night-207.4", "127.0.0.1:1\nhost node9\n");
    claim("dlaunch-night-207.3", "127.0.0.1:1\nhost node9\n");
    claim("dlaunch-other.7", "127.0.0.1:1\n");
    FolderDiscovery first(question());
    const auto found = first.find();
    ASSERT_TRUE(found);
    EXPECT_TRUE(found->listener);
    EXPECT_EQ(files(), (std::set<std::string>{"dlaunch-night-207.5", "dlaunch-other.7"}));
}

TEST_F(Folder, what_is_no_claim_is_a_dead_one) {
    claim("dlaunch-night-207.1", "what?");
    claim("dlaunch-night-207.2x", "");
    FolderDiscovery first(question());
    const auto found = first.find();
    ASSERT_TRUE(found);
    EXPECT_TRUE(found->listener);
    EXPECT_TRUE(files().contains("dlaunch-night-207.2"));
}

TEST_F(Folder, a_claim_that_was_followed_is_lost) {
    const auto found = FolderDiscovery(question()).find();
    ASSERT_TRUE(found);
    FolderClaim held(*found->claim);
    EXPECT_EQ(held.renew(), Claim::State::held);
    claim("dlaunch-night-207.2", "127.0.0.1:1\n");
    EXPECT_EQ(held.renew(), Claim::State::lost);
    held.release(true);
    EXPECT_TRUE(files().contains("dlaunch-night-207.2"));
}

TEST_F(Folder, a_claim_of_another_owner_under_the_same_name_is_lost) {
    const auto found = FolderDiscovery(question()).find();
    ASSERT_TRUE(found);
    FolderClaim held(*found->claim);
    claim("dlaunch-night-207.1", "127.0.0.1:1\n");
    EXPECT_EQ(held.renew(), Claim::State::lost);
    held.release(true);
    EXPECT_TRUE(files().contains("dlaunch-night-207.1"));
}

TEST_F(Folder, the_owner_of_a_claim_that_vanished_claims_the_next_number) {
    const auto found = FolderDiscovery(question()).find();
    ASSERT_TRUE(found);
    FolderClaim held(*found->claim);
    std::filesystem::remove_all(path);
    EXPECT_EQ(held.renew(), Claim::State::held);
    EXPECT_EQ(files(), std::set<std::string>{"dlaunch-night-207.2"});
    std::filesystem::remove(path + "/dlaunch-night-207.2");
    claim("dlaunch-night-207.1", "127.0.0.1:1\n");
    EXPECT_EQ(held.renew(), Claim::State::lost);
}

TEST_F(Folder, a_released_claim_is_taken_at_once_and_with_a_higher_epoch) {
    FolderDiscovery first(question()), second(question());
    const auto before = first.find();
    ASSERT_TRUE(before);
    EXPECT_FALSE(before->succeeds);
    EXPECT_FALSE(second.is_vacant());
    FolderClaim(*before->claim).release(false);
    EXPECT_TRUE(second.is_vacant());
    const auto after = second.find();
    ASSERT_TRUE(after);
    ASSERT_TRUE(after->claim);
    EXPECT_GT(after->epoch, before->epoch);
    EXPECT_TRUE(after->succeeds);
}

TEST_F(Folder, a_claim_in_an_emptied_folder_is_behind_all_epochs_that_the_node_knows) {
    auto knows = question();
    knows.known_epoch = epoch_of_claim(7) + 3;
    const auto found = FolderDiscovery(knows).find();
    ASSERT_TRUE(found);
    EXPECT_EQ(found->epoch, epoch_of_claim(8));
    EXPECT_TRUE(found->succeeds);
}

TEST_F(Folder, says_what_is_wrong_with_the_folder) {
    auto lost = question();
    lost.at.folder = path + "/nowhere";
    const auto found = FolderDiscovery(lost).find();
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().text, "--rdzv-endpoint: cannot read file://" + path +
                                      "/nowhere: No such file or directory, expected a folder that all nodes share "
                                      "and may write to");
}

TEST(FolderNames, are_different_for_different_jobs) {
    EXPECT_EQ(file_name_of_job("night7"), "night7");
    EXPECT_EQ(file_name_of_job("a/b"), "a-2fb");
    EXPECT_EQ(file_name_of_job("a-2fb"), "a-2d2fb");
    EXPECT_LT(file_name_of_job(std::string(5000, 'x')).size(), 130U);
    EXPECT_NE(file_name_of_job(std::string(5000, 'x')), file_name_of_job(std::string(5001, 'x')));
}

}  // namespace
}  // namespace dlaunch::rendezvous
